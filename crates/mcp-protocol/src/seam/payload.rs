//! What a request ends in, still unwritten.

use std::fmt;
use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_types::CallToolResult;
use serde::Serialize;

use crate::SharedText;
use crate::modern::ResultMeta;

/// A result, or what was refused.
pub type Outcome = Result<Payload, ErrorObject>;

/// The result of a request, serialised only into the output buffer itself.
#[non_exhaustive]
pub enum Payload {
    /// `{}`.
    Empty,
    /// The result of a tool, by far the most frequent: neither it nor its [stamp](Self::with_result_meta) needs a box.
    CallTool(CallToolResult, Option<Arc<ResultMeta>>),
    /// Written once and sent many times, such as a list.
    Shared(SharedText),
    /// Anything that can write itself.
    Boxed(Box<dyn WriteJson>),
    /// A result with what a revision without a handshake adds to each.
    WithMeta(Box<Self>, Arc<ResultMeta>),
}

impl Payload {
    /// A payload that serialises `value` when it is sent.
    pub fn of<T: Serialize + Send + Sync + 'static>(value: T) -> Self {
        Self::Boxed(Box::new(value))
    }

    /// The same with what a stamp adds, once.
    #[must_use]
    pub fn with_result_meta(self, stamp: Arc<ResultMeta>) -> Self {
        match self {
            Self::CallTool(result, None) => Self::CallTool(result, Some(stamp)),
            other => Self::WithMeta(Box::new(other), stamp),
        }
    }

    /// Whether it is known to have no line breaks, without a look at it.
    pub(crate) fn is_one_line(&self) -> bool {
        match self {
            Self::Empty | Self::Shared(_) => true,
            Self::WithMeta(inner, _) => inner.is_one_line(),
            Self::CallTool(..) | Self::Boxed(_) => false,
        }
    }

    /// The text that is sent many times, if that is what it is, and what is added to it: for those who can send its
    /// tail as it stands, without a copy.
    pub fn shared(&self) -> Option<(&SharedText, Option<&ResultMeta>)> {
        match self {
            Self::Shared(text) => Some((text, None)),
            Self::WithMeta(inner, stamp) => match &**inner {
                Self::Shared(text) => Some((text, Some(stamp))),
                _ => None,
            },
            _ => None,
        }
    }

    /// Appends the JSON text.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Empty => out.extend_from_slice(b"{}"),
            Self::CallTool(result, stamp) => {
                let start = out.len();
                or_empty(out, |out| result.write_json(out));
                if let Some(stamp) = stamp {
                    stamp.apply(out, start, result.meta.is_none());
                }
            }
            Self::Shared(text) => text.write(out, None),
            Self::Boxed(value) => value.write_json(out),
            Self::WithMeta(inner, stamp) => {
                if let Self::Shared(text) = &**inner {
                    return text.write(out, Some(stamp));
                }
                let start = out.len();
                inner.write(out);
                stamp.apply(out, start, matches!(**inner, Self::Empty));
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

/// A value that writes itself as JSON; every `Serialize` type is one.
pub trait WriteJson: Send + Sync {
    /// Appends the JSON text; a value that cannot be serialised appends `{}`.
    fn write_json(&self, out: &mut Vec<u8>);
}

impl<T: Serialize + Send + Sync> WriteJson for T {
    fn write_json(&self, out: &mut Vec<u8>) {
        or_empty(out, |out| serde_json::to_writer(out, self));
    }
}

/// Lets `write` append, and puts `{}` in its place if it fails.
fn or_empty(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<(), serde_json::Error>) {
    let start = out.len();
    if let Err(error) = write(out) {
        tracing::error!(%error, "result could not be serialised");
        out.truncate(start);
        out.extend_from_slice(b"{}");
    }
}
