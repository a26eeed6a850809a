//! A request, as far as its response needs to know it.

use std::sync::Arc;

use crate::client::call::failure::CallFailure;
use crate::client::inbox::receive;
use crate::client::inbox::receive::Received;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::service::quoted;
use mcp_protocol::TransportError;

/// A request, as far as its answer needs to know it.
pub(crate) struct ResponseContext<'a> {
    pub(crate) state: &'a Arc<ClientState>,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) method: &'static str,
    pub(crate) id: i64,
}

impl ResponseContext<'_> {
    /// An error that begins with the address of the server.
    pub(crate) fn error(&self, problem: &str) -> TransportError {
        let endpoint = &self.state.http.endpoint;
        TransportError::new(format!("{endpoint} {problem}"))
    }

    /// A response that is no answer. What belongs to no session may have gone to a server that
    /// knows sessions alone.
    pub(crate) fn unexpected(&self, problem: &str) -> CallFailure {
        let error = self.error(problem);
        CallFailure::failed(if self.session.is_stateless {
            error.as_unknown_protocol()
        } else {
            error
        })
    }

    /// Hands a message over that came in the response to this request.
    pub(crate) fn receive(&self, frame: &[u8]) -> Received {
        receive::receive(self.state, self.session, frame, Some(self.id))
    }

    /// The error for a message that no call could have been asked with.
    pub(crate) fn unreadable_request(&self, error: &mcp_jsonrpc::ErrorObject) -> TransportError {
        let said = quoted(&error.to_string());
        self.error(&format!("could not read {}: it says {said}", self.method))
    }
}
