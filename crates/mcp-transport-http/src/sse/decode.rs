//! Decodes Server-Sent Events from bytes.

use std::fmt;
use std::time::Duration;

/// Maximum capacity for data that is kept between events, in bytes.
const KEEP: usize = 64 << 10;

/// Maximum length of a field name or a short value, in bytes. A longer name or value is treated as unknown.
const SHORT: usize = 64;

/// If the data of an event is too long, this number of its bytes is kept for the error message.
const HEAD: usize = 512;

/// A decoder of events from a stream of bytes that arrives in chunks of any size.
///
/// Comments and unknown fields are skipped without being buffered.
#[derive(Debug)]
pub(crate) struct Decoder {
    limits: Limits,
    /// Number of bytes of the byte order mark that were matched. `None` when the start of the stream is over.
    mark: Option<usize>,
    /// Whether the last byte was a CR. A LF after it belongs to the same line end.
    after_cr: bool,
    line: LinePosition,
    /// The name of the current field. After the colon, the value of the field, unless the field is `data`.
    text: Vec<u8>,
    block: Block,
    /// Whether [`event`](Self::event) has already returned the complete event.
    taken: bool,
    retry: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    event: usize,
    id: usize,
}

/// The position within the current line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePosition {
    Name,
    /// The colon was read. One space after the colon is ignored.
    Colon(FieldName),
    Value(FieldName),
    /// A comment or an unknown field.
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldName {
    Data,
    Event,
    Id,
    Retry,
}

/// The content of the lines since the last blank line.
#[derive(Debug, Default)]
struct Block {
    data: Vec<u8>,
    has_data: bool,
    name: Vec<u8>,
    id: Vec<u8>,
    has_id: bool,
    retry: Option<Duration>,
}

impl Block {
    fn clear(&mut self) {
        self.data.clear();
        if self.data.capacity() > KEEP {
            self.data = Vec::new();
        }
        self.has_data = false;
        self.name.clear();
        self.has_id = false;
        self.retry = None;
    }
}

/// An event, borrowed from its decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// The id, if the event has one. An empty id resets the last id.
    pub(crate) id: Option<&'a [u8]>,
    /// The event type. An empty type means `message`.
    pub(crate) name: &'a [u8],
    /// The data. An event without data is not a message, but its `id` and `retry` fields are valid.
    pub(crate) data: &'a [u8],
    /// The reconnection delay.
    pub(crate) retry: Option<Duration>,
}

impl Event<'_> {
    /// Returns whether the event is a message: it has data and the default type.
    pub(crate) fn is_message(&self) -> bool {
        !self.data.trim_ascii().is_empty() && matches!(self.name, b"" | b"message")
    }
}

/// An event that exceeds a limit. The rest of the stream cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TooLong {
    /// The data is too long; `head` contains its beginning.
    Data { limit: usize, head: Vec<u8> },
    /// The id is too long.
    Id { limit: usize },
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data { limit, .. } => {
                write!(f, "an event is longer than {limit} bytes, the limit")
            }
            Self::Id { limit } => {
                write!(f, "an event id is longer than {limit} bytes, the limit")
            }
        }
    }
}

impl Decoder {
    /// Creates a decoder. An event may have at most `event` bytes of data and an id of `id` bytes.
    pub(crate) fn new(event: usize, id: usize) -> Self {
        Self {
            limits: Limits { event, id },
            mark: Some(0),
            after_cr: false,
            line: LinePosition::Name,
            text: Vec::new(),
            block: Block::default(),
            taken: false,
            retry: None,
        }
    }

    /// Returns the last `retry` value of the stream. Includes a value from an incomplete event.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Consumes `input` until an event is complete. [`event`](Self::event) then returns the event. Returns `false` if `input`
    /// ends before an event is complete.
    ///
    /// # Errors
    /// The event exceeds a limit. The decoder must not be used any more, because it would misread the following bytes.
    pub(crate) fn advance(&mut self, input: &mut &[u8]) -> Result<bool, TooLong> {
        if std::mem::take(&mut self.taken) {
            self.block.clear();
        }
        self.skip_mark(input);
        while let Some(first) = input.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                *input = &input[1..];
                continue;
            }
            if let LinePosition::Colon(field) = self.line {
                self.line = LinePosition::Value(field);
                if *first == b' ' {
                    *input = &input[1..];
                    continue;
                }
            }
            let end = match self.line {
                LinePosition::Name => memchr::memchr3(b':', b'\r', b'\n', input),
                _ => memchr::memchr2(b'\r', b'\n', input),
            };
            let (part, rest) = input.split_at(end.unwrap_or(input.len()));
            self.keep(part)?;
            let Some((stop, rest)) = rest.split_first() else {
                *input = rest;
                break;
            };
            *input = rest;
            if *stop == b':' {
                self.name()?;
                continue;
            }
            self.after_cr = *stop == b'\r';
            if self.end_line()? {
                self.taken = true;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the event that [`advance`](Self::advance) completed.
    pub(crate) fn event(&self) -> Event<'_> {
        Event {
            id: self.block.has_id.then_some(&*self.block.id),
            name: &self.block.name,
            data: &self.block.data,
            retry: self.block.retry,
        }
    }

