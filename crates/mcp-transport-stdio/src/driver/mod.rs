//! The driver: moves bytes between a pair of streams and a [`Mux`].
//!
//! One future owns the reader, the writer and the buffered lines. For a call whose response is ready at once, the future spawns
//! no task and allocates no memory. It writes the responses of several lines at once. It stops reading only while the peer does
//! not read.

pub(crate) mod spawner;

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use mcp_jsonrpc::ParseError;
use mcp_protocol::{Closed, Mux};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::driver::spawner::Spawner;
use crate::error::End;
use crate::lines::{FramedLine, Lines};
use crate::options::StdioOptions;
use crate::stray::StrayOutput;

/// Maximum number of lines that are handled before the responses are written.
const BATCH: usize = 64;

/// Maximum number of batches that are handled before other tasks of the runtime are polled.
const MAX_BATCHES: usize = 16;

/// The setting that is named in the error for a line that is too long.
const LINE_LIMIT: &str = "StdioOptions::with_line_limit";

/// The side of the pipe that a driver serves.
pub(crate) enum Role {
    /// Answers unreadable lines with an error.
    Server,
    /// Counts unreadable lines, and does not answer them.
    Client(Arc<StrayOutput>),
}

pub(crate) struct Driver<R, W> {
    mux: Arc<Mux>,
    input: Input<R>,
    output: Output<W>,
}

struct Input<R> {
    reader: R,
    lines: Lines,
    role: Role,
    spawner: Spawner,
}

