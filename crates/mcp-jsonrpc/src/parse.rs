//! From bytes to a classified message, in one pass.

use std::borrow::Cow;

use crate::error::Shape;
use crate::message::{META, Message, Notification, Request, Response, Seen};
use crate::scan::{Scanner, Text};
use crate::{ErrorObject, Limits, ParseError, ParseErrorKind, RequestId};

/// One frame: a message, or a batch of them (2025-03-26 only).
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON-RPC allows no other frame")]
#[expect(
    clippy::large_enum_variant,
    reason = "what was noted of a request lives on the stack, for as long as it is served"
)]
pub enum Frame<'a> {
    /// A single message.
    Single(Message<'a>),
    /// An array of messages; its members are parsed one by one on iteration.
    Batch(Batch<'a>),
}

/// A batch whose text was checked; iterating parses the members.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch<'a> {
    members: Vec<&'a str>,
    limits: Limits,
}

impl<'a> Batch<'a> {
    /// How many members it has; never zero.
    #[expect(clippy::len_without_is_empty, reason = "an empty batch is refused")]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The members in order. A broken member is an error of its own and spoils no other.
    pub fn iter(&self) -> impl Iterator<Item = Result<Message<'a>, ParseError>> + '_ {
        self.members.iter().map(|text| message(text, &self.limits))
    }
}

/// Parses one frame.
///
/// Keys of the envelope are exact and case-sensitive, and none may stand twice. Ids are strings
/// or integers. Members the envelope does not know are skipped.
///
/// # Errors
/// Text that is not JSON, JSON that is not a message, or a frame beyond a limit. The error has
/// the id where one could be read.
pub fn parse<'a>(frame: &'a [u8], limits: &Limits) -> Result<Frame<'a>, ParseError> {
    let text = std::str::from_utf8(frame).map_err(|error| {
        ParseError::new(
            ParseErrorKind::Syntax,
            error.valid_up_to(),
            "frame is not valid UTF-8",
        )
    })?;
    let mut scan = Scanner::new(text, limits);
    scan.space();
    match scan.peek() {
        Some(b'[') => batch(scan, limits).map(Frame::Batch),
        _ => single(scan, limits).map(Frame::Single),
    }
}

/// Parses one member of a batch.
fn message<'a>(text: &'a str, limits: &Limits) -> Result<Message<'a>, ParseError> {
    single(Scanner::new(text, limits), limits)
}

fn invalid(offset: usize, message: impl Into<Cow<'static, str>>) -> ParseError {
    ParseError::new(ParseErrorKind::Invalid, offset, message)
}

fn batch<'a>(mut scan: Scanner<'a>, limits: &Limits) -> Result<Batch<'a>, ParseError> {
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

fn single<'a>(mut scan: Scanner<'a>, limits: &Limits) -> Result<Message<'a>, ParseError> {
    let mut parts = Parts::default();
    let read = read(&mut scan, limits, &mut parts);
    match read.and_then(|()| parts.fault.take().map_or(Ok(()), Err)) {
        Ok(()) => parts.classify(),
        Err(error) => {
            if error.kind() == ParseErrorKind::Limit && parts.id.is_none() {
                parts.id = find_id(scan.rest(), scan.depth(), limits);
            }
            let shape = parts.shape(&error);
            Err(error.with_id(parts.id).with_shape(shape))
        }
    }
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
            "params" if scan.peek() == Some(b'{') => params(scan, &mut parts.seen)?,
            _ => scan.value()?,
        };
        if let Err(fault) = parts.take(key, value, start, limits) {
            // The grammar of the rest still counts, and the id may be yet to come.
            parts.fault.get_or_insert(fault);
        }
    }
    scan.end()
}

/// Skips the params, an object, and takes note of their members.
fn params<'a>(scan: &mut Scanner<'a>, seen: &mut Seen<'a>) -> Result<&'a str, ParseError> {
    let start = scan.at;
    scan.open()?;
    while let Some(key) = scan.member(b'}')? {
        let value = match key.raw {
            META if !seen.meta.is_empty() => {
                seen.meta.spoil();
                scan.value()?
            }
            META if scan.peek() == Some(b'{') => meta(scan, seen)?,
            _ => scan.value()?,
        };
        seen.params.note(key.raw, value);
    }
    Ok(scan.slice(start))
}

fn meta<'a>(scan: &mut Scanner<'a>, seen: &mut Seen<'a>) -> Result<&'a str, ParseError> {
    let start = scan.at;
    scan.open()?;
    while let Some(key) = scan.member(b'}')? {
        let value = scan.value()?;
        seen.meta.note(key.raw, value);
    }
    Ok(scan.slice(start))
}

