//! Errors of input requests and server requests.

use std::fmt;

use mcp_jsonrpc::ErrorObject;

use crate::CallError;
use crate::gate::Unsupported;

/// Error of an input request or a server request (elicitation, sampling, roots).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AskError {
    /// The client does not support the request. Nothing was sent.
    Unsupported(Unsupported),
    /// The request violates a rule of the specification. Nothing was sent.
    Invalid(String),
    /// The client's request does not declare the capability that the input request needs. Nothing was sent. Answer the client's
    /// request with this error.
    Undeclared(ErrorObject),
    /// The client has not completed the handshake.
    NotReady,
    /// The client answered with an error.
    Rejected(ErrorObject),
    /// The response of the client does not match the request.
    BadAnswer(String),
    /// The request got no response.
    Failed(CallError),
}

impl AskError {
    /// Converts the error to an error response for the client.
    pub(crate) fn into_error(self) -> ErrorObject {
        match self {
            Self::Rejected(error) | Self::Undeclared(error) => error,
            other => ErrorObject::internal(other.to_string()),
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(missing) => {
                write!(f, "the client does not support the request: {missing}")
            }
            Self::Invalid(problem) => write!(f, "invalid request to the client: {problem}"),
            Self::Undeclared(error) => {
                write!(f, "the client does not support the request: {error}")
            }
            Self::NotReady => f.write_str("the client has not sent notifications/initialized"),
            Self::Rejected(error) => write!(f, "the client rejected the request: {error}"),
            Self::BadAnswer(problem) => write!(
                f,
                "the response of the client does not match the request: {problem}"
            ),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unsupported(missing) => Some(missing),
            Self::Rejected(error) | Self::Undeclared(error) => Some(error),
            Self::Failed(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Unsupported> for AskError {
    fn from(missing: Unsupported) -> Self {
        Self::Unsupported(missing)
    }
}

impl From<CallError> for AskError {
    fn from(error: CallError) -> Self {
        Self::Failed(error)
    }
}
