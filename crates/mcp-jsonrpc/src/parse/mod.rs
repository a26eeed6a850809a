//! Parsing of a frame into classified messages, in one pass.

mod outline;
mod repair;

use std::borrow::Cow;

use crate::decode::has_escape;
use crate::decode::is_empty_array;
use crate::error::Shape;
use crate::message::{META, MemberIndex, Message, Notification, Request, Response};
use crate::scan::{Scanner, Text};
use crate::{ErrorObject, Limits, ParseError, ParseErrorKind, RequestId, TreeSize, member_name};
use outline::Outline;
pub use repair::replace_invalid_text;

/// One frame: a single message, or a batch of messages (2025-03-26 only).
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC defines these two frames")]
#[expect(
    clippy::large_enum_variant,
    reason = "the member index of a request stays on the stack while the request is served"
)]
pub enum Frame<'a> {
    /// A single message.
    Single(Message<'a>),
    /// An array of messages. Each message is parsed during iteration.
    Batch(Batch<'a>),
}

/// A batch. Its text is valid JSON. Its messages are parsed during iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch<'a> {
    members: Vec<&'a str>,
    limits: Limits,
}

impl<'a> Batch<'a> {
    /// Returns the number of messages, which is never zero.
    #[expect(clippy::len_without_is_empty, reason = "parse rejects an empty batch")]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Iterates over the messages in order. An invalid message gives an error, and does not affect the other messages.
    pub fn iter(&self) -> impl Iterator<Item = Result<Message<'a>, ParseError>> + '_ {
        self.members.iter().map(|text| message(text, &self.limits))
    }
}

/// Parses one frame.
///
/// Keys of the envelope are case-sensitive, and a duplicate key is an error. Ids are strings or integers. Unknown members of the
/// envelope are skipped.
///
/// # Errors
/// The text is not JSON, is not a message, or exceeds a limit. The error has the id, if it could
/// be read.
pub fn parse<'a>(frame: &'a [u8], limits: &Limits) -> Result<Frame<'a>, ParseError> {
    parse_measured(frame, limits, &mut TreeSize::default())
}

/// Like [`parse`], and sets `size` to the size of the frame.
///
/// # Errors
/// The same as for [`parse`]; `size` is then unchanged.
#[inline]
pub fn parse_measured<'a>(
    frame: &'a [u8],
    limits: &Limits,
    size: &mut TreeSize,
) -> Result<Frame<'a>, ParseError> {
    let text = std::str::from_utf8(frame).map_err(|error| {
        let at = error.valid_up_to();
        let error = ParseError::new(ParseErrorKind::Syntax, at, "frame is not valid UTF-8");
        named(error, frame, limits)
    })?;
    let mut scan = Scanner::new(text, limits);
    scan.space();
    let parsed = match scan.peek() {
        Some(b'[') => batch(&mut scan, limits).map(Frame::Batch),
        _ => single(&mut scan, limits).map(Frame::Single),
    };
    if parsed.is_ok() {
        *size = scan.size();
    }
    parsed
}

/// Parses one message of a batch.
fn message<'a>(text: &'a str, limits: &Limits) -> Result<Message<'a>, ParseError> {
    single(&mut Scanner::new(text, limits), limits)
}

fn invalid(offset: usize, message: impl Into<Cow<'static, str>>) -> ParseError {
    ParseError::new(ParseErrorKind::Invalid, offset, message)
}

fn batch<'a>(scan: &mut Scanner<'a>, limits: &Limits) -> Result<Batch<'a>, ParseError> {
    let mut members = Vec::new();
    scan.open()?;
    while scan.element()? {
        if members.len() >= limits.batch {
            return Err(ParseError::new(
                ParseErrorKind::Limit,
                scan.at,
                format!("batch exceeds the limit of {} messages", limits.batch),
            ));
        }
        members.push(scan.value()?);
    }
    scan.end()?;
    if members.is_empty() {
        return Err(invalid(0, "empty batch"));
    }
    Ok(Batch {
        members,
        limits: *limits,
    })
}

fn single<'a>(scan: &mut Scanner<'a>, limits: &Limits) -> Result<Message<'a>, ParseError> {
    let mut parts = Parts::default();
    let read = read(scan, limits, &mut parts);
    let message = match read.and_then(|()| parts.fault.take().map_or(Ok(()), Err)) {
        Ok(()) => parts.classify(),
        Err(error) => Err(error.with_id(parts.id)),
    };
    message.map_err(|error| named(error, scan.text().as_bytes(), limits))
}

