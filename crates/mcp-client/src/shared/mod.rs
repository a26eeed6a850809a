//! The state of a connected client, shared by all its handles, calls and tasks.

mod offered;

use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::{Call, Connection, Link, Revision, Rules, SentId, Timeouts, Tolerance};
use mcp_types::v2026_07_28::{DiscoverResult, SubscriptionFilter};
use mcp_types::{Implementation, InitializeResult, JsonObject, ServerCapabilities, method};

use crate::cache::Cache;
use crate::cache::known_tools::KnownTools;
use crate::changes::opener::OpenStream;
use crate::inbound::ClientInbound;
use crate::inbound::handlers::Approve;
use crate::request::meta::MetaTemplate;
use crate::request::progress::ProgressTable;

pub(crate) struct Shared {
    pub(crate) link: Arc<dyn Link>,
    pub(crate) connection: Arc<dyn Connection>,
    pub(crate) inbound: Arc<ClientInbound>,
    pub(crate) progress: Arc<ProgressTable>,
    pub(crate) agreed: Agreed,
    pub(crate) timeouts: Timeouts,
    /// Maximum number of round trips with input requests in one call.
    pub(crate) max_round_trips: u32,
    /// Maximum estimated memory of all pages of one list together, in bytes.
    pub(crate) max_list_bytes: usize,
    /// Whether the client lists the tools before it calls an unknown tool, on servers with tasks (2025-11-25).
    pub(crate) lists_before_call: bool,
    pub(crate) approve: Option<Approve>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) tools: KnownTools,
    pub(crate) tolerance: Arc<Tolerance>,
}

impl Shared {
    pub(crate) fn rules(&self) -> &'static Rules {
        self.agreed.revision.rules()
    }
}

impl OpenStream for Shared {
    fn open_stream(&self, filter: &SubscriptionFilter, id: SentId) -> Option<(Call, Duration)> {
        let meta = self.agreed.meta.as_ref()?;
        let mut params = JsonObject::new();
        params.insert("notifications".into(), serde_json::to_value(filter).ok()?);
        let mut extras = meta.extras(None);
        extras.id = Some(id);
        let params = meta.write(&params, None, &[]);
        let method = method::SUBSCRIPTIONS_LISTEN;
        let call = self.link.request_with(method.into(), Some(params), extras);
        Some((call, self.timeouts.idle))
    }
}

/// The server and the negotiated revision.
pub(crate) struct Agreed {
    pub(crate) revision: Revision,
    pub(crate) server: Implementation,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) instructions: Option<String>,
    /// The metadata that is added to each request; only on the stateless revision.
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
}
