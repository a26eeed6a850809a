//! Errors of input requests and server requests.

use std::fmt;

use mcp_jsonrpc::ErrorObject;

use crate::CallError;
use crate::gate::Unsupported;

/// Why a question got no usable answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum AskError {
    /// The client cannot be asked this; nothing was sent.
    Unsupported(Unsupported),
    /// The question breaks a rule of the specification; nothing was sent.
    Invalid(String),
    /// The request does not declare the capability that the question needs; nothing was asked.
    /// The error is what the request has to be answered with.
    Undeclared(ErrorObject),
    /// The client has not completed the handshake, so it may not be asked yet.
    NotReady,
    /// The client refused.
    Rejected(ErrorObject),
    /// The client's answer does not fit the question.
    BadAnswer(String),
    /// There was no answer.
    Failed(CallError),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(missing) => write!(f, "the client cannot be asked: {missing}"),
            Self::Invalid(problem) => write!(f, "invalid question: {problem}"),
            Self::Undeclared(error) => write!(f, "the client cannot be asked: {error}"),
            Self::NotReady => f.write_str("the client has not sent notifications/initialized"),
            Self::Rejected(error) => write!(f, "the client refused: {error}"),
            Self::BadAnswer(problem) => write!(f, "the client's answer does not fit: {problem}"),
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