/// The members of an envelope as they come.
#[derive(Debug, Default)]
struct Parts<'a> {
    version: bool,
    id_seen: bool,
    id: Option<RequestId>,
    null_id: bool,
    method: Option<Cow<'a, str>>,
    params: Option<&'a str>,
    seen: Seen<'a>,
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
                Err(invalid(at, format!("member \"{name}\" stands twice")))
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

    /// What a frame with a fault was meant to be.
    fn shape(&self, error: &ParseError) -> Shape {
        if error.kind() == ParseErrorKind::Syntax {
            return Shape::Unknown;
        }
        match (&self.method, self.result.or(self.error)) {
            (None, Some(_)) => Shape::Response,
            (Some(_), None) if !self.id_seen && self.id.is_none() => Shape::Notification,
            _ => Shape::Unknown,
        }
    }

    fn classify(self) -> Result<Message<'a>, ParseError> {
        let fault = match (&self.method, self.result, self.error) {
            _ if !self.version => Some("member \"jsonrpc\" is missing"),
            (Some(_), None, None) if self.null_id => Some("a request id may not be null"),
            (Some(_), None, None) => match self.params {
                Some(params) if params != "null" && !params.starts_with('{') => {
                    Some("member \"params\" must be an object")
                }
                _ => None,
            },
            (None, Some(_), None) if self.id.is_none() => Some("a result needs an id"),
            (None, Some(_), None) | (None, None, Some(_)) => None,
            (None, None, None) => Some("message has neither method, result nor error"),
            (None, Some(_), Some(_)) => Some("message has both result and error"),
            (Some(_), _, _) => Some("message has both a method and an answer"),
        };
        if let Some(fault) = fault {
            let error = invalid(0, fault);
            let shape = self.shape(&error);
            return Err(error.with_id(self.id).with_shape(shape));
        }
        let params = self.params.filter(|params| *params != "null");
        match (self.method, self.id) {
            (Some(method), Some(id)) => Ok(Message::Request(Request {
                id,
                method,
                params,
                seen: self.seen,
            })),
            (Some(method), None) => Ok(Message::Notification(Notification { method, params })),
            (None, id) => {
                let outcome = match (self.result, self.error) {
                    (Some(result), _) => Ok(result),
                    (None, error) => Err(read_error(error.unwrap_or("null"))
                        .map_err(|e| e.with_id(id.clone()).with_shape(Shape::Response))?),
                };
                Ok(Message::Response(Response { id, outcome }))
            }
        }
    }
}

fn unescape<'a>(text: Text<'a>) -> Cow<'a, str> {
    if text.escaped {
        serde_json::from_str::<String>(&format!("\"{}\"", text.raw))
            .map_or(Cow::Borrowed(text.raw), Cow::Owned)
    } else {
        Cow::Borrowed(text.raw)
    }
}

/// The string behind its JSON text, borrowed where it holds no escape; `None` if the text is no
/// string. The text was checked before.
pub fn read_string(value: &str) -> Option<Cow<'_, str>> {
    let raw = value.strip_prefix('"')?.strip_suffix('"')?;
    Some(unescape(Text {
        raw,
        escaped: raw.contains('\\'),
    }))
}

fn read_id(value: &str, at: usize, limits: &Limits) -> Result<RequestId, ParseError> {
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
    // "-0" has no integer spelling of its own and could not be echoed.
    match value.parse() {
        Ok(number) if value != "-0" => Ok(RequestId::Number(number)),
        _ => Err(invalid(
            at,
            "request id must be a string or a 64-bit integer",
        )),
    }
}

fn read_error(value: &str) -> Result<ErrorObject, ParseError> {
    crate::decode(value).map_err(|error| invalid(0, format!("malformed error object: {error}")))
}

impl ParseError {
    /// The error for a frame that was too long to be read, from how it began. The id and the
    /// kind of message are told where the head shows them.
    pub fn too_long(head: &[u8], limit: usize) -> Self {
        let message = format!("the message is longer than {limit} bytes, the limit");
        let (id, shape) = peek_head(head);
        Self::new(ParseErrorKind::Syntax, head.len(), message)
            .with_id(id)
            .with_shape(shape)
    }
}

/// What the first bytes of a message tell of it: its id and its kind.
fn peek_head(head: &[u8]) -> (Option<RequestId>, Shape) {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default(),
    };
    let limits = Limits::default();
    let mut parts = Parts::default();
    let mut scan = Scanner::new(text, &limits);
    scan.space();
    if scan.peek() != Some(b'{') || scan.open().is_err() {
        return (None, Shape::Unknown);
    }
    while let Ok(Some(key)) = scan.member(b'}') {
        // The key whose value is cut off still tells the kind of message.
        let known = matches!(key.raw, "result" | "error" | "params");
        let value = scan.value().unwrap_or("null");
        if parts.take(key, value, scan.at, &limits).is_err() || (known && value == "null") {
            break;
        }
    }
    let shape = match (&parts.method, parts.result.or(parts.error)) {
        (None, Some(_)) => Shape::Response,
        _ => Shape::Unknown,
    };
    (parts.id, shape)
}

/// Looks for the id of an envelope that broke a limit: a flat walk over the rest of the text
/// that counts brackets and builds nothing.
fn find_id(rest: &str, mut depth: usize, limits: &Limits) -> Option<RequestId> {
    let (bytes, mut at) = (rest.as_bytes(), 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => {
                let end = string_end(bytes, at)?;
                if depth == 1 && &bytes[at..end] == b"\"id\"" {
                    let mut scan = Scanner::new(rest.get(end..)?, limits);
                    scan.space();
                    scan.expect(b':', "expected ':'").ok()?;
                    scan.space();
                    return read_id(scan.value().ok()?, end, limits).ok();
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn string_end(bytes: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}
