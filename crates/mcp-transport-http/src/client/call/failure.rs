//! Failures of a request, and which requests can be repeated.

use std::sync::Arc;
use std::time::Duration;

use crate::client::wire::connection::SendError;
use mcp_protocol::{CallError, TransportError};
use mcp_types::method;

/// A request without a response.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// The server does not know the session. `seen` if the server had accepted the request before.
    SessionLost { seen: bool },
    /// The response is lost. The server may have executed the request.
    ResponseLost(TransportError),
    /// The server was not reached and has not executed the request.
    Unreachable(TransportError),
    /// The server cannot answer now, with the time after which to retry if the server sent it.
    Unavailable(Option<Duration>, TransportError),
    /// The call has failed and is not repeated.
    Final(CallError),
}

impl CallFailure {
    pub(crate) fn failed(error: TransportError) -> Self {
        Self::Final(failed(error))
    }

    /// Converts the failure of a request that is not repeated. `session_lost` is the text for a lost
    /// session.
    pub(crate) fn into_error(self, session_lost: impl Into<String>) -> CallError {
        match self {
            Self::Final(error) => error,
            Self::ResponseLost(error) | Self::Unreachable(error) | Self::Unavailable(_, error) => {
                failed(error)
            }
            Self::SessionLost { .. } => failed(TransportError::new(session_lost.into())),
        }
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

pub(crate) fn failed(error: TransportError) -> CallError {
    CallError::Failed(Arc::new(error))
}

/// Returns whether a request can be repeated although it may have been executed. Unknown methods
/// cannot.
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
