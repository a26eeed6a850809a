//! Errors of calls, by cause.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{DecodeError, ErrorCode, ErrorObject, ParseError, ParseErrorKind};
use mcp_protocol::gate::Unsupported;
use mcp_protocol::{CallError, Closed, MethodName, REQUIRED_SCOPES, TransportError};
use mcp_schema::Violation;
use mcp_types::{CallToolResult, ElicitRequestUrlParams, UrlElicitationRequired};
use serde_json::Value;

/// The error of a call or a connection.
///
/// # Retries
/// [`is_retryable`](Self::is_retryable) returns whether the same call may succeed later: after a timeout, a lost connection, or a
/// temporary failure of the transport. All other errors need a change of the call, the client or the server. The client itself
/// repeats a request only if the request has certainly not run, or if it has no effects.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// Connecting failed after the transport was started.
    #[non_exhaustive]
    Connect {
        /// The reason.
        cause: Box<Self>,
        /// Further information about the server: its first lines on stdout that are not messages, and its last lines on stderr.
        /// If `server/discover` failed before the client sent `initialize`, `details` also contains the reason of that failure.
        details: Vec<String>,
    },
    /// The server returned an error, with its code unchanged.
    Rejected(ErrorObject),
    /// The connection ended before the response.
    Closed(Closed),
    /// The transport could not connect or close gracefully, or it lost this call. The message says
    /// whether the call may have run.
    Transport(TransportError),
    /// The server did not respond in time. The request was cancelled.
    #[non_exhaustive]
    Timeout {
        /// The method of the call.
        method: MethodName,
        /// The setting that was exceeded, for example `Timeouts::idle`.
        setting: &'static str,
        /// The value of the setting.
        after: Duration,
        /// The problem that delayed the response, if the transport knows the problem. Examples are a lost session, a stream that
        /// could not be resumed, and a message that could not be read.
        reason: Option<String>,
    },
    /// The server does not offer the method. Nothing was sent.
    #[non_exhaustive]
    Unsupported {
        /// The method of the call.
        method: MethodName,
        /// The missing capability or revision.
        missing: Unsupported,
    },
    /// The server supports no revision of this client.
    #[non_exhaustive]
    Revision {
        /// The revision that the client offered.
        offered: &'static str,
        /// The revision in the server's response.
        answered: String,
    },
    /// The result does not match the schema of the method.
    #[non_exhaustive]
    InvalidResult {
        /// The method of the call.
        method: MethodName,
        /// The place and the kind of the mismatch.
        problem: DecodeError,
    },
    /// The type of the result (`resultType`) is unknown. An extension may define it.
    #[non_exhaustive]
    UnknownResult {
        /// The method of the call.
        method: MethodName,
        /// The type of the result.
        kind: String,
    },
    /// An input request has no result: the client has no handler for it, or the handler failed. The call has failed; the client
    /// does not notify the server.
    #[non_exhaustive]
    InputFailed {
        /// The method of the call.
        method: MethodName,
        /// The key of the input request.
        request: String,
        /// The reason.
        reason: String,
    },
    /// The server requests input too many times.
    #[non_exhaustive]
    TooManyRoundTrips {
        /// The method of the call.
        method: MethodName,
        /// The number of round trips, the limit of
        /// [`ClientBuilder::max_round_trips`](crate::ClientBuilder::max_round_trips).
        limit: u32,
    },
    /// The task of the call was cancelled by the server or by another client.
    #[non_exhaustive]
    TaskCancelled {
        /// The id of the task.
        task: String,
        /// The server's message.
        message: Option<String>,
    },
    /// The server no longer knows the task of the call, or the server was unreachable for longer than the time to live of the
    /// task.
    #[non_exhaustive]
    TaskLost {
        /// The id of the task.
        task: String,
        /// The server's message, or the error of the last attempt to reach the server.
        reason: String,
    },
    /// The server does not send change notifications for this resource, or has stopped sending them.
    #[non_exhaustive]
    NotSubscribed {
        /// The URI of the resource.
        uri: String,
        /// The reason.
        reason: String,
    },
    /// The structured output of a tool does not match its advertised schema, or is missing. The tool has run.
    #[non_exhaustive]
    Output {
        /// The name of the tool.
        tool: String,
        /// The place and the kind of the mismatch.
        problem: Violation,
        /// The invalid result. Show its content to the model together with the error, so that the model does not call the tool
        /// again.
        result: Box<CallToolResult>,
    },
    /// The response exceeds a limit of this client, which the message names.
    TooLong(ParseError),
    /// The server violates the protocol in another way.
    #[non_exhaustive]
    Protocol {
        /// The violation.
        problem: String,
        /// The parse error, if a message could not be parsed.
        cause: Option<ParseError>,
    },
    /// The call or a setting is invalid. Nothing was sent.
    #[non_exhaustive]
    Invalid {
        /// The problem, and the necessary change.
        problem: String,
    },
}

