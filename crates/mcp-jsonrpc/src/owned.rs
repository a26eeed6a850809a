//! Messages that outlive their frame, as slices of one shared buffer.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::{DecodeError, ErrorObject, Frame, Limits, Message, ParseError, RequestId, parse};

/// JSON text in a shared buffer. Cloning does not copy the text.
#[derive(Clone, PartialEq, Eq)]
pub struct RawJson {
    buffer: Arc<str>,
    range: Range<usize>,
}

impl RawJson {
    /// Copies JSON text. Does not check that the text is JSON.
    pub fn copy(text: &str) -> Self {
        Self {
            buffer: text.into(),
            range: 0..text.len(),
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.buffer.get(self.range.clone()).unwrap_or_default()
    }

    /// Decodes the text.
    ///
    /// # Errors
    /// The text does not match `T`. The error has the JSON pointer of the first value that does not match.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        crate::decode(self.as_str())
    }
}

impl Deref for RawJson {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A message whose params and result are slices of a shared buffer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OwnedMessage {
    /// A request: its id, method and params.
    Request(RequestId, Box<str>, Option<RawJson>),
    /// A notification: its method and params.
    Notification(Box<str>, Option<RawJson>),
    /// A response: the id of its request, and its result or error.
    Response(Option<RequestId>, Result<RawJson, ErrorObject>),
}

impl OwnedMessage {
    /// Parses one message. The params and the result are slices of `buffer`; their text is not copied.
    ///
    /// # Errors
    /// The errors of [`parse`], or the frame is a batch.
    pub fn parse(buffer: &Arc<str>, limits: &Limits) -> Result<Self, ParseError> {
        let slice = |text: &str| {
            let start = text.as_ptr() as usize - buffer.as_ptr() as usize;
            RawJson {
                buffer: Arc::clone(buffer),
                range: start..start + text.len(),
            }
        };
        let Frame::Single(message) = parse(buffer.as_bytes(), limits)? else {
            return Err(ParseError::new(
                crate::ParseErrorKind::Invalid,
                0,
                "expected one message, got a batch",
            ));
        };
        Ok(match message {
            Message::Request(m) => {
                Self::Request(m.id, m.method.as_ref().into(), m.params.map(slice))
            }
            Message::Notification(m) => {
                Self::Notification(m.method.as_ref().into(), m.params.map(slice))
            }
            Message::Response(m) => Self::Response(m.id, m.outcome.map(slice)),
        })
    }
}
