//! A connection that does not wait for ever for a client that does not read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::server::listener::timers::Seat;

/// Fails a write that makes no progress for too long.
pub(crate) struct Patient<S> {
    stream: S,
    /// Where to note that it waits; whoever polls this is woken from there.
    seat: Arc<Seat>,
    stalled: bool,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S, seat: &Arc<Seat>) -> Self {
        Self {
            stream,
            seat: Arc::clone(seat),
            stalled: false,
        }
    }

    fn watch<T>(&mut self, progress: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match (progress.is_pending(), self.stalled) {
            (true, false) => self.seat.stall(),
            (false, true) => self.seat.flow(),
            (true, true) if self.seat.is_unread() => {
                let error = io::Error::new(io::ErrorKind::TimedOut, "the client does not read");
                return Poll::Ready(Err(error));
            }
            _ => {}
        }
        self.stalled = progress.is_pending();
        progress
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.watch(progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_flush(cx);
        self.watch(progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.watch(progress)
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
    use crate::Options;
    use crate::server::listener::timers::Patience;
    use crate::server::listener::timers::Watch;

    const LIMIT: Duration = Duration::from_secs(2);

    #[tokio::test(start_paused = true)]
    async fn only_a_client_that_takes_nothing_loses_its_connection() {
        let options = Options::new().with_write_stall(LIMIT);
        let mut watch = Watch::new(Patience::new(&options));
        let watched = watch.seat();
        let (near, mut far) = duplex(10);
        let mut near = Patient::new(near, watched.seat());
        let serving = tokio::spawn(async move {
            let written = pin!(async { near.write_all(&[0; 100]).await });
            watched.serve(written, |_| {}).await
        });
        let reading = async {
            // A little at a time, longer than the limit in all.
            for _ in 0..5 {
                sleep(LIMIT / 2).await;
                far.read_exact(&mut [0; 10]).await.unwrap();
            }
            let stopped = Instant::now();
            (serving.await.unwrap(), stopped.elapsed())
        };
        let (ended, waited) = watch.during(reading).await;
        assert_eq!(ended.unwrap_err().to_string(), "the client does not read");
        assert!(waited >= LIMIT && waited < LIMIT * 2, "{waited:?}");
    }

    // The next head cannot be expected of somebody who is still reading.
    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_not_late_with_a_head() {
        let options = Options::new()
            .with_write_stall(LIMIT)
            .with_head_timeout(LIMIT / 4);
        let mut watch = Watch::new(Patience::new(&options));
        let watched = watch.seat();
        let (near, mut far) = duplex(10);
        let mut near = Patient::new(near, watched.seat());
        let serving = tokio::spawn(async move {
            let written = pin!(async {
                near.write_all(&[0; 100]).await?;
                pending::<io::Result<()>>().await
            });
            watched.serve(written, |_| {}).await
        });
        let reading = async {
            for _ in 0..9 {
                sleep(LIMIT / 2).await;
                assert!(!serving.is_finished());
                far.read_exact(&mut [0; 10]).await.unwrap();
            }
            let written = Instant::now();
            (serving.await.unwrap(), written.elapsed())
        };
        let (ended, waited) = watch.during(reading).await;
        let why = ended.unwrap_err().to_string();
        assert!(why.contains("with_head_timeout"), "{why}");
        assert!(waited >= LIMIT / 4 && waited < LIMIT / 2, "{waited:?}");
    }
}
