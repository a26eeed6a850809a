//! The stderr of a child process. It is always drained, and its last lines are kept.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use memchr::memchr;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::process::ChildStderr;

use mcp_jsonrpc::quote;

/// Number of bytes per read.
const CHUNK: usize = 8 << 10;

/// Maximum number of consecutive reads before other tasks are polled.
const MAX_READS: usize = 16;

/// The handling of a child's stderr. Output on stderr is not an error.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Stderr {
    /// Keeps the last lines for the error when the child ends. All lines are logged with `tracing`
    /// at debug level.
    #[default]
    Capture,
    /// The child writes to the stderr of this process. Nothing is kept.
    Inherit,
    /// Like [`Capture`](Self::Capture), and additionally passes each line to a function. The function must not block. Lines are
    /// cut at [`ChildProcess::stderr_width`](super::ChildProcess::stderr_width) characters, and control characters are removed.
    Callback(Arc<dyn Fn(&str) + Send + Sync>),
}

impl fmt::Debug for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capture => "Capture",
            Self::Inherit => "Inherit",
            Self::Callback(_) => "Callback",
        })
    }
}

/// The last lines of a stream, in bounded memory.
pub(crate) struct Tail {
    source: Option<ChildStderr>,
    sink: Stderr,
    lines: VecDeque<String>,
    most: usize,
    width: usize,
    /// The unfinished line, cut to the maximum width.
    partial: Vec<u8>,
    chunk: Box<[u8]>,
}

impl Tail {
    pub(crate) fn new(
        source: Option<ChildStderr>,
        sink: Stderr,
        most: usize,
        width: usize,
    ) -> Self {
        Self {
            source,
            sink,
            lines: VecDeque::new(),
            most,
            width,
            partial: Vec::new(),
            chunk: vec![0; CHUNK].into_boxed_slice(),
        }
    }

    /// Reads the available bytes. Completes at the end of the stream.
    pub(crate) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..MAX_READS {
            let Some(source) = &mut self.source else {
                return Poll::Ready(());
            };
            let mut buffer = ReadBuf::new(&mut self.chunk);
            match Pin::new(source).poll_read(cx, &mut buffer) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    let count = buffer.filled().len();
                    let chunk = std::mem::take(&mut self.chunk);
                    self.take(&chunk[..count]);
                    self.chunk = chunk;
                }
                Poll::Ready(_) => {
                    self.source = None;
                    self.end_line();
                    return Poll::Ready(());
                }
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Returns the last lines, including the unfinished line.
    pub(crate) fn last_lines(&mut self) -> Vec<String> {
        self.end_line();
        self.lines.iter().cloned().collect()
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(at) = memchr(b'\n', bytes) {
            self.extend(&bytes[..at]);
            self.end_line();
            bytes = &bytes[at + 1..];
        }
        self.extend(bytes);
    }

    /// Appends bytes to the unfinished line, up to its maximum width.
    fn extend(&mut self, bytes: &[u8]) {
        // A character has at most four bytes. One more byte shows that the line was cut.
        let room =
            (self.width.saturating_add(1).saturating_mul(4)).saturating_sub(self.partial.len());
        self.partial
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn end_line(&mut self) {
        let text = String::from_utf8_lossy(&self.partial);
        let line = format!("{:#}", quote(text.trim_end(), self.width));
        self.partial.clear();
        if line.is_empty() {
            return;
        }
        tracing::debug!(target: "mcp_transport_stdio::stderr", "{line}");
        if let Stderr::Callback(callback) = &self.sink {
            callback(&line);
        }
        if self.lines.len() >= self.most {
            self.lines.pop_front();
        }
        if self.most > 0 {
            self.lines.push_back(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kept_stderr_lines_have_a_limited_size() {
        let mut tail = Tail::new(None, Stderr::Capture, 2, 5);
        for chunk in ["one\ntw", "o\r\n\nthr", "ee is long", "er\nfour"] {
            tail.take(chunk.as_bytes());
        }
        tail.take(&vec![b'x'; 1 << 20]);
        assert!(tail.partial.len() <= 24);
        assert_eq!(tail.last_lines(), ["three…", "fourx…"]);
    }
}
