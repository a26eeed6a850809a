//! A request in flight, its possible failures, and the decision whether the request can be repeated.

use std::sync::Arc;
use std::time::Duration;

use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::MAX_QUOTED;
use crate::client::wire::connection::SendError;
use bytes::Bytes;
use mcp_jsonrpc::{ErrorObject, RequestId, quote, write_request};
use mcp_protocol::{CallError, SentId, TransportError};

/// The reason why a request has no response.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// The server does not know the session. `seen` says whether the server had accepted the request before it lost the session.
    SessionLost { seen: bool },
    /// The response was lost. The server may have executed the request.
    ResponseLost(TransportError),
    /// The server was not reached and has not executed the request.
    Unreachable(TransportError),
    /// The server cannot answer now. The duration is the time after which to retry, if the server sent one.
    Unavailable(Option<Duration>, TransportError),
    /// The call has failed. The request is not repeated.
    Final(CallError),
}

impl CallFailure {
    pub(crate) fn failed(error: TransportError) -> Self {
        Self::Final(failed(error))
    }

    /// Converts the failure to the error of the call, for a request that is not repeated. `session_lost` is the error text for a
    /// lost session.
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

pub(crate) fn may_have_run(error: TransportError, method: &str) -> TransportError {
    let text = format!("{error}; {method} may have run, so it was not repeated");
    let is_temporary = error.is_temporary();
    let error = TransportError::new(text)
        .with_source(error)
        .as_possibly_executed();
    if is_temporary {
        error.as_temporary()
    } else {
        error
    }
}

/// The request that a response belongs to.
#[derive(Clone, Copy)]
pub(crate) struct ResponseContext<'a> {
    pub(crate) state: &'a Arc<ClientState>,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) method: &'a str,
    pub(crate) id: i64,
    /// Receives the id of the request, and the reason why the response is delayed.
    pub(crate) sent: Option<&'a SentId>,
}

impl ResponseContext<'_> {
    /// Reports to the caller why the response is delayed. `None` means that the response is no longer delayed.
    pub(crate) fn set_problem(&self, problem: Option<&str>) {
        if let Some(sent) = self.sent {
            sent.set_problem(problem.map(str::to_owned));
        }
    }

    pub(crate) fn message(&self, params: Option<&[u8]>) -> Bytes {
        let mut message = Vec::with_capacity(params.map_or(0, <[u8]>::len) + 128);
        write_request(
            &mut message,
            &RequestId::Number(self.id),
            self.method,
            params,
        );
        message.into()
    }

    /// Creates an error whose text begins with the address of the server.
    pub(crate) fn error(&self, problem: &str) -> TransportError {
        let endpoint = &self.state.http.endpoint;
        TransportError::new(format!("{endpoint} {problem}"))
    }

    /// Creates the failure for an unexpected response. If the request was stateless, the error says that the server may support
    /// only session-based revisions.
    pub(crate) fn unexpected(&self, problem: &str) -> CallFailure {
        let error = self.error(problem);
        CallFailure::failed(if self.session.is_stateless {
            error.as_unknown_protocol()
        } else {
            error
        })
    }

    /// Creates the error for a response whose id is missing because the server could not read the
    /// request.
    pub(crate) fn unreadable_request(&self, error: &ErrorObject) -> TransportError {
        let error = error.to_string();
        let said = quote(&error, MAX_QUOTED);
        self.error(&format!("could not read {}: it says {said}", self.method))
    }
}
