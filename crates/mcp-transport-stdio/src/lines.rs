//! Splits bytes into lines, within a limit.
//!
//! This module does no I/O: the caller writes bytes to [`Lines::space`] and takes lines. Lines are bytes and are not decoded, so
//! a line that is not UTF-8 does not affect other lines.
//!
//! Specification:
//! [stdio](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio).

use memchr::memchr;

/// Size of an unused buffer, and number of bytes that are reserved for one read.
const CHUNK: usize = 64 << 10;

/// Minimum number of free bytes before a read. If there are fewer, the buffer is compacted or enlarged.
const MIN_SPACE: usize = CHUNK / 4;

/// Number of bytes that are kept from the start of a line that is too long.
const HEAD: usize = 256;

/// The byte order mark of UTF-8.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// Maximum size of a buffer that is kept while no line is in it. A process can have hundreds of idle connections.
const MAX_KEPT: usize = 256 << 10;

/// Number of consecutive lines that must fit in a small buffer before a large buffer is freed.
const SHORT_LINES: u32 = 16;

/// A part of the input between two newlines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramedLine<'a> {
    /// A line without its ending. Blank lines are skipped.
    Frame(&'a [u8]),
    /// A line that exceeds the limit. The line is reported once, as soon as its length certainly exceeds the limit, and is
    /// discarded up to its newline.
    #[non_exhaustive]
    TooLong {
        /// The maximum length of a line in bytes, without the line ending.
        limit: usize,
        /// The start of the line: its first 256 bytes, or fewer if the limit is lower.
        head: &'a [u8],
    },
}

/// Splits a stream of bytes into lines, with one buffer that is reused.
///
/// Lines end with `\n` or `\r\n`. The buffer never exceeds the limit plus 128 KiB.
///
/// ```
/// use mcp_transport_stdio::{FramedLine, Lines};
///
/// let mut lines = Lines::new(1024);
/// lines.feed(b"{\"a\":1}\r\n\n{\"b\"");
/// assert_eq!(lines.next_line(), Some(FramedLine::Frame(b"{\"a\":1}")));
/// assert_eq!(lines.next_line(), None);
/// lines.feed(b":2}");
/// assert_eq!(lines.next_line(), None);
/// assert_eq!(lines.finish(), Some(FramedLine::Frame(b"{\"b\":2}")));
/// ```
pub struct Lines {
    /// The buffer. All of it is initialized, and bytes are read into its free part.
    buffer: Vec<u8>,
    /// The position of the first byte that was not returned as part of a line yet.
    start: usize,
    /// The end of the bytes that were searched: `start..scanned` contains no newline.
    scanned: usize,
    /// The end of the bytes that were read. The rest of the buffer is free.
    end: usize,
    limit: usize,
    /// Whether the current line is too long and is being discarded.
    skipping: bool,
    /// The start of the last line that was too long.
    head: Vec<u8>,
    /// Number of consecutive lines that did not need a large buffer.
    short_lines: u32,
    /// Whether the first line of the stream is complete.
    has_begun: bool,
}

