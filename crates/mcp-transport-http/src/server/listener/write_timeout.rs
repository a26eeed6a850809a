//! A timeout for clients that do not read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

#[cfg(feature = "http2")]
use crate::server::listener::http2_frames::ControlFrames;
use crate::server::listener::timers::{ConnectionTimer, MIN_BUFFER};

/// A connection, in the form that hyper uses.
pub(super) type Io = TokioIo<WriteTimeout<TcpStream>>;

/// A stream. Its writes fail if they make no progress for too long.
pub(crate) struct WriteTimeout<S> {
    stream: S,
    /// The timer of the connection. The timer also wakes the task of the connection.
    timer: Arc<ConnectionTimer>,
    stalled: bool,
    #[cfg(feature = "http2")]
    frames: Option<Box<ControlFrames>>,
}

impl<S> WriteTimeout<S> {
    pub(crate) fn new(stream: S, timer: &Arc<ConnectionTimer>) -> Self {
        Self {
            stream,
            timer: Arc::clone(timer),
            stalled: false,
            #[cfg(feature = "http2")]
            frames: None,
        }
    }

    /// Makes this stream count the control frames of an HTTP/2 client.
    #[cfg(feature = "http2")]
    pub(super) fn counting_frames(mut self) -> Self {
        self.frames = Some(Box::new(ControlFrames::new(self.timer.now())));
        self
    }

    /// Records the progress of a write of `parts`, and returns this progress. Returns an error if the write timeout has passed.
    fn track_write(
        &mut self,
        progress: Poll<io::Result<usize>>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        #[cfg(feature = "http2")]
        if let (Some(frames), Poll::Ready(Ok(written))) = (&mut self.frames, &progress) {
            let mut rest = *written;
            for part in parts {
                let sent = rest.min(part.len());
                frames.sent(&part[..sent]);
                rest -= sent;
            }
        }
        #[cfg(not(feature = "http2"))]
        let _ = parts;
        self.track(progress)
    }

    fn track<T>(&mut self, progress: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match (progress.is_pending(), self.stalled) {
            (true, false) => self.timer.write_blocked(),
            (false, true) => self.timer.write_unblocked(),
            (true, true) if self.timer.is_write_overdue() => {
                let error = io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the client did not read the response within ServerTimeouts::write",
                );
                return Poll::Ready(Err(error));
            }
            _ => {}
        }
        self.stalled = progress.is_pending();
        progress
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        #[cfg(feature = "http2")]
        if self.timer.is_flooded() {
            // The connection is about to be closed.
            return Poll::Pending;
        }
        let before = buf.filled().len();
        if self.timer.is_crowded() {
            // hyper enlarges its buffer after a read that has filled it.
            let max = buf.remaining().min(MIN_BUFFER - 1);
            let mut small = ReadBuf::new(buf.initialize_unfilled_to(max));
            ready!(Pin::new(&mut self.stream).poll_read(cx, &mut small))?;
            let received = small.filled().len();
            buf.advance(received);
        } else {
            ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        }
        #[cfg(feature = "http2")]
        {
            let this = &mut *self;
            if let Some(frames) = &mut this.frames
                && frames.received(&buf.filled()[before..], this.timer.now())
            {
                this.timer.mark_flooded();
            }
        }
        Poll::Ready(self.timer.received(buf.filled().len() - before))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.track_write(progress, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.track_write(progress, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_flush(cx);
        self.track(progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.track(progress)
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::ServerOptions;
    use crate::permit::Capacity;
    use crate::server::listener::timers::ConnectionLimits;
    use crate::server::listener::timers::TimerWheel;

    const LIMIT: Duration = Duration::from_secs(2);

    fn wheel(options: &ServerOptions) -> TimerWheel {
        let [heads, responses, connections] = [0; 3].map(Capacity::new);
        TimerWheel::new(
            ConnectionLimits::new(options),
            heads,
            responses,
            connections,
        )
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_times_out_only_if_the_client_reads_nothing() {
        let options = ServerOptions::new().with_timeouts(|timeouts| timeouts.write = LIMIT);
        let mut wheel = wheel(&options);
        let timer = wheel.register(None);
        let (near, mut far) = duplex(10);
        let mut near = WriteTimeout::new(near, timer.timer());
        let guard = tokio::spawn(async move {
            let written = pin!(async { near.write_all(&[0; 100]).await });
            timer.serve(written, |_| {}).await
        });
        let reading = async {
            // A few bytes at a time, for longer than the timeout in total.
            for _ in 0..5 {
                sleep(LIMIT / 2).await;
                far.read_exact(&mut [0; 10]).await.unwrap();
            }
            let stopped = Instant::now();
            (guard.await.unwrap(), stopped.elapsed())
        };
        let (ended, waited) = wheel.run_until(reading).await;
        assert_eq!(
            ended.unwrap_err().to_string(),
            "the client did not read the response within ServerTimeouts::write"
        );
        assert!(waited >= LIMIT && waited < LIMIT * 2, "{waited:?}");
    }

    // A client that is still reading a response is not expected to send a head.
    #[tokio::test(start_paused = true)]
    async fn the_head_timeout_does_not_close_a_connection_while_its_client_reads_a_response() {
        let options = ServerOptions::new()
            .with_timeouts(|timeouts| timeouts.write = LIMIT)
            .with_timeouts(|timeouts| timeouts.head = LIMIT / 4);
        let mut wheel = wheel(&options);
        let timer = wheel.register(None);
        let (near, mut far) = duplex(10);
        let mut near = WriteTimeout::new(near, timer.timer());
        let guard = tokio::spawn(async move {
            let written = pin!(async {
                near.write_all(&[0; 100]).await?;
                pending::<io::Result<()>>().await
            });
            timer.serve(written, |_| {}).await
        });
        let reading = async {
            for _ in 0..9 {
                sleep(LIMIT / 2).await;
                assert!(!guard.is_finished());
                far.read_exact(&mut [0; 10]).await.unwrap();
            }
            let written = Instant::now();
            (guard.await.unwrap(), written.elapsed())
        };
        let (ended, waited) = wheel.run_until(reading).await;
        let why = ended.unwrap_err().to_string();
        assert!(why.contains("head"), "{why}");
        assert!(waited >= LIMIT / 4 && waited < LIMIT / 2, "{waited:?}");
    }
}
