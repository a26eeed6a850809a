//! The result of a request before it is serialized.

mod result_meta;

use std::fmt;
use std::mem;
use std::sync::Arc;

use mcp_jsonrpc::{ErrorObject, ResultTail, is_member, members};
use mcp_types::CallToolResult;
use serde::Serialize;

pub(crate) use result_meta::is_cacheable;
pub use result_meta::{CacheHint, CacheScope, ResultMeta};

/// The result of a request, or its error.
pub type Outcome = Result<Payload, ErrorObject>;

/// The result of a request. It is serialized directly into the output buffer.
#[non_exhaustive]
pub enum Payload {
    /// `{}`.
    Empty,
    /// The result of a tool call, with its result metadata. This is a separate variant without a box, because tool calls are the
    /// most frequent requests.
    CallTool(CallToolResult, Option<Arc<ResultMeta>>),
    /// A result that is serialized once and sent many times, such as a list.
    Shared(SharedText),
    /// Any other serializable value.
    Boxed(Box<dyn WriteJson>),
    /// A result together with the result metadata of the stateless revision.
    WithMeta(Box<Self>, Arc<ResultMeta>),
}

impl Payload {
    /// Creates a payload that serializes `value` when it is sent.
    pub fn of<T: Serialize + Send + Sync + 'static>(value: T) -> Self {
        Self::Boxed(Box::new(value))
    }

    /// Adds result metadata.
    pub(crate) fn add_result_meta(&mut self, meta: Arc<ResultMeta>) {
        match self {
            Self::CallTool(_, none @ None) => *none = Some(meta),
            _ => {
                let result = mem::replace(self, Self::Empty);
                *self = Self::WithMeta(Box::new(result), meta);
            }
        }
    }

    /// Returns whether the payload certainly contains no line breaks. Does not scan the payload.
    pub(crate) fn is_one_line(&self) -> bool {
        match self {
            Self::Empty | Self::Shared(_) => true,
            Self::WithMeta(inner, _) => inner.is_one_line(),
            Self::CallTool(..) | Self::Boxed(_) => false,
        }
    }

    /// Returns the shared text and its result metadata, if this payload is a shared text. A transport
    /// can send the tail of the text without copying it.
    pub fn shared(&self) -> Option<(&SharedText, Option<&ResultMeta>)> {
        match self {
            Self::Shared(text) => Some((text, None)),
            Self::WithMeta(inner, meta) => match &**inner {
                Self::Shared(text) => Some((text, Some(meta))),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns whether the payload is the result of a tool that failed (`isError`).
    pub fn is_tool_error(&self) -> bool {
        match self {
            Self::CallTool(result, _) => result.is_error == Some(true),
            Self::Boxed(value) => value.as_text().is_some_and(is_tool_error),
            Self::WithMeta(inner, _) => inner.is_tool_error(),
            Self::Empty | Self::Shared(_) => false,
        }
    }

    /// Returns the JSON text, without result metadata. Returns `None` if the payload is not text yet.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Empty => Some("{}"),
            Self::Shared(text) => Some(text.as_str()),
            Self::Boxed(value) => value.as_text(),
            Self::WithMeta(inner, _) => inner.as_text(),
            Self::CallTool(..) => None,
        }
    }

    /// Appends the JSON text.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Empty => out.extend_from_slice(b"{}"),
            Self::CallTool(result, meta) => {
                let start = out.len();
                or_empty(out, |out| result.write_json(out));
                if let Some(meta) = meta {
                    meta.apply(out, start, result.meta.is_none());
                }
            }
            Self::Shared(text) => text.write(out, None),
            Self::Boxed(value) => value.write_json(out),
            Self::WithMeta(inner, meta) => {
                if let Self::Shared(text) = &**inner {
                    return text.write(out, Some(meta));
                }
                let start = out.len();
                inner.write(out);
                meta.apply(out, start, matches!(**inner, Self::Empty));
            }
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.write(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}

/// A value that can be written as JSON. Every `Serialize` type implements it.
pub trait WriteJson: Send + Sync {
    /// Appends the JSON text; appends `{}` if serialization fails.
    fn write_json(&self, out: &mut Vec<u8>);

    /// Returns the JSON text, if the value is stored as text. Default: `None`.
    fn as_text(&self) -> Option<&str> {
        None
    }
}

/// Returns whether the JSON text of a result has `isError` with the value `true`.
pub(crate) fn is_tool_error(result: &str) -> bool {
    members(result)
        .filter_map(Result::ok)
        .any(|(key, value)| value == "true" && is_member(key, "isError"))
}

impl<T: Serialize + Send + Sync> WriteJson for T {
    fn write_json(&self, out: &mut Vec<u8>) {
        or_empty(out, |out| serde_json::to_writer(out, self));
    }
}

/// Calls `write`. If it fails, replaces its output with `{}`.
fn or_empty(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>) {
    let start = out.len();
    if let Err(error) = write(out) {
        tracing::error!(%error, "result could not be serialized");
        out.truncate(start);
        out.extend_from_slice(b"{}");
    }
}

/// A JSON object on one line that is serialized once and sent many times, such as a list. The object must not contain the members
/// that [`ResultMeta`] adds.
///
/// Result metadata is written before the members of the object. Two responses with the same text
/// therefore differ only before the [tail](Self::tail), which a transport can send without a copy.
#[derive(Debug, Clone)]
pub struct SharedText(ResultTail);

impl SharedText {
    /// Creates a shared text from the text of an object without line breaks.
    ///
    /// # Panics
    /// The text does not start and end with the braces of the object.
    pub fn new(object: String) -> Self {
        Self(ResultTail::new(object))
    }

    /// Returns the text of the object.
    pub fn as_str(&self) -> &str {
        self.0.object()
    }

    /// Appends the text before the [tail](Self::tail): the opening brace and the result metadata.
    pub fn write_start(&self, out: &mut Vec<u8>, meta: Option<&ResultMeta>) {
        out.push(b'{');
        if let Some(meta) = meta {
            meta.write_members(out);
            if self.as_str() != "{}" {
                out.push(b',');
            }
        }
    }

    /// Returns the tail of this text. Every response with this text ends with the tail.
    pub fn tail(&self) -> &ResultTail {
        &self.0
    }

    /// Appends the object with result metadata.
    pub(crate) fn write(&self, out: &mut Vec<u8>, meta: Option<&ResultMeta>) {
        self.write_start(out, meta);
        let text = self.as_str().as_bytes();
        // Reserves room also for the end of the envelope and the newline of a pipe. Otherwise the
        // next byte would make the buffer grow and copy a long text a second time.
        out.reserve(text.len() + 2);
        out.extend_from_slice(&text[1..]);
    }
}

#[cfg(test)]
mod tests {
    use mcp_types::Implementation;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_shared_result_written_in_two_parts_equals_the_result_written_at_once() {
        let meta = ResultMeta::new(&Implementation::new("s", "1"), None);
        for text in ["{}", r#"{"tools":[]}"#] {
            let shared = SharedText::new(text.to_owned());
            assert_eq!(shared.as_str(), text);
            for meta in [None, Some(&meta)] {
                let mut object = Vec::new();
                shared.write(&mut object, meta);
                let object: Value = serde_json::from_slice(&object).unwrap();
                let mut envelope = br#"{"result":"#.to_vec();
                shared.write_start(&mut envelope, meta);
                envelope.extend_from_slice(shared.tail().as_ref());
                let envelope: Value = serde_json::from_slice(&envelope).unwrap();
                assert_eq!(envelope, json!({ "result": object }));
                assert_eq!(object.get("tools").is_some(), text.len() > 2);
                assert_eq!(object.get("resultType").is_some(), meta.is_some());
            }
        }
    }
}