enum Read {
    /// Bytes were read or lines were handled. There may be output to write.
    Progress,
    End(End),
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Driver<R, W> {
    pub(crate) fn new(
        mux: Arc<Mux>,
        (reader, writer): (R, W),
        role: Role,
        spawner: Spawner,
        options: &StdioOptions,
    ) -> Self {
        Self {
            mux,
            input: Input {
                reader,
                lines: Lines::new(options.line_limit),
                role,
                spawner,
            },
            output: Output::new(writer, options.write_timeout),
        }
    }

    /// Moves bytes until one side ends the connection.
    pub(crate) async fn run(&mut self) -> End {
        poll_fn(|cx| self.poll_run(cx)).await
    }

    pub(crate) fn poll_run(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        for _ in 0..MAX_BATCHES {
            if self.mux.closed().is_some() {
                return Poll::Ready(End::Closed);
            }
            // Frames that are queued from within this loop need not wake the task that runs it.
            let mut asleep = Context::from_waker(Waker::noop());
            if self.output.is_empty() {
                let _ = self.output.poll_take(&self.mux, &mut asleep);
            }
            if let Poll::Ready(Err(end)) = self.output.poll_write(cx) {
                return Poll::Ready(end);
            }
            let blocked = !self.output.is_empty();
            let read = match blocked && self.mux.is_congested() {
                true => Poll::Pending,
                false => self.input.poll(&self.mux, cx),
            };
            match read {
                Poll::Ready(Read::Progress) => {}
                Poll::Ready(Read::End(end)) => return Poll::Ready(end),
                // The writer registered a waker.
                Poll::Pending if blocked => return Poll::Pending,
                Poll::Pending => match self.output.poll_take(&self.mux, cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(false) => return Poll::Ready(End::Closed),
                    Poll::Ready(true) => {}
                },
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Waits until all running handlers have finished. Meanwhile writes their responses, but does not read.
    pub(crate) async fn idle(&mut self) -> Result<(), End> {
        let mut idle = pin!(self.input.spawner.idle());
        poll_fn(|cx| match self.output.poll_drain(&self.mux, cx) {
            Poll::Ready(done) => Poll::Ready(done),
            Poll::Pending => idle.as_mut().poll(cx).map(Ok),
        })
        .await
    }

    /// Writes the remaining output after the [`Mux`] was closed. Then closes the output stream.
    pub(crate) async fn finish(&mut self) -> Result<(), End> {
        poll_fn(|cx| self.output.poll_drain(&self.mux, cx)).await?;
        poll_fn(|cx| self.output.poll_shutdown(cx)).await;
        Ok(())
    }

    #[cfg(feature = "child")]
    /// Closes the output stream at once.
    pub(crate) fn close_output(&mut self) {
        self.output.close();
    }

    /// Reads until the end of the stream, without writing.
    pub(crate) async fn read_rest(&mut self) {
        poll_fn(|cx| {
            loop {
                if let Read::End(_) = ready!(self.input.poll(&self.mux, cx)) {
                    return Poll::Ready(());
                }
            }
        })
        .await;
    }

    #[cfg(feature = "child")]
    /// Reads and discards input, so that the peer does not block while it writes. Completes at the end of the stream.
    pub(crate) fn poll_discard(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MAX_BATCHES {
            self.input.lines.clear();
            let mut buffer = ReadBuf::new(self.input.lines.space());
            match ready!(Pin::new(&mut self.input.reader).poll_read(cx, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                _ => return Poll::Ready(()),
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<R, W> Drop for Driver<R, W> {
    /// Closes the connection. Without the driver, no bytes are moved.
    fn drop(&mut self) {
        self.mux.close(Closed::local());
    }
}

impl<R: AsyncRead + Unpin> Input<R> {
    /// Handles the complete lines in the buffer. If there are none, reads once.
    fn poll(&mut self, mux: &Arc<Mux>, cx: &mut Context<'_>) -> Poll<Read> {
        if self.handle_lines(mux) == 0 {
            let mut buffer = ReadBuf::new(self.lines.space());
            if let Err(error) = ready!(Pin::new(&mut self.reader).poll_read(cx, &mut buffer)) {
                return Poll::Ready(Read::End(End::Read(error)));
            }
            let count = buffer.filled().len();
            self.lines.filled(count);
            if count == 0 {
                if let Some(line) = self.lines.finish() {
                    receive(mux, line, &self.role, &self.spawner);
                }
                return Poll::Ready(Read::End(End::Eof));
            }
            self.handle_lines(mux);
        }
        Poll::Ready(match &self.role {
            Role::Client(stray) if stray.is_over() => Read::End(End::TooManyStrayLines),
            _ => Read::Progress,
        })
    }

    /// Handles complete lines until there are no more lines or the output should be written. Returns the number of handled lines.
    fn handle_lines(&mut self, mux: &Arc<Mux>) -> usize {
        let mut handled = 0;
        while let Some(line) = self.lines.next_line() {
            receive(mux, line, &self.role, &self.spawner);
            handled += 1;
            if handled >= BATCH || mux.is_congested() {
                break;
            }
        }
        handled
    }
}

fn receive(mux: &Arc<Mux>, line: FramedLine<'_>, role: &Role, spawner: &Spawner) {
    match (line, role) {
        (FramedLine::Frame(frame), _) => mux.receive(frame, &mut |work| spawner.spawn(work)),
        (FramedLine::TooLong { limit, head }, Role::Server) => {
            mux.too_long(head, limit, LINE_LIMIT);
        }
        (FramedLine::TooLong { limit, head }, Role::Client(stray)) => {
            stray.too_long(limit);
            // For a line with an id, `too_long` fails the call. For a line without an id, `too_long`
            // could count the line a second time.
            if ParseError::too_long(head, limit, LINE_LIMIT).id().is_some() {
                mux.too_long(head, limit, LINE_LIMIT);
            } else {
                mux.discard_too_long(head, limit, LINE_LIMIT);
            }
        }
    }
}

pub(crate) struct Output<W> {
    /// The output stream; `None` after it was closed.
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

    /// Returns whether all output that was taken from the queue is written, so that more output can be taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes the queued output. Call it only if all output that was taken before is written. `Ready(false)` means that the queue
    /// is closed and empty. If the result is pending, `cx` is woken when output is queued.
    pub(crate) fn poll_take(&mut self, mux: &Mux, cx: &mut Context<'_>) -> Poll<bool> {
        debug_assert!(
            self.is_empty(),
            "the output that was taken before is not yet written"
        );
        mux.poll_output(cx, &mut self.bytes)
    }

    /// Writes and flushes the output that was taken from the queue.
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

    /// Writes all output until the queue is closed and empty.
    pub(crate) fn poll_drain(&mut self, mux: &Mux, cx: &mut Context<'_>) -> Poll<Result<(), End>> {
        loop {
            ready!(self.poll_write(cx))?;
            if !ready!(self.poll_take(mux, cx)) {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Closes the stream. Output that has not been written yet is lost.
    pub(crate) fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(writer) = &mut self.writer {
            // An error means that the peer has disconnected, which closes the stream too.
            let _ = ready!(Pin::new(writer).poll_shutdown(cx));
        }
        self.close();
        Poll::Ready(())
    }

    /// Closes the output stream by dropping the writer.
    pub(crate) fn close(&mut self) {
        self.writer = None;
        self.bytes.clear();
        self.written = 0;
        self.unflushed = false;
    }
}

/// Measures for how long the peer has not read. No timer runs while the peer reads.
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
