//! Decoding of raw JSON text into types, with the JSON pointer of each error.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};

use crate::scan::Scanner;
use crate::{ErrorObject, Limits, ParseError};

/// Error of `decode`: the JSON pointer of the value that does not fit, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<Parts>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts {
    pointer: String,
    message: String,
}

impl DecodeError {
    /// Creates an error from a JSON pointer and a message.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            pointer: pointer.into(),
            message: message.into(),
        }))
    }

    /// Returns the JSON pointer (RFC 6901) of the value that does not fit; empty for the whole text.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// Returns the found and the expected value, without the pointer.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.pointer.is_empty() {
            f.write_str(&self.0.message)
        } else {
            write!(f, "{}: {}", self.0.pointer, self.0.message)
        }
    }
}

impl std::error::Error for DecodeError {}

/// Decodes JSON text.
///
/// # Errors
/// The text does not fit `T`. The pointer is found in a second pass, which runs only after an
/// error.
#[inline]
pub fn decode<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(text).map_err(|error| explain(text, &error))
}

/// Decodes the params of a request or notification. Missing params are `{}`.
///
/// # Errors
/// An [`ErrorCode::INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS) error with the JSON pointer of the invalid value, and the reason.
pub fn decode_params<'a, T: Deserialize<'a>>(params: Option<&'a str>) -> Result<T, ErrorObject> {
    decode(params.unwrap_or("{}")).map_err(ErrorObject::malformed_params)
}

/// Decodes JSON text into a type that does not borrow from it. A value can have the right JSON type and be rejected afterwards,
/// for example by `TryFrom`. Unlike [`decode`], this function finds the pointer of such a value even if it is the last value of
/// its object or array.
///
/// # Errors
/// The errors of [`decode`].
pub fn decode_owned<T: DeserializeOwned>(text: &str) -> Result<T, DecodeError> {
    serde_json::from_str(text).map_err(|error| {
        let error = explain(text, &error);
        // The decoder reports such an error at the end of the object. With one more member, it reports it before that member.
        let again = with_one_more(text, error.pointer()).and_then(|(longer, end)| {
            let again = serde_json::from_str::<T>(&longer).err()?;
            (offset(&longer, &again, error.message()) <= end).then(|| explain(&longer, &again))
        });
        again
            .filter(|again| again.message() == error.message())
            .unwrap_or(error)
    })
}

/// Nesting depth of a document. It is larger than for messages, because records of stores wrap values of messages. serde_json
/// decodes 127 levels.
const DOCUMENT_DEPTH: usize = 120;

/// Decodes a JSON document that is not part of a message. Examples are a file, a record of a store, a response of a web server,
/// and JSON in the text of a tool's result. The document has the default [`Limits`] of a message, except for the depth, which is
/// 120.
///
/// # Errors
/// The text is not JSON, exceeds a limit, or does not fit `T`.
pub fn decode_document<T: DeserializeOwned>(
    text: impl AsRef<[u8]>,
) -> Result<T, serde_json::Error> {
    let text = str::from_utf8(text.as_ref()).map_err(serde_json::Error::custom)?;
    let limits = Limits::default().with_depth(DOCUMENT_DEPTH);
    let mut scan = Scanner::new(text, &limits);
    scan.space();
    if let Err(error) = scan.value().and_then(|_| scan.end()) {
        // The decoder knows the line and the column of a syntax error.
        serde_json::from_str::<IgnoredAny>(text)?;
        return Err(serde_json::Error::custom(error));
    }
    serde_json::from_str(text)
}

/// Adds one member or item to the object or array at `pointer`. Returns the new text, and the position before that member; `None`
/// if there is no member yet.
#[cold]
fn with_one_more(text: &str, pointer: &str) -> Option<(String, usize)> {
    let limits = Limits::default().with_depth(Limits::MAX_DEPTH);
    let (mut start, mut value) = (0, text);
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        let (at, member) = children(value, &limits)
            .find(|(key, ..)| *key == name)
            .map(|(_, at, member)| (at, member))?;
        (start, value) = (start + at, member);
    }
    let (_, at, last) = children(value, &limits).last()?;
    let end = start + at + last.len();
    let more = match value.trim_start().starts_with('{') {
        true => ",\"\":0",
        false => ",0",
    };
    Some((format!("{}{more}{}", &text[..end], &text[end..]), end))
}

/// Finds the pointer and shortens the message. This function does not depend on the type. It runs only after an error.
#[cold]
#[inline(never)]
pub(crate) fn explain(text: &str, error: &serde_json::Error) -> DecodeError {
    let full = error.to_string();
    let message = match full.rfind(" at line ") {
        Some(end) if error.line() > 0 => &full[..end],
        _ => &full,
    };
    DecodeError::new(
        pointer(text, offset(text, error, message)),
        shorten(message),
    )
}

/// Removes the middle of a message that quotes too much of the decoded text.
fn shorten(message: &str) -> String {
    const SIDE: usize = 100;
    let length = message.chars().count();
    if length <= 2 * SIDE + 1 {
        return message.to_owned();
    }
    let head: String = message.chars().take(SIDE).collect();
    let tail: String = message.chars().skip(length - SIDE).collect();
    format!("{head}…{tail}")
}

