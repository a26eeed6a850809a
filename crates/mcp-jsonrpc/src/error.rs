//! The error object of a response, and the error for a frame that is not a message.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ErrorCode, RequestId};

/// The `error` member of an error response.
///
/// Specification: [responses](https://modelcontextprotocol.io/specification/2025-11-25/basic#responses).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorObject {
    /// The code, which says what kind of failure occurred.
    pub code: ErrorCode,
    /// A description in one short sentence.
    pub message: Cow<'static, str>,
    /// Details in any JSON form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ErrorObject {
    /// Creates an error without data.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// Creates an [`ErrorCode::INVALID_REQUEST`] error.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// Creates an [`ErrorCode::INVALID_PARAMS`] error.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// Creates an [`ErrorCode::INVALID_PARAMS`] error for params that cannot be decoded. `problem` is a
    /// [`DecodeError`](crate::DecodeError), or a JSON pointer and the problem at this position.
    #[doc(hidden)]
    pub fn malformed_params(problem: impl fmt::Display) -> Self {
        Self::invalid_params(format!("invalid params: {problem}"))
    }

    /// Creates an [`ErrorCode::INTERNAL_ERROR`] error. The peer can read the message, so do not pass the text of a panic or of an
    /// error that may contain secrets.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }

    /// Creates an [`ErrorCode::METHOD_NOT_FOUND`] error with the name of the method, clipped to
    /// 128 characters.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("method {} is not available", crate::quote(method, 128)),
        )
    }

    /// Sets [`data`](Self::data).
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Value>) -> Self {
        self.data = Some(data.into());
        self
    }
}

impl ErrorObject {
    /// Reads an error object that deviates from the specification, so that its text is not lost. The code may be text or have a
    /// fraction, a member may be missing or `null`, or the whole error may be only a text.
    #[cold]
    pub(crate) fn repaired(text: &str) -> Option<Self> {
        let members = match serde_json::from_str(text).ok()? {
            Value::String(message) => return Some(Self::internal(message)),
            Value::Object(members) => members,
            _ => return None,
        };
        let code = match members.get("code") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.trim().parse().ok()?),
            Some(code) => Some(code.to_string().trim_end_matches(".0").parse().ok()?),
        };
        let message = match members.get("message") {
            Some(Value::String(text)) => Some(text.clone()),
            None | Some(Value::Null) => None,
            Some(other) => Some(other.to_string()),
        };
        if code.is_none() && message.is_none() {
            return None;
        }
        let code = code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
        let data = members.get("data").filter(|data| !data.is_null());
        Some(Self {
            code,
            message: message
                .unwrap_or_else(|| "an error without a message".to_owned())
                .into(),
            data: data.cloned(),
        })
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl std::error::Error for ErrorObject {}

/// The category of a [`ParseError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Not JSON, or not UTF-8: [`ErrorCode::PARSE_ERROR`].
    Syntax,
    /// JSON, but not a JSON-RPC message: [`ErrorCode::INVALID_REQUEST`].
    Invalid,
    /// The frame exceeds one of the [`Limits`](crate::Limits): [`ErrorCode::INVALID_REQUEST`].
    Limit,
    /// The frame was too long for the transport to read: [`ErrorCode::PARSE_ERROR`].
    TooLong,
}

/// The error for a frame that is not a message, with the data that is needed to respond to the frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(Box<Parts>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Parts {
    kind: ParseErrorKind,
    offset: usize,
    message: Cow<'static, str>,
    id: Option<RequestId>,
    shape: Shape,
}

/// The kind of message that an invalid frame was meant to be, as far as the frame could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Unknown,
    Request,
    Notification,
    Response,
}

impl ParseError {
    pub(crate) fn new(
        kind: ParseErrorKind,
        offset: usize,
        message: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self(Box::new(Parts {
            kind,
            offset,
            message: message.into(),
            id: None,
            shape: Shape::Unknown,
        }))
    }

    pub(crate) fn with_id(mut self, id: Option<RequestId>) -> Self {
        self.0.id = id;
        self
    }

    pub(crate) fn with_shape(mut self, shape: Shape) -> Self {
        self.0.shape = shape;
        self
    }

    /// Returns the category.
    pub fn kind(&self) -> ParseErrorKind {
        self.0.kind
    }

    /// Returns the position of the error, in bytes from the start of the frame.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// Returns the id of the frame, if it could be read.
    pub fn id(&self) -> Option<&RequestId> {
        self.0.id.as_ref()
    }

    /// Returns whether the frame was meant as a response. The call with the frame's [`id`](Self::id) should then fail.
    pub fn is_response(&self) -> bool {
        self.0.shape == Shape::Response
    }

    /// Returns whether the frame may have been a response, because nothing shows that it was a request or a notification. If a
    /// call with its id is waiting, this call should fail.
    pub fn may_be_response(&self) -> bool {
        matches!(self.0.shape, Shape::Response | Shape::Unknown)
    }

    /// Returns whether the frame may be answered. Responses and notifications are never answered.
    pub fn is_answerable(&self) -> bool {
        matches!(self.0.shape, Shape::Unknown | Shape::Request)
    }

    /// Returns the error object for the response.
    pub fn to_error_object(&self) -> ErrorObject {
        let code = match self.0.kind {
            ParseErrorKind::Syntax | ParseErrorKind::TooLong => ErrorCode::PARSE_ERROR,
            ParseErrorKind::Invalid | ParseErrorKind::Limit => ErrorCode::INVALID_REQUEST,
        };
        ErrorObject::new(code, self.to_string())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match self.0.kind {
            ParseErrorKind::TooLong => Ok(()),
            _ => write!(f, " at byte {}", self.0.offset),
        }
    }
}

impl std::error::Error for ParseError {}