    /// Skips a byte order mark at the start of the stream.
    fn skip_mark(&mut self, input: &mut &[u8]) {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        while let (Some(matched), Some(first)) = (self.mark, input.first()) {
            if MARK.get(matched) == Some(first) {
                *input = &input[1..];
                self.mark = (matched + 1 < MARK.len()).then_some(matched + 1);
            } else {
                // The bytes were part of a field name.
                self.text.extend_from_slice(&MARK[..matched]);
                self.mark = None;
            }
        }
    }

    /// Stores a part of the current line, if the line is needed.
    fn keep(&mut self, part: &[u8]) -> Result<(), TooLong> {
        match self.line {
            LinePosition::Skip => {}
            LinePosition::Value(FieldName::Data) => self.keep_data(part)?,
            LinePosition::Value(FieldName::Id) => {
                let limit = self.limits.id;
                if self.text.len() + part.len() > limit {
                    return Err(TooLong::Id { limit });
                }
                self.text.extend_from_slice(part);
            }
            // One byte more than the limit is enough to detect that the text is too long.
            LinePosition::Name | LinePosition::Colon(_) | LinePosition::Value(_) => {
                let room = (SHORT + 1).saturating_sub(self.text.len());
                self.text.extend_from_slice(&part[..part.len().min(room)]);
            }
        }
        Ok(())
    }

    fn keep_data(&mut self, part: &[u8]) -> Result<(), TooLong> {
        let limit = self.limits.event;
        let data = &mut self.block.data;
        if part.len() <= limit.saturating_sub(data.len()) {
            data.extend_from_slice(part);
            return Ok(());
        }
        let mut head = std::mem::take(data);
        head.truncate(HEAD);
        let room = HEAD - head.len();
        head.extend_from_slice(&part[..room.min(part.len())]);
        Err(TooLong::Data { limit, head })
    }

    /// Handles a field name that was read completely.
    fn name(&mut self) -> Result<(), TooLong> {
        let field = match &*self.text {
            b"data" => Some(FieldName::Data),
            b"event" => Some(FieldName::Event),
            b"id" => Some(FieldName::Id),
            b"retry" => Some(FieldName::Retry),
            _ => None,
        };
        self.text.clear();
        self.line = field.map_or(LinePosition::Skip, LinePosition::Colon);
        if field == Some(FieldName::Data) && self.block.has_data {
            self.keep_data(b"\n")?;
        }
        Ok(())
    }

    /// Handles the end of a line. Returns `true` if it completes an event.
    fn end_line(&mut self) -> Result<bool, TooLong> {
        if self.line == LinePosition::Name {
            if self.text.is_empty() {
                return Ok(self.end_block());
            }
            // A line without a colon is a field with an empty value.
            self.name()?;
        }
        if let LinePosition::Colon(field) | LinePosition::Value(field) = self.line {
            self.end_field(field);
        }
        self.line = LinePosition::Name;
        self.text.clear();
        Ok(false)
    }

    fn end_field(&mut self, field: FieldName) {
        let (text, block) = (&mut self.text, &mut self.block);
        match field {
            FieldName::Data => block.has_data = true,
            FieldName::Event => std::mem::swap(&mut block.name, text),
            FieldName::Id if text.contains(&0) => {}
            FieldName::Id => {
                std::mem::swap(&mut block.id, text);
                block.has_id = true;
            }
            FieldName::Retry => {
                if let Some(wait) = milliseconds(text) {
                    block.retry = Some(wait);
                    self.retry = Some(wait);
                }
            }
        }
    }

    /// Handles a blank line. Returns `true` if it ends an event.
    fn end_block(&mut self) -> bool {
        let block = &mut self.block;
        let full = block.has_data || block.has_id || block.retry.is_some();
        if !full {
            block.clear();
        }
        full
    }
}

/// Parses a number of milliseconds, which is written with decimal digits only.
fn milliseconds(text: &[u8]) -> Option<Duration> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    text.parse().ok().map(Duration::from_millis)
}
