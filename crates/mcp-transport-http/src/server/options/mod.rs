//! Settings of an endpoint: access, limits and timeouts.

mod access;
mod limits;
mod timeouts;

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::Limits;

use crate::server::request::allowed::AllowList;
use crate::server::stream::store::{EventStore, MemoryStore};

/// Settings of an [`Endpoint`](crate::Endpoint): which clients may reach it, and limits on memory
/// and time. Every setting has a default, and every limit is finite.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) hosts: AllowList,
    pub(crate) origins: AllowList,
    pub(crate) sessions: bool,
    pub(crate) event_store: Option<Arc<dyn EventStore>>,
    pub(crate) message_limits: Limits,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_total_body_bytes: usize,
    pub(crate) body_timeout: Duration,
    pub(crate) max_in_flight: usize,
    pub(crate) max_subscriptions: usize,
    pub(crate) max_in_flight_per_session: usize,
    pub(crate) max_streams_per_session: usize,
    pub(crate) max_sessions: usize,
    pub(crate) max_sessions_per_principal: usize,
    pub(crate) session_idle_timeout: Duration,
    pub(crate) max_session_lifetime: Duration,
    pub(crate) handshake_timeout: Duration,
    pub(crate) max_queue_events: usize,
    pub(crate) max_queue_bytes: usize,
    pub(crate) keep_alive_interval: Duration,
    pub(crate) sse_upgrade_delay: Duration,
    pub(crate) sse_retry: Duration,
    pub(crate) max_blocking_handlers: usize,
    pub(crate) shutdown_timeout: Duration,
    #[cfg(feature = "legacy")]
    pub(crate) legacy: bool,
    pub(crate) max_connections: usize,
    pub(crate) max_head_bytes: usize,
    pub(crate) head_timeout: Duration,
    pub(crate) write_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hosts: AllowList::loopback(),
            origins: AllowList::loopback(),
            sessions: true,
            event_store: Some(Arc::new(MemoryStore::new())),
            message_limits: Limits::default(),
            max_body_bytes: 4 << 20,
            max_total_body_bytes: 128 << 20,
            body_timeout: Duration::from_secs(60),
            max_in_flight: 1_024,
            max_subscriptions: 10_000,
            max_in_flight_per_session: 64,
            max_streams_per_session: 8,
            max_sessions: 10_000,
            max_sessions_per_principal: 100,
            session_idle_timeout: Duration::from_secs(10 * 60),
            max_session_lifetime: Duration::from_secs(24 * 3_600),
            handshake_timeout: Duration::from_secs(60),
            max_queue_events: 256,
            max_queue_bytes: 1 << 20,
            keep_alive_interval: Duration::from_secs(15),
            sse_upgrade_delay: Duration::from_millis(250),
            sse_retry: Duration::from_secs(1),
            max_blocking_handlers: 64,
            shutdown_timeout: Duration::from_secs(5),
            #[cfg(feature = "legacy")]
            legacy: false,
            max_connections: 16_384,
            max_head_bytes: 64 << 10,
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
        }
    }
}

impl Options {
    /// Returns the defaults: local hosts and origins only, with sessions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps no state between requests, so that any replica can answer any request. Handlers can
    /// then not send requests to the client, and log levels, subscriptions, notifications outside a
    /// call and resumable streams are not available.
    #[must_use]
    pub fn without_sessions(mut self) -> Self {
        self.sessions = false;
        self
    }

    /// Sets the store that keeps events for clients that resume a stream. Default: [`MemoryStore`].
    #[must_use]
    pub fn with_event_store(mut self, store: impl EventStore) -> Self {
        self.event_store = Some(Arc::new(store));
        self
    }

    /// Keeps no events. Messages that are being sent when a connection breaks are lost.
    #[must_use]
    pub fn without_event_store(mut self) -> Self {
        self.event_store = None;
        self
    }

    /// Lets [`serve_with`](crate::serve_with) also serve clients of revision 2024-11-05: the event
    /// stream at `/sse`, messages at `/message`.
    #[cfg(feature = "legacy")]
    #[must_use]
    pub fn with_legacy(mut self) -> Self {
        self.legacy = true;
        self
    }
}
