//! A request, as far as its response needs to know it.

use std::sync::Arc;

use crate::client::call::failure::Failure;
use crate::client::inbox::receive;
use crate::client::inbox::receive::Heard;
use crate::client::session::current::Facts;
use crate::client::state::Core;
use crate::client::wire::service::quoted;
use mcp_protocol::TransportError;

/// A request, as far as its answer needs to know it.
pub(crate) struct Asked<'a> {
    pub(crate) core: &'a Arc<Core>,
    pub(crate) facts: &'a Arc<Facts>,
    pub(crate) method: &'static str,
    pub(crate) id: i64,
}

impl Asked<'_> {
    /// An error that begins with the address of the server.
    pub(crate) fn error(&self, problem: &str) -> TransportError {
        let endpoint = &self.core.wire.endpoint;
        TransportError::new(format!("{endpoint} {problem}"))
    }

    /// A response that is no answer. What belongs to no session may have gone to a server that
    /// knows sessions alone.
    pub(crate) fn odd(&self, problem: &str) -> Failure {
        let error = self.error(problem);
        Failure::failed(if self.facts.claims {
            error.as_unknown_protocol()
        } else {
            error
        })
    }

    /// Hands a message over that came in the response to this request.
    pub(crate) fn receive(&self, frame: &[u8]) -> Heard {
        receive::hear(self.core, self.facts, frame, Some(self.id))
    }

    /// The error for a message that no call could have been asked with.
    pub(crate) fn anonymous(&self, error: &mcp_jsonrpc::ErrorObject) -> TransportError {
        let said = quoted(&error.to_string());
        self.error(&format!("could not read {}: it says {said}", self.method))
    }
}
