//! The error object of an answer, and the error of a frame that is no message.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ErrorCode, RequestId};

/// The `error` member of an error response: what a peer refused, and why.
///
/// Specification: [responses](https://modelcontextprotocol.io/specification/2025-11-25/basic#responses).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ErrorObject {
    /// What kind of failure it is; integers only.
    pub code: ErrorCode,
    /// One concise sentence.
    pub message: Cow<'static, str>,
    /// Details of any shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl ErrorObject {
    /// An error without data.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// [`ErrorCode::INVALID_REQUEST`] with a message.
    pub fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// [`ErrorCode::INVALID_PARAMS`] with a message.
    pub fn invalid_params(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// [`ErrorCode::INTERNAL_ERROR`] with a message. Never put the text of a panic or of an
    /// unreviewed error here: the peer reads it.
    pub fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorCode::INTERNAL_ERROR, message)
    }

    /// [`ErrorCode::METHOD_NOT_FOUND`], naming the method (cut to 128 characters).
    pub fn method_not_found(method: &str) -> Self {
        Self::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("method {} is not available", crate::quote(method, 128)),
        )
    }

    /// Attaches details.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Value>) -> Self {
        self.data = Some(data.into());
        self
    }
}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl std::error::Error for ErrorObject {}

/// Why a frame is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Not JSON, or not UTF-8: [`ErrorCode::PARSE_ERROR`].
    Syntax,
    /// JSON, but not a JSON-RPC message: [`ErrorCode::INVALID_REQUEST`].
    Invalid,
    /// Beyond one of the [`Limits`](crate::Limits): [`ErrorCode::INVALID_REQUEST`].
    Limit,
}

/// A frame that is not a message, with everything needed to answer it.
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

/// What the broken frame looked like, as far as it could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Unknown,
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

    /// The category.
    pub fn kind(&self) -> ParseErrorKind {
        self.0.kind
    }

    /// Where it was noticed, in bytes from the start of the frame.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// The id of the frame, where one could be read.
    pub fn id(&self) -> Option<&RequestId> {
        self.0.id.as_ref()
    }

    /// Whether the frame was meant as an answer: the call with this id should fail now.
    pub fn is_response(&self) -> bool {
        self.0.shape == Shape::Response
    }

    /// Whether the frame may be answered: answers and notifications never are.
    pub fn is_answerable(&self) -> bool {
        self.0.shape == Shape::Unknown
    }

    /// The error to answer with.
    pub fn to_error_object(&self) -> ErrorObject {
        let code = match self.0.kind {
            ParseErrorKind::Syntax => ErrorCode::PARSE_ERROR,
            ParseErrorKind::Invalid | ParseErrorKind::Limit => ErrorCode::INVALID_REQUEST,
        };
        ErrorObject::new(code, self.to_string())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.0.message, self.0.offset)
    }
}

impl std::error::Error for ParseError {}