/// Adds the kind of message to the error for a frame. If the error has no id yet, also adds the id.
#[cold]
fn named(error: ParseError, frame: &[u8], limits: &Limits) -> ParseError {
    let outline = Outline::of(frame, limits);
    let kind = error.kind();
    let shape = match (outline.has_method, outline.has_outcome) {
        (false, true) => Shape::Response,
        (true, false) if outline.has_id => Shape::Request,
        // Text that is not JSON may have an id that was not found.
        (true, false) if matches!(kind, ParseErrorKind::Invalid | ParseErrorKind::Limit) => {
            Shape::Notification
        }
        (true, false) => Shape::Request,
        _ => Shape::Unknown,
    };
    // For a request that is not JSON, only an id before the position of the error is used. For a
    // response that is not JSON, the id of the outline is used, because a truncated id is omitted there.
    let is_response = shape == Shape::Response;
    let is_whole = is_response || matches!(kind, ParseErrorKind::Limit | ParseErrorKind::TooLong);
    let known = error.id().cloned();
    let known = known.filter(|_| !is_response || kind != ParseErrorKind::Syntax);
    let id = known.or(outline.id.filter(|_| is_whole));
    error.with_id(id).with_shape(shape)
}

fn read<'a>(
    scan: &mut Scanner<'a>,
    limits: &Limits,
    parts: &mut Parts<'a>,
) -> Result<(), ParseError> {
    scan.space();
    if scan.peek() != Some(b'{') {
        let start = scan.at;
        scan.value()?;
        scan.end()?;
        return Err(invalid(start, "a message must be a JSON object"));
    }
    scan.open()?;
    while let Some(key) = scan.member(b'}')? {
        let start = scan.at;
        let value = match key.raw {
            "params" if scan.peek() == Some(b'{') => params(scan, &mut parts.index),
            _ => scan.value(),
        };
        if let Err(fault) = parts.take(key, value?, start, limits) {
            // Continue: the rest must be valid JSON too, and the id may follow.
            parts.fault.get_or_insert(fault);
        }
    }
    scan.end()
}

/// Skips the params, which must be an object, and records their members in `index`. Returns the text of the params.
fn params<'a>(scan: &mut Scanner<'a>, index: &mut MemberIndex<'a>) -> Result<&'a str, ParseError> {
    let start = scan.at;
    scan.open()?;
    while let Some(key) = scan.member(b'}')? {
        let value = match key.raw {
            META if !index.meta.is_empty() => {
                index.meta.invalidate();
                scan.value()?
            }
            META if scan.peek() == Some(b'{') => meta(scan, index)?,
            _ => scan.value()?,
        };
        index.params.push(key.raw, value);
    }
    Ok(scan.slice(start))
}

fn meta<'a>(scan: &mut Scanner<'a>, index: &mut MemberIndex<'a>) -> Result<&'a str, ParseError> {
    let start = scan.at;
    scan.open()?;
    while let Some(key) = scan.member(b'}')? {
        let value = scan.value()?;
        index.meta.push(key.raw, value);
    }
    Ok(scan.slice(start))
}

/// The members of an envelope that the parser has read so far.
#[derive(Debug, Default)]
struct Parts<'a> {
    version: bool,
    id_seen: bool,
    id: Option<RequestId>,
    null_id: bool,
    method: Option<Cow<'a, str>>,
    params: Option<&'a str>,
    index: MemberIndex<'a>,
    result: Option<&'a str>,
    error: Option<&'a str>,
    fault: Option<ParseError>,
}

impl<'a> Parts<'a> {
    fn take(
        &mut self,
        key: Text<'a>,
        value: &'a str,
        at: usize,
        limits: &Limits,
    ) -> Result<(), ParseError> {
        let name = unescape(key);
        let twice = |seen: bool| {
            if seen {
                Err(invalid(at, format!("duplicate member \"{name}\"")))
            } else {
                Ok(())
            }
        };
        match &*name {
            "jsonrpc" => {
                twice(self.version)?;
                if value != "\"2.0\"" {
                    return Err(invalid(at, "member \"jsonrpc\" must be \"2.0\""));
                }
                self.version = true;
            }
            "id" => {
                if self.id_seen {
                    self.id = None;
                    return twice(true);
                }
                self.id_seen = true;
                if value == "null" {
                    self.null_id = true;
                } else {
                    self.id = Some(read_id(value, at, limits)?);
                }
            }
            "method" => {
                twice(self.method.is_some())?;
                self.method = Some(
                    read_string(value)
                        .ok_or_else(|| invalid(at, "member \"method\" must be a string"))?,
                );
            }
            "params" => {
                twice(self.params.is_some())?;
                self.params = Some(value);
            }
            "result" => {
                twice(self.result.is_some())?;
                self.result = Some(value);
            }
            "error" => {
                twice(self.error.is_some())?;
                self.error = Some(value);
            }
            _ => {}
        }
        Ok(())
    }