impl Error {
    /// Returns the error response, if the server sent one.
    pub fn rejection(&self) -> Option<&ErrorObject> {
        match self {
            Self::Connect { cause, .. } => cause.rejection(),
            Self::Rejected(error) => Some(error),
            _ => None,
        }
    }

    pub(crate) fn protocol(problem: impl Into<String>) -> Self {
        Self::Protocol {
            problem: problem.into(),
            cause: None,
        }
    }

    pub(crate) fn invalid(problem: impl Into<String>) -> Self {
        let problem = problem.into();
        Self::Invalid { problem }
    }

    /// Returns whether the same call may succeed later. If [`is_closed`](Self::is_closed) is `true`,
    /// the call needs a new connection. The failed call may have run: repeat a tool
    /// call only if its tool is idempotent.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connect { cause, .. } => cause.is_retryable(),
            Self::Closed(reason) => !reason.is_local(),
            Self::Transport(error) => error.is_temporary(),
            Self::Timeout { .. } => true,
            _ => false,
        }
    }

    /// Returns whether the call timed out.
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Connect { cause, .. } => cause.is_timeout(),
            _ => matches!(self, Self::Timeout { .. }),
        }
    }

    /// Returns whether the connection has ended.
    pub fn is_closed(&self) -> bool {
        match self {
            Self::Connect { cause, .. } => cause.is_closed(),
            _ => matches!(self, Self::Closed(_)),
        }
    }

    /// Returns the URLs that the user must visit before the call can succeed (code -32042).
    pub fn required_urls(&self) -> Option<Vec<ElicitRequestUrlParams>> {
        let error = self.rejection()?;
        if error.code != ErrorCode::URL_ELICITATION_REQUIRED {
            return None;
        }
        let data: UrlElicitationRequired = serde_json::from_value(error.data.clone()?).ok()?;
        Some(data.elicitations)
    }

    /// Returns the scopes that the rejected request needs, if the error names them. Servers of this SDK name them.
    pub fn required_scopes(&self) -> Option<Vec<&str>> {
        let scopes = self.rejection()?.data.as_ref()?.get(REQUIRED_SCOPES)?;
        scopes.as_array()?.iter().map(Value::as_str).collect()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect { cause, details } => {
                write!(f, "cannot connect: {cause}")?;
                details.iter().try_for_each(|line| write!(f, "; {line}"))
            }
            Self::Rejected(error) => write!(f, "the server returned an error: {error}"),
            Self::Closed(reason) => reason.fmt(f),
            Self::Transport(error) => error.fmt(f),
            Self::Timeout {
                method,
                setting,
                after,
                reason,
            } => {
                let seconds = after.as_secs_f64();
                write!(f, "no response to {method} within {seconds} s ({setting})")?;
                reason.iter().try_for_each(|reason| write!(f, "; {reason}"))
            }
            Self::Unsupported { method, missing } => {
                write!(f, "the server does not offer {method}: {missing}")
            }
            Self::Revision { offered, answered } => write!(
                f,
                "no common protocol revision: the client offered {offered}, the server answered {answered:?}"
            ),
            Self::InvalidResult { method, problem } => {
                write!(
                    f,
                    "the result of {method} does not match its schema: {problem}"
                )
            }
            Self::UnknownResult { method, kind } => {
                write!(f, "the result of {method} has the unknown type {kind:?}")
            }
            Self::InputFailed {
                method,
                request,
                reason,
            } => write!(
                f,
                "{method} failed: the input request {request:?} has no result: {reason}"
            ),
            Self::TooManyRoundTrips { method, limit } => write!(
                f,
                "{method} failed: the server requests input again after {limit} round trips, the \
                 limit of ClientBuilder::max_round_trips"
            ),
            // The id of a task may be its only protection, so it does not appear in messages.
            Self::TaskCancelled { message, .. } => match message {
                Some(message) => write!(f, "the task of the call was cancelled: {message}"),
                None => f.write_str("the task of the call was cancelled"),
            },
            Self::TaskLost { reason, .. } => write!(f, "the task of the call is lost: {reason}"),
            Self::NotSubscribed { uri, reason } => {
                write!(f, "no change notifications for {uri:?}: {reason}")
            }
            Self::Output { tool, problem, .. } => write!(
                f,
                "tool {tool:?} ran, but its output does not match its output schema: {problem}"
            ),
            Self::TooLong(error) => write!(f, "the response was not read: {error}"),
            Self::Protocol { problem, .. } => {
                write!(f, "the server violates the protocol: {problem}")
            }
            Self::Invalid { problem } => f.write_str(problem),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect { cause, .. } => Some(cause),
            Self::Rejected(error) => Some(error),
            Self::Closed(reason) => Some(reason),
            Self::Transport(error) => Some(error),
            Self::Unsupported { missing, .. } => Some(missing),
            Self::InvalidResult { problem, .. } => Some(problem),
            Self::TooLong(error) => Some(error),
            Self::Protocol { cause, .. } => cause.as_ref().map(|cause| cause as _),
            Self::Output { problem, .. } => Some(problem),
            _ => None,
        }
    }
}

