//! What both sides know once they are connected.

use mcp_protocol::{Revision, Rules};
use mcp_types::v2026_07_28::DiscoverResult;
use mcp_types::{Implementation, InitializeResult, ServerCapabilities};

use crate::envelope::Envelope;

/// The server, and how to speak to it.
pub(crate) struct Agreed {
    pub(crate) revision: Revision,
    pub(crate) server: Implementation,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) instructions: Option<String>,
    /// What each request says of itself, where there is no handshake.
    pub(crate) envelope: Option<Envelope>,
}

impl Agreed {
    pub(crate) fn by_handshake(revision: Revision, result: InitializeResult) -> Self {
        Self {
            revision,
            server: result.server_info,
            capabilities: result.capabilities,
            instructions: result.instructions,
            envelope: None,
        }
    }

    pub(crate) fn discovered(
        revision: Revision,
        result: DiscoverResult,
        envelope: Envelope,
    ) -> Self {
        let server = result.meta.and_then(|meta| meta.server_info());
        Self {
            revision,
            server: server.unwrap_or_else(|| Implementation::new("unknown", "unknown")),
            capabilities: result.capabilities.into(),
            instructions: result.instructions,
            envelope: Some(envelope),
        }
    }

    pub(crate) fn rules(&self) -> &'static Rules {
        self.revision.rules()
    }
}
