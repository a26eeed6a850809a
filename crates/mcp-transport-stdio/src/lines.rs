//! From bytes to lines, bounded.
//!
//! Pure: whoever reads puts bytes into [`Lines::space`] and takes lines out. Framing works on
//! bytes, so a line that is not UTF-8 costs that line only. Nothing is decoded here.
//!
//! Specification: [stdio](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio).

use memchr::memchr;

/// Size of an unused buffer, and the room kept free for one read.
const CHUNK: usize = 64 << 10;

/// Least room worth a read; with less, the buffer is compacted or grows.
const MIN_SPACE: usize = CHUNK / 4;

/// Bytes kept of a line that is too long.
const HEAD: usize = 256;

/// Lines in a row that must fit a small buffer before a large one is given back.
const CALM: u32 = 16;

/// What stands between two newlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Line<'a> {
    /// A line without its ending. Blank lines are never handed out.
    Frame(&'a [u8]),
    /// A line longer than the limit. It is dropped up to its newline and told of once, as soon
    /// as it is known to be too long.
    #[non_exhaustive]
    TooLong {
        /// The limit, in bytes without the line ending.
        limit: usize,
        /// How it began: its first 256 bytes, or fewer where the limit is lower.
        head: &'a [u8],
    },
}

/// Splits a stream of bytes into lines out of one buffer that is used again and again.
///
/// Lines end with `\n` or `\r\n`. Memory stays below the limit plus 128 KiB, whatever arrives.
///
/// ```
/// use mcp_transport_stdio::{Line, Lines};
///
/// let mut lines = Lines::new(1024);
/// lines.feed(b"{\"a\":1}\r\n\n{\"b\"");
/// assert_eq!(lines.next_line(), Some(Line::Frame(b"{\"a\":1}")));
/// assert_eq!(lines.next_line(), None);
/// lines.feed(b":2}");
/// assert_eq!(lines.next_line(), None);
/// assert_eq!(lines.finish(), Some(Line::Frame(b"{\"b\":2}")));
/// ```
pub struct Lines {
    /// Initialised all through: its length is what can be read into.
    buffer: Vec<u8>,
    /// First byte that was not handed out.
    start: usize,
    /// No newline in `start..scanned`.
    scanned: usize,
    /// First byte that was not filled.
    end: usize,
    limit: usize,
    /// Inside a line that is too long.
    skipping: bool,
    /// How the last line that was too long began.
    head: Vec<u8>,
    /// Lines since the last one that needed a large buffer.
    calm: u32,
}

impl Lines {
    /// A splitter for lines of at most `limit` bytes, their endings not counted.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            end: 0,
            limit,
            skipping: false,
            head: Vec::new(),
            calm: 0,
        }
    }

    /// Room for the next read, never empty. Take all lines first, or the buffer grows.
    pub fn space(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.rewind();
        } else if self.buffer.len() - self.end < MIN_SPACE {
            self.make_room();
        }
        &mut self.buffer[self.end..]
    }

    /// Says how many bytes of [`space`](Self::space) were filled.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buffer.len());
    }

    /// Copies bytes in, for those who do not read into [`space`](Self::space).
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            self.filled(count);
            bytes = &bytes[count..];
        }
    }

    /// The next complete line, or `None` if more bytes are needed.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        while let Some(at) = memchr(b'\n', &self.buffer[self.scanned..self.end]) {
            let (start, stop) = (self.start, self.scanned + at);
            self.start = stop + 1;
            self.scanned = self.start;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            let length = trimmed(&self.buffer[start..stop]).len();
            if length > self.limit {
                return Some(self.too_long(start, start + length));
            }
            self.calm = match length {
                0..CHUNK => self.calm.saturating_add(1),
                _ => 0,
            };
            if !is_blank(&self.buffer[start..stop]) {
                return Some(Line::Frame(&self.buffer[start..start + length]));
            }
        }
        self.scanned = self.end;
        if self.skipping {
            self.start = self.end;
        } else if self.is_over() {
            let (start, end) = (self.start, self.end);
            self.skipping = true;
            self.start = self.end;
            // The head is copied first: the buffer is given back.
            let _ = self.too_long(start, end);
            self.release();
            return Some(Line::TooLong {
                limit: self.limit,
                head: &self.head,
            });
        }
        None
    }

    fn too_long(&mut self, start: usize, end: usize) -> Line<'_> {
        self.head.clear();
        self.head
            .extend_from_slice(&self.buffer[start..end.min(start + HEAD)]);
        Line::TooLong {
            limit: self.limit,
            head: &self.head,
        }
    }

    /// The last line, if the stream ended without a newline. Take all complete lines first.
    pub fn finish(&mut self) -> Option<Line<'_>> {
        let start = std::mem::replace(&mut self.start, self.end);
        self.scanned = self.end;
        if std::mem::take(&mut self.skipping) {
            return None;
        }
        let line = trimmed(&self.buffer[start..self.end]);
        (!is_blank(line)).then_some(Line::Frame(line))
    }

    #[cfg(feature = "child")]
    /// Forgets what was fed and not taken.
    pub(crate) fn clear(&mut self) {
        (self.start, self.scanned, self.end) = (0, 0, 0);
    }

    /// Bytes the buffer holds, used or not.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Whether the unfinished line is too long, however it ends: one byte above the limit may
    /// still turn out to be half of a line ending.
    fn is_over(&self) -> bool {
        let pending = &self.buffer[self.start..self.end];
        pending.len() > self.limit && trimmed(pending).len() > self.limit
    }

    /// Starts at the front again; gives a large buffer back once it is no longer needed.
    fn rewind(&mut self) {
        (self.start, self.scanned, self.end) = (0, 0, 0);
        if self.buffer.len() > CHUNK && self.calm >= CALM {
            self.release();
        } else if self.buffer.is_empty() {
            self.buffer = vec![0; CHUNK];
        }
    }

    fn release(&mut self) {
        if self.buffer.len() > CHUNK {
            self.buffer = vec![0; CHUNK];
        }
        (self.start, self.scanned, self.end) = (0, 0, 0);
    }

    /// Moves the unfinished line to the front, and grows if that is not enough.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.scanned -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < MIN_SPACE {
            let most = self.limit.saturating_add(CHUNK).max(self.end + CHUNK);
            let length = self.buffer.len().saturating_mul(2).clamp(CHUNK, most);
            self.buffer.reserve_exact(length - self.buffer.len());
            self.buffer.resize(length, 0);
        }
    }
}

impl std::fmt::Debug for Lines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lines")
            .field("pending", &(self.end - self.start))
            .field("limit", &self.limit)
            .field("skipping", &self.skipping)
            .finish_non_exhaustive()
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}
