//! Settings of an endpoint: access, limits and timeouts.

mod groups;
pub(crate) mod session_store;

use std::sync::Arc;

use crate::server::allow_list::{AllowList, SourceHeader};
use crate::server::event_store::{EventStore, MemoryEventStore};
use crate::server::options::session_store::StoreOptions;

pub use groups::{
    ConnectionLimits, MemoryLimits, RequestLimits, ServerTimeouts, SessionLimits, StreamOptions,
};

/// Settings of an [`Endpoint`](crate::Endpoint): which clients may reach the endpoint, and limits on memory and time. Every
/// setting has a default, and every limit is finite.
///
/// ```
/// use std::time::Duration;
///
/// use mcp_transport_http::ServerOptions;
///
/// let options = ServerOptions::new()
///     .allow_host("mcp.example.com")
///     .with_timeouts(|timeouts| timeouts.session_idle = Duration::from_secs(60))
///     .with_session_limits(|limits| limits.max_sessions = 1_000);
/// assert_eq!(options.session_limits().max_sessions, 1_000);
/// ```
#[derive(Debug, Clone)]
pub struct ServerOptions {
    pub(crate) hosts: AllowList,
    pub(crate) origins: AllowList,
    pub(crate) sessions: bool,
    pub(crate) stored: StoreOptions,
    pub(crate) event_store: Option<Arc<dyn EventStore>>,
    pub(crate) client_share_percent: u8,
    pub(crate) timeouts: ServerTimeouts,
    pub(crate) request_limits: RequestLimits,
    pub(crate) session_limits: SessionLimits,
    pub(crate) streams: StreamOptions,
    pub(crate) connection_limits: ConnectionLimits,
    pub(crate) memory: MemoryLimits,
    #[cfg(feature = "legacy")]
    pub(crate) legacy: bool,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            hosts: AllowList::loopback(),
            origins: AllowList::loopback(),
            sessions: true,
            stored: StoreOptions::default(),
            event_store: Some(Arc::new(MemoryEventStore::new())),
            client_share_percent: 10,
            timeouts: ServerTimeouts::default(),
            request_limits: RequestLimits::default(),
            session_limits: SessionLimits::default(),
            streams: StreamOptions::default(),
            connection_limits: ConnectionLimits::default(),
            memory: MemoryLimits::default(),
            #[cfg(feature = "legacy")]
            legacy: false,
        }
    }
}

impl ServerOptions {
    /// Creates the default settings: only hosts and origins of this machine are accepted, and the endpoint has sessions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the endpoint keep no state between requests, so that any replica can answer any request. Handlers then cannot send
    /// requests to the client. In addition, there are no log levels, no subscriptions, no notifications outside of a call, and no
    /// resumable streams.
    #[must_use]
    pub fn without_sessions(mut self) -> Self {
        self.sessions = false;
        self
    }

    /// Sets the store that keeps events for clients that resume a stream. Default:
    /// [`MemoryEventStore`].
    #[must_use]
    pub fn with_event_store(mut self, store: impl EventStore) -> Self {
        self.event_store = Some(Arc::new(store));
        self
    }

    /// Makes the endpoint store no events. If a connection is interrupted, the messages that were being sent are lost.
    #[must_use]
    pub fn without_event_store(mut self) -> Self {
        self.event_store = None;
        self
    }

    /// Makes [`serve_with`](crate::serve_with) also serve clients of revision 2024-11-05. Their event stream is at `/sse`, and
    /// their messages are posted to `/message`.
    #[cfg(feature = "legacy")]
    #[must_use]
    pub fn with_legacy(mut self) -> Self {
        self.legacy = true;
        self
    }

