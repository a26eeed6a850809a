//! Why a request has no answer.

use std::sync::Arc;
use std::time::Duration;

use crate::client::wire::connection::SendError;
use mcp_protocol::{CallError, TransportError};
use mcp_types::method;

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// The server does not know the session; `seen` if it had accepted the request before.
    SessionLost { seen: bool },
    /// The answer is lost; the server may have done what it was pending.
    ResponseLost(TransportError),
    /// The server was not reached, so it has not done anything.
    Unreachable(TransportError),
    /// The server cannot answer now; perhaps it says when it can.
    Unavailable(Option<Duration>, TransportError),
    /// Nothing helps.
    Final(CallError),
}

impl CallFailure {
    pub(crate) fn failed(error: TransportError) -> Self {
        Self::Final(failed(error))
    }
}

impl From<SendError> for CallFailure {
    fn from(broken: SendError) -> Self {
        match broken {
            SendError::Unreachable(error) => Self::Unreachable(error),
            SendError::Interrupted(error) => Self::ResponseLost(error),
            SendError::Rejected(error) => Self::failed(error),
        }
    }
}

/// An error of one call.
pub(crate) fn failed(error: TransportError) -> CallError {
    CallError::Failed(Arc::new(error))
}

/// Whether a request that may have run does no harm if it runs again. What is not known here may
/// do anything.
pub(crate) fn is_repeatable(method: &str) -> bool {
    matches!(
        method,
        method::PING
            | method::COMPLETION_COMPLETE
            | method::LOGGING_SET_LEVEL
            | method::PROMPTS_GET
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCES_READ
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_TEMPLATES_LIST
            | method::RESOURCES_UNSUBSCRIBE
            | method::SERVER_DISCOVER
            | method::TASKS_GET
            | method::TASKS_LIST
            | method::TASKS_RESULT
            | method::TOOLS_LIST
    )
}

pub(crate) fn may_have_run(error: TransportError, method: &str) -> TransportError {
    TransportError::new(format!(
        "{error}; {method} may have run, so it was not repeated"
    ))
    .with_source(error)
}