impl From<CallError> for Error {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Closed(reason) => Self::Closed(reason),
            CallError::Malformed(error) if error.kind() == ParseErrorKind::TooLong => {
                Self::TooLong(error)
            }
            CallError::Malformed(error) => Self::Protocol {
                problem: error.to_string(),
                cause: Some(error),
            },
            CallError::Failed(error) => {
                Self::Transport(Arc::try_unwrap(error).unwrap_or_else(|shared| {
                    let is_temporary = shared.is_temporary();
                    let error = TransportError::new(shared.to_string()).with_source(shared);
                    if is_temporary {
                        error.as_temporary()
                    } else {
                        error
                    }
                }))
            }
            other => Self::invalid(other.to_string()),
        }
    }
}

impl From<TransportError> for Error {
    fn from(error: TransportError) -> Self {
        Self::Transport(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_temporary_failures_are_retryable() {
        let timeout = || Error::Timeout {
            method: "tools/call".into(),
            setting: "Timeouts::idle",
            after: Duration::from_secs(60),
            reason: None,
        };
        let connect = |cause| Error::Connect {
            cause: Box::new(cause),
            details: Vec::new(),
        };
        let transport = |error: TransportError| CallError::Failed(Arc::new(error)).into();
        let shared = Arc::new(TransportError::new("503").as_temporary());
        for (error, expected) in [
            (timeout(), true),
            (connect(timeout()), true),
            (Error::Closed(Closed::eof()), true),
            (Error::Closed(Closed::local()), false),
            (transport(TransportError::new("503").as_temporary()), true),
            (CallError::Failed(Arc::clone(&shared)).into(), true),
            (transport(TransportError::new("401")), false),
            (Error::protocol("no result"), false),
            (connect(Error::invalid("no name")), false),
        ] {
            assert_eq!(error.is_retryable(), expected, "{error}");
        }
    }
}