impl Lines {
    /// Creates a splitter for lines of at most `limit` bytes, without their endings.
    pub fn new(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            end: 0,
            limit,
            skipping: false,
            head: Vec::new(),
            short_lines: 0,
            has_begun: false,
        }
    }

    /// Returns the space for the next read. It is never empty. Take all complete lines first, because otherwise the buffer grows.
    pub fn space(&mut self) -> &mut [u8] {
        let unread = self.end - self.start;
        if unread == 0 {
            self.rewind();
        } else if self.start > 0 && unread <= CHUNK - MIN_SPACE && self.buffer.len() > MAX_KEPT {
            self.shrink();
        } else if self.buffer.len() - self.end < MIN_SPACE {
            self.make_room();
        }
        &mut self.buffer[self.end..]
    }

    /// Records how many bytes of [`space`](Self::space) were filled.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buffer.len());
    }

    /// Appends a copy of `bytes`, for callers that do not read into [`space`](Self::space).
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let space = self.space();
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            self.filled(count);
            bytes = &bytes[count..];
        }
    }

    /// Returns the next complete line, or `None` if more bytes are needed.
    pub fn next_line(&mut self) -> Option<FramedLine<'_>> {
        while let Some(at) = memchr(b'\n', &self.buffer[self.scanned..self.end]) {
            let stop = self.scanned + at;
            let start = self.line_start(stop);
            self.start = stop + 1;
            self.scanned = self.start;
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            let length = trimmed(&self.buffer[start..stop]).len();
            if length > self.limit {
                return Some(self.too_long(start, start + length));
            }
            self.short_lines = match length {
                0..CHUNK => self.short_lines.saturating_add(1),
                _ => 0,
            };
            if !is_blank(&self.buffer[start..stop]) {
                return Some(FramedLine::Frame(&self.buffer[start..start + length]));
            }
        }
        self.scanned = self.end;
        if self.skipping {
            self.start = self.end;
        } else if self.is_over() {
            let (start, end) = (self.start, self.end);
            self.skipping = true;
            self.start = self.end;
            // The head is copied before the buffer is freed.
            let _ = self.too_long(start, end);
            self.release();
            return Some(FramedLine::TooLong {
                limit: self.limit,
                head: &self.head,
            });
        }
        None
    }

    fn too_long(&mut self, start: usize, end: usize) -> FramedLine<'_> {
        self.head.clear();
        self.head
            .extend_from_slice(&self.buffer[start..end.min(start + HEAD)]);
        FramedLine::TooLong {
            limit: self.limit,
            head: &self.head,
        }
    }

    /// Returns the last line, if the stream ended without a newline. Take all complete lines first.
    pub fn finish(&mut self) -> Option<FramedLine<'_>> {
        let start = self.line_start(self.end);
        self.start = self.end;
        self.scanned = self.end;
        if std::mem::take(&mut self.skipping) {
            return None;
        }
        let line = trimmed(&self.buffer[start..self.end]);
        (!is_blank(line)).then_some(FramedLine::Frame(line))
    }

    #[cfg(feature = "child")]
    /// Discards all bytes that were not returned yet.
    pub(crate) fn clear(&mut self) {
        (self.start, self.scanned, self.end) = (0, 0, 0);
    }

    /// Returns the size of the buffer in bytes.
    pub fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Returns the position at which the text of the line that ends at `stop` begins. Skips a byte order mark, which some
    /// programs write at the beginning of a stream.
    fn line_start(&mut self, stop: usize) -> usize {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        match is_first && self.buffer[self.start..stop].starts_with(MARK) {
            true => self.start + MARK.len(),
            false => self.start,
        }
    }

    /// Returns whether the unfinished line certainly exceeds the limit. A line with one byte more than the limit may still fit,
    /// because this byte may be the `\r` of the line ending.
    fn is_over(&self) -> bool {
        let pending = &self.buffer[self.start..self.end];
        pending.len() > self.limit && trimmed(pending).len() > self.limit
    }

    /// Sets all positions to the start of the empty buffer. Frees a large buffer that is no longer needed.
    fn rewind(&mut self) {
        (self.start, self.scanned, self.end) = (0, 0, 0);
        let is_large = self.buffer.len() > CHUNK && self.short_lines >= SHORT_LINES;
        if is_large || self.buffer.len() > MAX_KEPT {
            self.release();
        } else if self.buffer.is_empty() {
            self.buffer = vec![0; CHUNK];
        }
    }

    /// Moves the start of the next line to a small buffer, because the rest of the line may never arrive.
    fn shrink(&mut self) {
        let mut small = vec![0; CHUNK];
        let (unread, scanned) = (self.end - self.start, self.scanned - self.start);
        small[..unread].copy_from_slice(&self.buffer[self.start..self.end]);
        self.buffer = small;
        (self.start, self.scanned, self.end) = (0, scanned, unread);
    }

    fn release(&mut self) {
        if self.buffer.len() > CHUNK {
            self.buffer = vec![0; CHUNK];
        }
        (self.start, self.scanned, self.end) = (0, 0, 0);
    }

    /// Moves the unfinished line to the start of the buffer. Enlarges the buffer if there is still too little space.
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
