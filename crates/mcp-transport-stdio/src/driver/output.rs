//! The writing half of a connection: one write and one flush per batch, with a write timeout.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mcp_protocol::Mux;
use tokio::io::AsyncWrite;
use tokio::time::{Instant, Sleep, sleep};

use crate::driver::end::End;

pub(crate) struct Output<W> {
    /// `None` once it was closed.
    writer: Option<W>,
    bytes: Vec<u8>,
    written: usize,
    unflushed: bool,
    stall: Stall,
}

impl<W: AsyncWrite + Unpin> Output<W> {
    pub(crate) fn new(writer: W, stall: Duration) -> Self {
        Self {
            writer: Some(writer),
            bytes: Vec::new(),
            written: 0,
            unflushed: false,
            stall: Stall::new(stall),
        }
    }

    /// Returns whether all taken output is written, so that more can be taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes what is queued, if everything before is written. `Ready(false)`: the queue is
    /// closed and drained. Wakes through `cx` when more is queued.
    pub(crate) fn poll_take(&mut self, mux: &Mux, cx: &mut Context<'_>) -> Poll<bool> {
        debug_assert!(
            self.is_empty(),
            "the output taken before is not written yet"
        );
        mux.poll_output(cx, &mut self.bytes)
    }

    /// Writes and flushes what was taken.
    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        let Some(writer) = &mut self.writer else {
            self.bytes.clear();
            return Poll::Ready(Ok(()));
        };
        while self.written < self.bytes.len() {
            let rest = &self.bytes[self.written..];
            match Pin::new(&mut *writer).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => {
                    let error = io::Error::from(io::ErrorKind::WriteZero);
                    return Poll::Ready(Err(End::Write(error)));
                }
                Poll::Ready(Ok(count)) => {
                    self.written += count;
                    self.unflushed = true;
                    self.stall.progress();
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(End::Write(error))),
                Poll::Pending => return self.stall.poll_over(cx).map(Err),
            }
        }
        self.bytes.clear();
        self.written = 0;
        if self.unflushed {
            match Pin::new(writer).poll_flush(cx) {
                Poll::Ready(Ok(())) => {
                    self.unflushed = false;
                    self.stall.progress();
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(End::Write(error))),
                Poll::Pending => return self.stall.poll_over(cx).map(Err),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Writes whatever is queued until the queue is closed and drained.
    pub(crate) fn poll_drain(&mut self, mux: &Mux, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        loop {
            ready!(self.poll_write(cx))?;
            if !ready!(self.poll_take(mux, cx)) {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Closes the stream. Output that is not written yet is lost.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(writer) = &mut self.writer {
            // An error means that the peer is gone, so that the stream is closed, too.
            let _ = ready!(Pin::new(writer).poll_shutdown(cx));
        }
        self.close();
        Poll::Ready(())
    }

    /// Drops the writer.
    pub(crate) fn close(&mut self) {
        self.writer = None;
        self.bytes.clear();
        self.written = 0;
        self.unflushed = false;
    }
}

/// Measures how long the peer has read nothing. Costs nothing while it reads.
struct Stall {
    limit: Duration,
    armed: bool,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Stall {
    fn new(limit: Duration) -> Self {
        Self {
            limit,
            armed: false,
            timer: None,
        }
    }

    fn progress(&mut self) {
        self.armed = false;
    }

    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        let timer = self.timer.get_or_insert_with(|| {
            self.armed = true;
            Box::pin(sleep(self.limit))
        });
        if !self.armed {
            self.armed = true;
            timer.as_mut().reset(Instant::now() + self.limit);
        }
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(End::Stalled(self.limit))
    }
}