fn offset(text: &str, error: &serde_json::Error, message: &str) -> usize {
    let line: usize = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1))
        .map(str::len)
        .sum();
    let offset = (line + error.column()).min(text.len());
    // An object or array of the wrong type has not been read.
    let is_unread = |kind| message.starts_with(kind);
    if ["invalid type: map", "invalid type: sequence"]
        .into_iter()
        .any(is_unread)
    {
        return (offset + 1).min(text.len());
    }
    // The decoder may have read the comma after the value, and the white space before it.
    let before = text.get(..offset).unwrap_or_default().trim_end();
    before.strip_suffix(',').unwrap_or(before).trim_end().len()
}

/// Returns the pointer of the innermost value whose text contains `offset`.
fn pointer(text: &str, offset: usize) -> String {
    let limits = Limits::default().with_depth(Limits::MAX_DEPTH);
    let mut out = String::new();
    let (mut text, mut offset) = (text, offset);
    while let Some((key, start, value)) = child(text, offset, &limits) {
        out.push('/');
        out.push_str(&key.replace('~', "~0").replace('/', "~1"));
        (text, offset) = (value, offset - start);
    }
    out
}

/// Returns the key, the start and the text of the container member that contains `offset`.
fn child<'a>(text: &'a str, offset: usize, limits: &Limits) -> Option<(String, usize, &'a str)> {
    children(text, limits)
        .take_while(|(_, start, _)| offset > *start)
        .find(|(_, start, value)| offset <= start + value.len())
}

/// Iterates over the members of an object or the items of an array: key or index, start and text. Ends at the first error.
fn children<'a>(text: &'a str, limits: &Limits) -> impl Iterator<Item = (String, usize, &'a str)> {
    let mut scan = Scanner::new(text, limits);
    scan.space();
    let is_array = scan.peek() == Some(b'[');
    let mut open = matches!(scan.peek(), Some(b'{' | b'[')) && scan.open().is_ok();
    let mut index = 0_usize;
    std::iter::from_fn(move || {
        if !std::mem::take(&mut open) {
            return None;
        }
        let key = if is_array {
            scan.element().ok()?.then(|| index.to_string())?
        } else {
            scan.member(b'}').ok()??.raw.to_owned()
        };
        index += 1;
        let start = scan.at;
        let value = scan.value().ok()?;
        open = true;
        Some((key, start, value))
    })
}

/// Returns whether the JSON text is an array without items.
pub fn is_empty_array(value: &str) -> bool {
    let inside = value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|inside| inside.trim().is_empty())
}

/// Iterates over the members of an object without building it: key and raw text of each, in
/// order. A duplicate key is not an error; the iterator returns both members. A key is raw text too: compare it with [`is_member`].
///
/// # Errors
/// The iterator ends with an error if the text is not an object.
pub fn members(text: &str) -> Members<'_> {
    Members { text, at: None }
}

/// Returns whether the raw text of a key, as [`members`] returns it, is this name. The text may have escapes: some JSON libraries
/// write `/` as `\/`.
///
/// ```
/// use mcp_jsonrpc::is_member;
///
/// assert!(is_member(r"example.com\/key", "example.com/key"));
/// ```
#[inline]
pub fn is_member(key: &str, name: &str) -> bool {
    key == name || key.len() > name.len() && has_escape(key) && *member_name(key) == *name
}

/// Returns the name of a member from the raw text of its key, as [`members`] returns it.
#[inline]
pub fn member_name(key: &str) -> Cow<'_, str> {
    if has_escape(key) {
        // The text is a valid string without its quotes.
        serde_json::from_str(&format!("\"{key}\"")).map_or(Cow::Borrowed(key), Cow::Owned)
    } else {
        Cow::Borrowed(key)
    }
}

/// Returns whether the raw text of a string has an escape. Faster than a search for a `char`, because most strings are short.
#[inline]
pub(crate) fn has_escape(raw: &str) -> bool {
    raw.as_bytes().contains(&b'\\')
}

/// Iterator returned by [`members`].
#[derive(Debug, Clone)]
pub struct Members<'a> {
    text: &'a str,
    at: Option<usize>,
}

impl<'a> Iterator for Members<'a> {
    type Item = Result<(&'a str, &'a str), ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        let limits = Limits::default();
        let mut scan = Scanner::new(self.text, &limits);
        let step = (|| {
            match self.at {
                None => {
                    scan.space();
                    if scan.peek() != Some(b'{') {
                        return Err(scan.syntax("expected an object"));
                    }
                    scan.open()?;
                }
                Some(at) => scan.resume(at),
            }
            let Some(key) = scan.member(b'}')? else {
                return Ok(None);
            };
            let value = scan.value()?;
            self.at = Some(scan.at);
            Ok(Some((key.raw, value)))
        })();
        if !matches!(step, Ok(Some(_))) {
            self.text = "{}";
            self.at = Some(1);
        }
        step.transpose()
    }
}
