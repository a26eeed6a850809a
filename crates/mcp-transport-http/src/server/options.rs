//! What an endpoint allows, and what it may cost.

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::Limits;

use super::allowed::{Allowed, Checked};
use super::store::{EventStore, MemoryStore};

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

    /// Also serves requests whose `Host` is `host`: `mcp.example.com` for every port of it,
    /// `mcp.example.com:8443` for that one. Default: `localhost`, `127.0.0.1` and `[::1]`.
    ///
    /// A web page can make a name of its own point to any address; that is why a server that
    /// listens on this machine must know its names.
    #[must_use]
    pub fn allow_host(mut self, host: &str) -> Self {
        self.hosts = self.hosts.allow(host);
        self
    }

    /// Serves requests whatever their `Host` is: for a server behind a proxy that checks it.
    #[must_use]
    pub fn allow_any_host(mut self) -> Self {
        self.hosts = Allowed::any();
        self
    }

    /// Also serves web pages of this origin, as in `https://app.example.com`. Default: pages
    /// served from this machine. Requests without an `Origin` come from no web page and pass.
    #[must_use]
    pub fn allow_origin(mut self, origin: &str) -> Self {
        self.origins = self.origins.allow(origin);
        self
    }

    /// Serves every web page the user's browser opens. Do this only where requests are
    /// authorized by something a browser does not send by itself.
    #[must_use]
    pub fn allow_any_origin(mut self) -> Self {
        self.origins = Allowed::any();
        self
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

    /// Sets the limits on depth and size of one message.
    #[must_use]
    pub fn with_frame(mut self, frame: Limits) -> Self {
        self.frame = frame;
        self
    }

    /// Sets the longest request body, in bytes. Default 4 MiB; a longer one is answered with 413.
    #[must_use]
    pub fn with_body_bytes(mut self, bytes: usize) -> Self {
        self.body_bytes = bytes;
        self
    }

    /// Sets how many bytes of request bodies may be in memory at once. Default 128 MiB; beyond
    /// that requests are answered with 503.
    #[must_use]
    pub fn with_bodies_bytes(mut self, bytes: usize) -> Self {
        self.bodies_bytes = bytes;
        self
    }

    /// Sets how long a request body may take to arrive, however slowly it trickles. Default 60 s;
    /// then 408.
    #[must_use]
    pub fn with_body_timeout(mut self, limit: Duration) -> Self {
        self.body_timeout = limit;
        self
    }

    /// Sets how many requests may run at once, in all. Default 1,024; one more is answered with
    /// 503. A request of a session whose connection broke counts until its handler ends.
    #[must_use]
    pub fn with_in_flight(mut self, requests: usize) -> Self {
        self.in_flight = requests;
        self
    }

    /// Sets how many subscriptions of clients without sessions may be open at once. They do not
    /// count as requests that run. Default 10,000; one more is answered with 503.
    #[must_use]
    pub fn with_subscriptions(mut self, subscriptions: usize) -> Self {
        self.subscriptions = subscriptions;
        self
    }

    /// Sets how many requests of one session may run at once. Default 64; one more is answered
    /// with 503.
    #[must_use]
    pub fn with_session_in_flight(mut self, requests: usize) -> Self {
        self.session_in_flight = requests;
        self
    }

    /// Sets how many streams one session may have open by GET. Default 8; one more is answered
    /// with 429.
    #[must_use]
    pub fn with_session_streams(mut self, streams: usize) -> Self {
        self.session_streams = streams;
        self
    }

    /// Sets how many sessions there may be. Default 10,000; one more is answered with 503.
    #[must_use]
    pub fn with_max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Sets how many sessions one principal may have. Default 100; one more is answered with
    /// 503.
    #[must_use]
    pub fn with_principal_sessions(mut self, sessions: usize) -> Self {
        self.principal_sessions = sessions;
        self
    }

    /// Sets how long a session may be idle: no request running, no stream open. Default 10 min.
    #[must_use]
    pub fn with_idle(mut self, limit: Duration) -> Self {
        self.idle = limit;
        self
    }

    /// Sets how long a session may last, used or not. Default 24 h. It ends once no request of
    /// it runs.
    #[must_use]
    pub fn with_lifetime(mut self, limit: Duration) -> Self {
        self.lifetime = limit;
        self
    }

    /// Sets how long a session may be idle whose client has not sent `notifications/initialized`.
    /// Default 60 s.
    #[must_use]
    pub fn with_handshake(mut self, limit: Duration) -> Self {
        self.handshake = limit;
        self
    }

    /// Sets how much may wait for a client that does not read its stream. Default 256 events and
    /// 1 MiB; beyond that the stream is closed, and the client gets the rest when it comes back.
    /// Without a session nobody can come back: then progress and log messages are dropped, and a
    /// subscription ends.
    #[must_use]
    pub fn with_queue(mut self, events: usize, bytes: usize) -> Self {
        self.queue_events = events;
        self.queue_bytes = bytes;
        self
    }

    /// Sets how often a quiet stream carries a comment, so that proxies keep it open, and how long
    /// a request without a session waits for a plain JSON answer before it becomes a stream.
    /// Default 15 s.
    #[must_use]
    pub fn with_keep_alive(mut self, interval: Duration) -> Self {
        self.keep_alive = interval;
        self
    }

    /// Sets how long a call of a session waits for a plain JSON answer before it becomes a stream,
    /// which proxies keep open and a client can come back to. Default 250 ms. A call whose handler
    /// sends something becomes a stream at once.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets when a client should come back after its stream broke. Default 1 s.
    #[must_use]
    pub fn with_retry(mut self, retry: Duration) -> Self {
        self.retry = retry;
        self
    }

    /// Sets how many blocking handlers may run at once. Default 64; one more is answered with an
    /// error.
    #[must_use]
    pub fn with_blocking(mut self, threads: usize) -> Self {
        self.blocking = threads;
        self
    }

    /// Sets how long [`Endpoint::close`](crate::Endpoint::close) waits for running handlers.
    /// Default 5 s.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
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

    /// Sets how many connections [`serve_with`](crate::serve_with) has open at once. Default
    /// 16,384; the next waits to be accepted. An HTTP server of your own has limits of its own.
    #[must_use]
    pub fn with_connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets the longest head of a request that [`serve_with`](crate::serve_with) reads, in bytes.
    /// Default 64 KiB, at least 8 KiB; a longer one is answered with 431.
    #[must_use]
    pub fn with_head_bytes(mut self, bytes: usize) -> Self {
        self.head_bytes = bytes;
        self
    }

    /// Sets how long [`serve_with`](crate::serve_with) waits for the head of a request, on a new
    /// connection and on one that was used before. Default 30 s; then the connection is closed.
    #[must_use]
    pub fn with_head_timeout(mut self, limit: Duration) -> Self {
        self.head_timeout = limit;
        self
    }

    /// Sets how long a client of [`serve_with`](crate::serve_with) may read nothing of what was
    /// written to it. Default 30 s; then the connection is closed.
    #[must_use]
    pub fn with_write_stall(mut self, limit: Duration) -> Self {
        self.write_stall = limit;
        self
    }

    /// What is wrong with them, for the person who starts the server.
    pub(crate) fn problem(&self) -> Option<String> {
        let hosts = self.hosts.problem_as(Checked::Host);
        hosts.or_else(|| self.origins.problem_as(Checked::Origin))
    }
}