    /// Also accepts requests whose `Host` header names `host`. The value `mcp.example.com` allows every port, and
    /// `mcp.example.com:8443` allows only this port. Default: `localhost`, `127.0.0.1` and `[::1]`.
    ///
    /// This check protects against DNS rebinding. A web page can make the name of its own host resolve to any address, so a
    /// server on a local address has to check the name.
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        self.hosts = self.hosts.allow(host);
        self
    }

    /// Accepts requests with any `Host`. Use it for a server behind a proxy that checks the host.
    #[must_use]
    pub fn allow_any_host(mut self) -> Self {
        self.hosts = AllowList::any();
        self
    }

    /// Also accepts requests from web pages of this origin, for example `https://app.example.com`.
    /// Default: pages served from this machine. A request without `Origin` does not come from a web
    /// page and is accepted.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        self.origins = self.origins.allow(origin);
        self
    }

    /// Accepts requests from every web page. Use this setting only if requests need credentials that a browser does not add by
    /// itself, such as a bearer token.
    #[must_use]
    pub fn allow_any_origin(mut self) -> Self {
        self.origins = AllowList::any();
        self
    }

    /// Sets the share of one client in the limits that apply to all clients together. Default 10 percent. These are the limits on
    /// requests in flight, requests being received, subscriptions, sessions, and the bytes of requests and responses.
    ///
    /// A client is a principal or, without authentication, an address. Any client can use the first half of each limit. From the
    /// second half, each client can use at most this share of the limit. The last eighth of the limit is reserved for clients
    /// that do not use a part of the second half yet. A request that exceeds the share is rejected with 503. A new session that
    /// exceeds the share ends the sessions of the same client that have been idle for the longest time. With 100 percent, one
    /// client can use a whole limit. Use this value for a server whose clients are not authenticated and all have the address of
    /// one proxy. In another HTTP server, put a [`PeerAddr`](crate::PeerAddr) into the extensions of each request, so that the
    /// endpoint knows the addresses of the clients.
    #[must_use]
    pub fn with_client_share(mut self, percent: u8) -> Self {
        self.client_share_percent = percent;
        self
    }

    /// Changes the timeouts.
    #[must_use]
    pub fn with_timeouts(mut self, change: impl FnOnce(&mut ServerTimeouts)) -> Self {
        change(&mut self.timeouts);
        self
    }

    /// Returns the timeouts.
    pub fn timeouts(&self) -> &ServerTimeouts {
        &self.timeouts
    }

    /// Changes the limits on requests.
    #[must_use]
    pub fn with_request_limits(mut self, change: impl FnOnce(&mut RequestLimits)) -> Self {
        change(&mut self.request_limits);
        self
    }

    /// Returns the limits on requests.
    pub fn request_limits(&self) -> &RequestLimits {
        &self.request_limits
    }

    /// Changes the limits on sessions.
    #[must_use]
    pub fn with_session_limits(mut self, change: impl FnOnce(&mut SessionLimits)) -> Self {
        change(&mut self.session_limits);
        self
    }

    /// Returns the limits on sessions.
    pub fn session_limits(&self) -> &SessionLimits {
        &self.session_limits
    }

    /// Changes the options of event streams.
    #[must_use]
    pub fn with_streams(mut self, change: impl FnOnce(&mut StreamOptions)) -> Self {
        change(&mut self.streams);
        self
    }

    /// Returns the options of event streams.
    pub fn streams(&self) -> &StreamOptions {
        &self.streams
    }

    /// Changes the limits on connections.
    #[must_use]
    pub fn with_connection_limits(mut self, change: impl FnOnce(&mut ConnectionLimits)) -> Self {
        change(&mut self.connection_limits);
        self
    }

    /// Returns the limits on connections.
    pub fn connection_limits(&self) -> &ConnectionLimits {
        &self.connection_limits
    }

    /// Changes the limits on the memory that all clients use together.
    #[must_use]
    pub fn with_memory_limits(mut self, change: impl FnOnce(&mut MemoryLimits)) -> Self {
        change(&mut self.memory);
        self
    }

    /// Returns the limits on the memory that all clients use together.
    pub fn memory_limits(&self) -> &MemoryLimits {
        &self.memory
    }

    /// Returns an error message about the first invalid setting.
    pub(crate) fn problem(&self) -> Option<String> {
        let hosts = self.hosts.problem_as(SourceHeader::Host);
        hosts.or_else(|| self.origins.problem_as(SourceHeader::Origin))
    }
}

#[cfg(test)]
mod tests;