    fn classify(mut self) -> Result<Message<'a>, ParseError> {
        // JSON-RPC 1.0 writes both `result` and `error`. The member that is null counts as absent.
        match (self.result, self.error) {
            (Some(_), Some("null")) => self.error = None,
            (Some("null"), Some(_)) => self.result = None,
            _ => {}
        }
        // Languages without a type for objects write an empty object as `[]`.
        let is_absent = |params: &str| params == "null" || is_empty_array(params);
        self.params = self.params.filter(|params| !is_absent(params));
        let fault = match (&self.method, self.result, self.error) {
            _ if !self.version => Some("member \"jsonrpc\" is missing"),
            (Some(_), None, None) if self.null_id => Some("a request id may not be null"),
            (Some(_), None, None) => match self.params {
                Some(params) if !params.starts_with('{') => {
                    Some("member \"params\" must be an object")
                }
                _ => None,
            },
            (None, Some(_), None) if self.id.is_none() => Some("a result needs an id"),
            (None, Some(_), None) | (None, None, Some(_)) => None,
            (None, None, None) => Some("message has neither method, result nor error"),
            (None, Some(_), Some(_)) => Some("message has both result and error"),
            (Some(_), _, _) => Some("message has both a method and a result or an error"),
        };
        if let Some(fault) = fault {
            return Err(invalid(0, fault).with_id(self.id));
        }
        let params = self.params;
        match (self.method, self.id) {
            (Some(method), Some(id)) => Ok(Message::Request(Request {
                id,
                method,
                params,
                index: self.index,
            })),
            (Some(method), None) => Ok(Message::Notification(Notification { method, params })),
            (None, id) => {
                let outcome = match (self.result, self.error) {
                    (Some(result), _) => Ok(result),
                    (None, error) => {
                        let error = read_error(error.unwrap_or("null"));
                        Err(error.map_err(|error| error.with_id(id.clone()))?)
                    }
                };
                Ok(Message::Response(Response { id, outcome }))
            }
        }
    }
}

fn unescape<'a>(text: Text<'a>) -> Cow<'a, str> {
    if text.escaped {
        member_name(text.raw)
    } else {
        Cow::Borrowed(text.raw)
    }
}

/// Returns the string that a JSON text denotes. Does not copy a string without escapes. Returns `None` if the text is not a
/// string. The text must be valid JSON.
pub fn read_string(value: &str) -> Option<Cow<'_, str>> {
    let raw = value.strip_prefix('"')?.strip_suffix('"')?;
    Some(unescape(Text {
        raw,
        escaped: has_escape(raw),
    }))
}

pub(crate) fn read_id(value: &str, at: usize, limits: &Limits) -> Result<RequestId, ParseError> {
    if let Some(text) = read_string(value) {
        if text.len() > limits.id_bytes {
            return Err(ParseError::new(
                ParseErrorKind::Limit,
                at,
                format!("request id exceeds the limit of {} bytes", limits.id_bytes),
            ));
        }
        return Ok(RequestId::String(text.into()));
    }
    // "-0" would be echoed as "0".
    match value.parse() {
        Ok(number) if value != "-0" => Ok(RequestId::Number(number)),
        _ => Err(invalid(
            at,
            "request id must be a string or a 64-bit integer",
        )),
    }
}

fn read_error(value: &str) -> Result<ErrorObject, ParseError> {
    crate::decode(value).or_else(|error| {
        ErrorObject::repaired(value)
            .ok_or_else(|| invalid(0, format!("malformed error object: {error}")))
    })
}

impl ParseError {
    /// Creates the error for a frame that was too long to be read. `head` is the start of the frame. The error contains the id
    /// and the kind of message if they can be read from `head`. `setting` is the name of the setting that contains the limit.
    pub fn too_long(head: &[u8], limit: usize, setting: &str) -> Self {
        let message = format!("a message is longer than {limit} bytes, the limit of {setting}");
        let error = Self::new(ParseErrorKind::TooLong, head.len(), message);
        named(error, head, &Limits::default())
    }

    /// Returns errors for the additional messages in `frame`, in which only one message is allowed. Returns at most 16 errors.
    pub fn following(&self, frame: &[u8], limits: &Limits) -> Vec<Self> {
        let mut errors = Vec::new();
        let mut rest = frame.get(self.offset()..).unwrap_or_default();
        while self.kind() == ParseErrorKind::Syntax && rest.starts_with(b"{") && errors.len() < 16 {
            errors.push(named(self.clone().with_id(None), rest, limits));
            let end = Outline::of(rest, limits).end;
            rest = rest.get(end..).unwrap_or_default().trim_ascii_start();
        }
        errors
    }
}
