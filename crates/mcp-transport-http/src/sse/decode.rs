//! Bytes to events.

use std::fmt;
use std::time::Duration;

/// Room for data that is kept from one event to the next.
const KEEP: usize = 64 << 10;

/// Bytes of a name or a short value; what is longer is none that anybody knows.
const SHORT: usize = 64;

/// How much of data that is too long is kept: enough to see what it was meant to be.
const HEAD: usize = 512;

/// Takes events out of a stream of bytes, however it is cut into chunks.
///
/// Comments and unknown fields are skipped without being kept.
#[derive(Debug)]
pub(crate) struct Decoder {
    limits: Limits,
    /// Bytes of the byte order mark that have matched; `None` once that is over.
    mark: Option<usize>,
    /// The last byte ended a line with CR, so a LF still belongs to it.
    after_cr: bool,
    line: Line,
    /// The name of the field, then its value if it is not data.
    text: Vec<u8>,
    block: Block,
    /// The block has been handed out.
    taken: bool,
    retry: Option<Duration>,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    event: usize,
    id: usize,
}

/// Where in a line the last chunk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Name,
    /// The colon was read; a space right behind it belongs to nobody.
    Colon(Field),
    Value(Field),
    /// A comment or an unknown field.
    Skip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
}

/// The lines since the last blank one.
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

/// One event, borrowed from its decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event<'a> {
    /// The id, if the event carries one. An empty one takes back the ids before it.
    pub(crate) id: Option<&'a [u8]>,
    /// What kind of event it is; empty stands for `message`.
    pub(crate) name: &'a [u8],
    /// What it says. An event without data is no message, but its id and its `retry` count.
    pub(crate) data: &'a [u8],
    /// How long to wait before coming back.
    pub(crate) retry: Option<Duration>,
}

impl Event<'_> {
    /// Whether there is a message in it: it has data, and its kind is the usual one.
    pub(crate) fn is_message(&self) -> bool {
        !self.data.trim_ascii().is_empty() && matches!(self.name, b"" | b"message")
    }
}

/// An event that is over a limit. The stream cannot be read on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TooLong {
    /// Its data; the bytes are how it began.
    Data { limit: usize, head: Vec<u8> },
    /// Its id.
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
    /// A decoder for events of at most `event` bytes of data, whose ids have at most `id` bytes.
    pub(crate) fn new(event: usize, id: usize) -> Self {
        Self {
            limits: Limits { event, id },
            mark: Some(0),
            after_cr: false,
            line: Line::Name,
            text: Vec::new(),
            block: Block::default(),
            taken: false,
            retry: None,
        }
    }

    /// The last `retry` of the stream; it counts even if its event was cut off.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Takes bytes off the front of `input` until an event is complete, which is then to be had
    /// from [`event`](Self::event). `false`: everything was taken.
    ///
    /// # Errors
    /// The event is over a limit; what follows it would be read wrong.
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
            if let Line::Colon(field) = self.line {
                self.line = Line::Value(field);
                if *first == b' ' {
                    *input = &input[1..];
                    continue;
                }
            }
            let end = match self.line {
                Line::Name => memchr::memchr3(b':', b'\r', b'\n', input),
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

    /// The event that [`advance`](Self::advance) has completed.
    pub(crate) fn event(&self) -> Event<'_> {
        Event {
            id: self.block.has_id.then_some(&*self.block.id),
            name: &self.block.name,
            data: &self.block.data,
            retry: self.block.retry,
        }
    }

    /// Passes over a byte order mark at the start of the stream.
    fn skip_mark(&mut self, input: &mut &[u8]) {
        const MARK: &[u8] = b"\xEF\xBB\xBF";
        while let (Some(matched), Some(first)) = (self.mark, input.first()) {
            if MARK.get(matched) == Some(first) {
                *input = &input[1..];
                self.mark = (matched + 1 < MARK.len()).then_some(matched + 1);
            } else {
                // It was a part of a name.
                self.text.extend_from_slice(&MARK[..matched]);
                self.mark = None;
            }
        }
    }

    /// Keeps a part of a line.
    fn keep(&mut self, part: &[u8]) -> Result<(), TooLong> {
        match self.line {
            Line::Skip => {}
            Line::Value(Field::Data) => self.keep_data(part)?,
            Line::Value(Field::Id) => {
                let limit = self.limits.id;
                if self.text.len() + part.len() > limit {
                    return Err(TooLong::Id { limit });
                }
                self.text.extend_from_slice(part);
            }
            // A byte over is enough to know that it is too long.
            Line::Name | Line::Colon(_) | Line::Value(_) => {
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

    /// The name of the field is complete.
    fn name(&mut self) -> Result<(), TooLong> {
        let field = match &*self.text {
            b"data" => Some(Field::Data),
            b"event" => Some(Field::Event),
            b"id" => Some(Field::Id),
            b"retry" => Some(Field::Retry),
            _ => None,
        };
        self.text.clear();
        self.line = field.map_or(Line::Skip, Line::Colon);
        if field == Some(Field::Data) && self.block.has_data {
            self.keep_data(b"\n")?;
        }
        Ok(())
    }

    /// A line is complete; `true` if it completes an event.
    fn end_line(&mut self) -> Result<bool, TooLong> {
        if self.line == Line::Name {
            if self.text.is_empty() {
                return Ok(self.end_block());
            }
            // A line without a colon is a field with an empty value.
            self.name()?;
        }
        if let Line::Colon(field) | Line::Value(field) = self.line {
            self.end_field(field);
        }
        self.line = Line::Name;
        self.text.clear();
        Ok(false)
    }

    fn end_field(&mut self, field: Field) {
        let (text, block) = (&mut self.text, &mut self.block);
        match field {
            Field::Data => block.has_data = true,
            Field::Event => std::mem::swap(&mut block.name, text),
            Field::Id if text.contains(&0) => {}
            Field::Id => {
                std::mem::swap(&mut block.id, text);
                block.has_id = true;
            }
            Field::Retry => {
                if let Some(wait) = milliseconds(text) {
                    block.retry = Some(wait);
                    self.retry = Some(wait);
                }
            }
        }
    }

    /// A blank line was read; whether there is anything in the block it ends.
    fn end_block(&mut self) -> bool {
        let block = &mut self.block;
        let full = block.has_data || block.has_id || block.retry.is_some();
        if !full {
            block.clear();
        }
        full
    }
}

/// A number of digits and nothing else.
fn milliseconds(text: &[u8]) -> Option<Duration> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    text.parse().ok().map(Duration::from_millis)
}
