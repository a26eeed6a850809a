//! What an endpoint allows, and what it may cost.

mod access;
mod limits;
mod timeouts;

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::Limits;

use crate::server::request::allowed::Allowed;
use crate::server::stream::store::{EventStore, MemoryStore};

/// Who may reach an [`Endpoint`](crate::Endpoint), and what it may hold at once. Everything has a
/// default, nothing is unlimited.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) hosts: Allowed,
    pub(crate) origins: Allowed,
    pub(crate) sessions: bool,
    pub(crate) store: Option<Arc<dyn EventStore>>,
    pub(crate) frame: Limits,
    pub(crate) body_bytes: usize,
    pub(crate) bodies_bytes: usize,
    pub(crate) body_timeout: Duration,
    pub(crate) in_flight: usize,
    pub(crate) subscriptions: usize,
    pub(crate) session_in_flight: usize,
    pub(crate) session_streams: usize,
    pub(crate) max_sessions: usize,
    pub(crate) principal_sessions: usize,
    pub(crate) idle: Duration,
    pub(crate) lifetime: Duration,
    pub(crate) handshake: Duration,
    pub(crate) queue_events: usize,
    pub(crate) queue_bytes: usize,
    pub(crate) keep_alive: Duration,
    pub(crate) patience: Duration,
    pub(crate) retry: Duration,
    pub(crate) blocking: usize,
    pub(crate) grace: Duration,
    #[cfg(feature = "legacy")]
    pub(crate) legacy: bool,
    pub(crate) connections: usize,
    pub(crate) head_bytes: usize,
    pub(crate) head_timeout: Duration,
    pub(crate) write_stall: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hosts: Allowed::loopback(),
            origins: Allowed::loopback(),
            sessions: true,
            store: Some(Arc::new(MemoryStore::new())),
            frame: Limits::default(),
            body_bytes: 4 << 20,
            bodies_bytes: 128 << 20,
            body_timeout: Duration::from_secs(60),
            in_flight: 1_024,
            subscriptions: 10_000,
            session_in_flight: 64,
            session_streams: 8,
            max_sessions: 10_000,
            principal_sessions: 100,
            idle: Duration::from_secs(10 * 60),
            lifetime: Duration::from_secs(24 * 3_600),
            handshake: Duration::from_secs(60),
            queue_events: 256,
            queue_bytes: 1 << 20,
            keep_alive: Duration::from_secs(15),
            patience: Duration::from_millis(250),
            retry: Duration::from_secs(1),
            blocking: 64,
            grace: Duration::from_secs(5),
            #[cfg(feature = "legacy")]
            legacy: false,
            connections: 16_384,
            head_bytes: 64 << 10,
            head_timeout: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
        }
    }
}

impl Options {
    /// The defaults: reachable by the names of this machine alone, with sessions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps nothing between requests, so that any number of replicas can answer. Handlers can
    /// then ask the client nothing, and log levels, subscriptions, notifications outside a call
    /// and coming back for a lost answer are not available.
    #[must_use]
    pub fn without_sessions(mut self) -> Self {
        self.sessions = false;
        self
    }

    /// Sets where events are kept for clients that come back. Default: [`MemoryStore`].
    #[must_use]
    pub fn with_store(mut self, store: impl EventStore) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Keeps no events: what is on its way when a connection breaks is lost.
    #[must_use]
    pub fn without_store(mut self) -> Self {
        self.store = None;
        self
    }

    /// Lets [`serve_with`](crate::serve_with) serve clients of revision 2024-11-05 too: their
    /// stream at `/sse`, their messages at `/message`.
    #[cfg(feature = "legacy")]
    #[must_use]
    pub fn with_legacy(mut self) -> Self {
        self.legacy = true;
        self
    }
}
