//! The request to which a response belongs.

use std::sync::Arc;

use crate::client::call::failure::CallFailure;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::MAX_QUOTED;
use bytes::Bytes;
use mcp_jsonrpc::{RequestId, quote, write_request};
use mcp_protocol::TransportError;

/// The request to which a response belongs.
#[derive(Clone, Copy)]
pub(crate) struct ResponseContext<'a> {
    pub(crate) state: &'a Arc<ClientState>,
    pub(crate) session: &'a Arc<Session>,
    pub(crate) method: &'static str,
    pub(crate) id: i64,
}

impl ResponseContext<'_> {
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

    /// Creates an error that begins with the address of the server.
    pub(crate) fn error(&self, problem: &str) -> TransportError {
        let endpoint = &self.state.http.endpoint;
        TransportError::new(format!("{endpoint} {problem}"))
    }

    /// Creates the failure for an unexpected response. If the request was of the stateless
    /// revision, the server may only know session-based revisions.
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
    pub(crate) fn unreadable_request(&self, error: &mcp_jsonrpc::ErrorObject) -> TransportError {
        let error = error.to_string();
        let said = quote(&error, MAX_QUOTED);
        self.error(&format!("could not read {}: it says {said}", self.method))
    }
}
