//! Why a call failed, and whose fault it is.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{DecodeError, ErrorCode, ErrorObject};
use mcp_protocol::gate::Unsupported;
use mcp_protocol::{CallError, Closed, TransportError};
use mcp_schema::Violation;
use mcp_types::{ElicitRequestUrlParams, UrlElicitationRequired};

/// Why a call has no result.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The server refused; the code is kept as it came.
    Rejected(ErrorObject),
    /// The connection ended first.
    Closed(Closed),
    /// The connection could not be made, or not be ended in good order, or it lost this call;
    /// the message says whether the call may have run.
    Transport(TransportError),
    /// The server did not answer in time. The request was cancelled.
    Timeout {
        /// What was called.
        method: &'static str,
        /// The setting of [`Timeouts`](crate::Timeouts) that ran out.
        setting: &'static str,
        /// Its value.
        after: Duration,
    },
    /// The server did not agree to this; nothing was sent.
    Unsupported {
        /// What was to be called.
        method: &'static str,
        /// What is missing.
        missing: Unsupported,
    },
    /// The server speaks no revision this client speaks.
    Revision {
        /// What was offered.
        offered: &'static str,
        /// What the server answered.
        answered: String,
    },
    /// The server's answer is not what the method promises.
    InvalidResult {
        /// What was called.
        method: &'static str,
        /// Where and how it does not fit.
        problem: DecodeError,
    },
    /// The server's answer is of a kind this client does not know, that of an extension perhaps.
    UnknownResult {
        /// What was called.
        method: &'static str,
        /// The kind it says it is of.
        kind: String,
    },
    /// The server asks for input that there is none of: the client does not answer questions like
    /// this, or whoever was to answer failed. The call has ended; the server was not told.
    InputFailed {
        /// What was called.
        method: &'static str,
        /// The server's name for the question.
        request: String,
        /// Why there is no answer.
        reason: String,
    },
    /// The server keeps asking for input instead of answering.
    TooManyRoundTrips {
        /// What was called.
        method: &'static str,
        /// How often it was given input, the limit of [`Builder::max_round_trips`](crate::Builder::max_round_trips).
        limit: u32,
    },
    /// The task behind a call was cancelled: by its server, or by whoever else knows it.
    TaskCancelled {
        /// The server's id of the task.
        task: String,
        /// What the server says on it.
        message: Option<String>,
    },
    /// The server does not know the task behind a call, or not any more, or cannot be reached for
    /// longer than the task is kept.
    TaskLost {
        /// The server's id of the task.
        task: String,
        /// The server's words, or the last failure to reach it.
        reason: String,
    },
    /// The server does not tell when this resource changes, or has stopped to.
    NotSubscribed {
        /// The resource.
        uri: String,
        /// Why not.
        reason: String,
    },
    /// A tool's structured output breaks the schema it advertises.
    Output {
        /// The tool.
        tool: String,
        /// Where and how.
        problem: Violation,
    },
    /// The server breaks the protocol in another way.
    Protocol(String),
    /// The call itself is not valid; nothing was sent.
    Invalid(String),
}

impl Error {
    /// The server's error, if it refused.
    pub fn rejection(&self) -> Option<&ErrorObject> {
        match self {
            Self::Rejected(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the call ran out of time.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
    }

    /// Whether the connection is gone.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed(_))
    }

    /// The URLs the user has to visit before the call can work (code -32042).
    pub fn required_urls(&self) -> Option<Vec<ElicitRequestUrlParams>> {
        let error = self.rejection()?;
        if error.code != ErrorCode::URL_ELICITATION_REQUIRED {
            return None;
        }
        let data: UrlElicitationRequired = serde_json::from_value(error.data.clone()?).ok()?;
        Some(data.elicitations)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(error) => write!(f, "the server refused: {error}"),
            Self::Closed(reason) => reason.fmt(f),
            Self::Transport(error) => error.fmt(f),
            Self::Timeout {
                method,
                setting,
                after,
            } => write!(
                f,
                "{method} was not answered within {} s (Timeouts::{setting})",
                after.as_secs_f64()
            ),
            Self::Unsupported { method, missing } => {
                write!(f, "the server cannot be asked for {method}: {missing}")
            }
            Self::Revision { offered, answered } => write!(
                f,
                "no common protocol revision: offered {offered}, the server answered {answered:?}"
            ),
            Self::InvalidResult { method, problem } => {
                write!(f, "the server's answer to {method} does not fit: {problem}")
            }
            Self::UnknownResult { method, kind } => {
                write!(
                    f,
                    "the server's answer to {method} is of unknown kind {kind:?}"
                )
            }
            Self::InputFailed {
                method,
                request,
                reason,
            } => write!(
                f,
                "{method} was not completed: the server's question {request:?} has no answer: {reason}"
            ),
            Self::TooManyRoundTrips { method, limit } => write!(
                f,
                "{method} was not completed: the server asks again after {limit} rounds of input (Builder::max_round_trips)"
            ),
            // The id of a task may be all that protects it, so it is no word for logs.
            Self::TaskCancelled { message, .. } => match message {
                Some(message) => write!(f, "the call's task was cancelled: {message}"),
                None => f.write_str("the call's task was cancelled"),
            },
            Self::TaskLost { reason, .. } => write!(f, "the call's task is lost: {reason}"),
            Self::NotSubscribed { uri, reason } => {
                write!(f, "changes of {uri:?} are not heard of: {reason}")
            }
            Self::Output { tool, problem } => write!(
                f,
                "the output of tool {tool:?} breaks its own output schema: {problem}"
            ),
            Self::Protocol(problem) => write!(f, "the server breaks the protocol: {problem}"),
            Self::Invalid(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Rejected(error) => Some(error),
            Self::Closed(reason) => Some(reason),
            Self::Transport(error) => Some(error),
            Self::Unsupported { missing, .. } => Some(missing),
            Self::InvalidResult { problem, .. } => Some(problem),
            _ => None,
        }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Closed(reason) => Self::Closed(reason),
            CallError::Malformed(error) => Self::Protocol(error.to_string()),
            CallError::Failed(error) => {
                Self::Transport(Arc::try_unwrap(error).unwrap_or_else(|shared| {
                    TransportError::new(shared.to_string()).with_source(shared)
                }))
            }
            other => Self::Invalid(other.to_string()),
        }
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}
