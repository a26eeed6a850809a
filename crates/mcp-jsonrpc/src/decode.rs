//! Decoding of raw JSON text into types. Each error has the JSON pointer of the invalid value.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny};

use crate::scan::Scanner;
use crate::{ErrorObject, Limits, ParseError};

/// The error of `decode`: the JSON pointer of the value that does not match its type, and the reason.
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

    /// Returns the JSON pointer (RFC 6901) of the value that does not match its type. The pointer is empty if this is the whole
    /// text.
    pub fn pointer(&self) -> &str {
        &self.0.pointer
    }

    /// Returns the description of the found and the expected value, without the pointer.
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
/// The text does not match `T`. The pointer is found in a second pass, which runs only after an error.
#[inline]
pub fn decode<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(text).map_err(|error| explain(text, &error))
}

/// Decodes the params of a request or notification. Missing params are treated as `{}`.
///
/// # Errors
/// An [`ErrorCode::INVALID_PARAMS`](crate::ErrorCode::INVALID_PARAMS) error with the JSON pointer of the invalid value, and the reason.
pub fn decode_params<'a, T: Deserialize<'a>>(params: Option<&'a str>) -> Result<T, ErrorObject> {
    decode(params.unwrap_or("{}")).map_err(ErrorObject::malformed_params)
}

/// Decodes JSON text into a type that does not borrow from it. A value with the correct JSON type can still be rejected, for
/// example by `TryFrom`. Unlike [`decode`], this function finds the pointer of such a value even if the value is the last member
/// of its object or array.
///
/// # Errors
/// The errors of [`decode`].
pub fn decode_owned<T: DeserializeOwned>(text: &str) -> Result<T, DecodeError> {
    serde_json::from_str(text).map_err(|error| {
        let error = explain(text, &error);
        // The decoder reports the error of a last member at the end of the object. If one more member follows, the decoder
        // reports the error before that member, and the pointer can be found.
        let again = with_one_more(text, error.pointer()).and_then(|(longer, end)| {
            let again = serde_json::from_str::<T>(&longer).err()?;
            (offset(&longer, &again, error.message()) <= end).then(|| explain(&longer, &again))
        });
        again
            .filter(|again| again.message() == error.message())
            .unwrap_or(error)
    })
}

/// Maximum nesting depth of a document. It is larger than the limit for messages, because records in stores contain values from
/// messages. serde_json decodes at most 127 levels.
const DOCUMENT_DEPTH: usize = 120;

/// Decodes a JSON document that is not part of a message. Examples are a file, a record in a store, a response from a web server,
/// and JSON in the text of a tool result. The default [`Limits`] apply, except that the maximum depth is 120.
///
/// # Errors
/// The text is not JSON, exceeds a limit, or does not match `T`.
pub fn decode_document<T: DeserializeOwned>(
    text: impl AsRef<[u8]>,
) -> Result<T, serde_json::Error> {
    let text = str::from_utf8(text.as_ref()).map_err(serde_json::Error::custom)?;
    let limits = Limits::default().with_depth(DOCUMENT_DEPTH);
    let mut scan = Scanner::new(text, &limits);
    scan.space();
    if let Err(error) = scan.value().and_then(|_| scan.end()) {
        // For a syntax error, return the error of serde_json, which has the line and the column.
        serde_json::from_str::<IgnoredAny>(text)?;
        return Err(serde_json::Error::custom(error));
    }
    serde_json::from_str(text)
}

/// Adds one member or item to the object or array at `pointer`. Returns the new text and the position before the new member.
/// Returns `None` if the object or array is empty.
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

/// Adds the JSON pointer to an error of serde_json, and shortens its message. This function is not generic, and runs only after
/// an error.
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

/// Removes the middle of an error message that quotes too much of the decoded text.
fn shorten(message: &str) -> String {
    const SIDE: usize = 150;
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
    // For an object or array of the wrong type, the decoder reports the position before the value.
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

/// Returns the member or item that contains `offset`: its key or index, its start position and its text.
fn child<'a>(text: &'a str, offset: usize, limits: &Limits) -> Option<(String, usize, &'a str)> {
    children(text, limits)
        .take_while(|(_, start, _)| offset > *start)
        .find(|(_, start, value)| offset <= start + value.len())
}

/// Iterates over the members of an object or the items of an array. Each item is the key or index, the start position and the
/// text. Ends at the first error.
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

/// Iterates over the members of an object in order, without building the object. Each item is the key and the value, both as raw
/// JSON text. A duplicate key is not an error: the iterator returns both members. Compare a key with [`is_member`], because it
/// may contain escapes.
///
/// # Errors
/// The iterator ends with an error if the text is not an object.
pub fn members(text: &str) -> Members<'_> {
    Members { text, at: None }
}

/// Returns whether `key`, a raw key from [`members`], has this name. The key may contain escapes: some JSON libraries write `/`
/// as `\/`.
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

/// Returns the name that a raw key from [`members`] denotes.
#[inline]
pub fn member_name(key: &str) -> Cow<'_, str> {
    if has_escape(key) {
        // The text is a valid string without its quotes.
        serde_json::from_str(&format!("\"{key}\"")).map_or(Cow::Borrowed(key), Cow::Owned)
    } else {
        Cow::Borrowed(key)
    }
}

/// Returns whether the raw text of a string contains an escape. For short strings, this function is faster than a search for a
/// `char`.
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
