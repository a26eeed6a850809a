//! The result of connecting.

use mcp_protocol::{Revision, Rules};
use mcp_types::v2026_07_28::DiscoverResult;
use mcp_types::{Implementation, InitializeResult, ServerCapabilities};

use super::request_meta::MetaTemplate;

/// The server and the negotiated revision.
pub(crate) struct Agreed {
    pub(crate) revision: Revision,
    pub(crate) server: Implementation,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) instructions: Option<String>,
    /// The metadata of each request, on the stateless revision.
    pub(crate) meta: Option<MetaTemplate>,
}

impl Agreed {
    pub(crate) fn from_handshake(revision: Revision, result: InitializeResult) -> Self {
        Self {
            revision,
            server: result.server_info,
            capabilities: result.capabilities,
            instructions: result.instructions,
            meta: None,
        }
    }

    pub(crate) fn from_discovery(
        revision: Revision,
        result: DiscoverResult,
        meta: MetaTemplate,
    ) -> Self {
        let server = result.meta.and_then(|meta| meta.server_info());
        Self {
            revision,
            server: server.unwrap_or_else(|| Implementation::new("unknown", "unknown")),
            capabilities: result.capabilities.into(),
            instructions: result.instructions,
            meta: Some(meta),
        }
    }

    pub(crate) fn rules(&self) -> &'static Rules {
        self.revision.rules()
    }
}
