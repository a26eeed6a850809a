//! Settings of an endpoint: access, limits and timeouts.

pub(crate) mod session_store;

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::Limits;

use crate::server::allow_list::{AllowList, SourceHeader};
use crate::server::event_store::{EventStore, MemoryEventStore};
use crate::server::options::session_store::StoreOptions;

/// Settings of an [`Endpoint`](crate::Endpoint): which clients may reach it, and limits on memory
/// and time. Every setting has a default, and every limit is finite.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    pub(crate) hosts: AllowList,
    pub(crate) origins: AllowList,
    pub(crate) sessions: bool,
    pub(crate) stored: StoreOptions,
    pub(crate) event_store: Option<Arc<dyn EventStore>>,
    pub(crate) message_limits: Limits,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_total_body_bytes: usize,
    pub(crate) max_total_response_bytes: usize,
    pub(crate) client_share_percent: u8,
    pub(crate) body_timeout: Duration,
    pub(crate) min_body_rate: usize,
    pub(crate) max_receiving: usize,
    pub(crate) max_in_flight: usize,
    pub(crate) max_subscriptions: usize,
    pub(crate) max_in_flight_per_session: usize,
    pub(crate) max_streams_per_session: usize,
    pub(crate) max_sessions: usize,
    pub(crate) max_sessions_per_principal: usize,
    pub(crate) max_total_session_bytes: usize,
    pub(crate) max_total_stream_bytes: usize,
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
    pub(crate) max_streams_per_connection: u32,
    pub(crate) max_head_bytes: usize,
    pub(crate) head_timeout: Duration,
    pub(crate) write_timeout: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            hosts: AllowList::loopback(),
            origins: AllowList::loopback(),
            sessions: true,
            stored: StoreOptions::default(),
            event_store: Some(Arc::new(MemoryEventStore::new())),
            message_limits: Limits::default(),
            max_body_bytes: 4 << 20,
            max_total_body_bytes: 96 << 20,
            max_total_response_bytes: 96 << 20,
            client_share_percent: 10,
            body_timeout: Duration::from_secs(60),
            min_body_rate: 1 << 10,
            max_receiving: 1_024,
            max_in_flight: 1_024,
            max_subscriptions: 10_000,
            max_in_flight_per_session: 64,
            max_streams_per_session: 8,
            max_sessions: 10_000,
            max_sessions_per_principal: 100,
            max_total_session_bytes: 96 << 20,
            max_total_stream_bytes: 96 << 20,
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
            max_streams_per_connection: 32,
            max_head_bytes: 64 << 10,
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
        }
    }
}

impl ServerOptions {
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

    /// Sets the store that keeps events for clients that resume a stream. Default:
    /// [`MemoryEventStore`].
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

    /// Also accepts requests whose `Host` is `host`: `mcp.example.com` for every port,
    /// `mcp.example.com:8443` for that port only. Default: `localhost`, `127.0.0.1` and `[::1]`.
    ///
    /// This protects against DNS rebinding: a web page can make its own host name resolve to any
    /// address, so a server on a local address has to check the name.
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

    /// Accepts requests from every web page. Use it only if requests are authenticated by something
    /// that a browser does not send on its own, such as a bearer token.
    #[must_use]
    pub fn allow_any_origin(mut self) -> Self {
        self.origins = AllowList::any();
        self
    }

    /// Sets the limits on the depth and the size of one JSON-RPC message.
    #[must_use]
    pub fn with_message_limits(mut self, frame: Limits) -> Self {
        self.message_limits = frame;
        self
    }

    /// Sets the maximum size of a request body, in bytes. Default 4 MiB; a larger body is rejected
    /// with 413.
    #[must_use]
    pub fn with_max_body_bytes(mut self, bytes: usize) -> Self {
        self.max_body_bytes = bytes;
        self
    }

    /// Sets the maximum total size in bytes of all request bodies in memory, and of their
    /// parsed forms, as long as handlers run. A parsed form below 16 KiB does not count. Default 96 MiB; further requests
    /// are rejected with 503. In [`serve_with`](crate::serve_with), the buffers for HTTP/1.1 heads above 8 KiB count
    /// too, as long as their connection is open; a connection that exceeds the limit is closed.
    #[must_use]
    pub fn with_max_total_body_bytes(mut self, bytes: usize) -> Self {
        self.max_total_body_bytes = bytes;
        self
    }

    /// Sets the maximum total size, in bytes, of responses and events that wait for their clients.
    /// Default 96 MiB. A response that exceeds it is replaced by an error, and a stream ends and
    /// can be resumed. While more than seven eighths are in use, the server responds with 503 to new
    /// requests of clients that have taken a part of the second half (see
    /// [`with_client_share`](Self::with_client_share)). [`serve_with`](crate::serve_with) then also ends the connections
    /// (over HTTP/2, the streams) whose clients have not read for the longest time.
    /// Responses below 16 KiB are not counted; the number of requests in flight limits them.
    #[must_use]
    pub fn with_max_total_response_bytes(mut self, bytes: usize) -> Self {
        self.max_total_response_bytes = bytes;
        self
    }

    /// Sets the share of one client in the limits that all clients have in common: requests in
    /// flight or being received, subscriptions, sessions, bytes of requests and of responses. Default
    /// 10 percent.
    ///
    /// A client is a principal, or without authentication an address. Half of each limit is
    /// available to every client. Of the other half, each client can take this share of the limit, and
    /// the last eighth is for clients that have not taken a part of it yet;
    /// beyond the share, the client gets 503, or a new session ends the ones that the client has not used
    /// longest. With 100 percent, one client can take all of a limit, which
    /// suits a server whose clients all come from the address of one proxy and are not
    /// authenticated. An endpoint in another HTTP server learns addresses from a
    /// [`PeerAddr`](crate::PeerAddr) in the extensions of a request.
    #[must_use]
    pub fn with_client_share(mut self, percent: u8) -> Self {
        self.client_share_percent = percent;
        self
    }

    /// Sets the maximum number of requests that run at once. Default 1,024; further requests are
    /// rejected with 503. A request counts until its client has taken the response. A request of a
    /// session whose client has disconnected counts until its handler ends.
    #[must_use]
    pub fn with_max_in_flight(mut self, requests: usize) -> Self {
        self.max_in_flight = requests;
        self
    }

    /// Sets the maximum number of open subscriptions of clients without sessions. They do not count
    /// as running requests. Default 10,000; further ones are rejected with 503.
    #[must_use]
    pub fn with_max_subscriptions(mut self, subscriptions: usize) -> Self {
        self.max_subscriptions = subscriptions;
        self
    }

    /// Sets the maximum number of requests of one session that run at once. Default 64; further
    /// requests are rejected with 503.
    #[must_use]
    pub fn with_max_in_flight_per_session(mut self, requests: usize) -> Self {
        self.max_in_flight_per_session = requests;
        self
    }

    /// Sets the maximum number of streams that one session has open by GET. Default 8; further ones
    /// are rejected with 429.
    #[must_use]
    pub fn with_max_streams_per_session(mut self, streams: usize) -> Self {
        self.max_streams_per_session = streams;
        self
    }

    /// Sets the maximum number of sessions. Default 10,000. At the limit, sessions without a
    /// principal that have been idle longest end, first those of the clients whose sessions use the most memory. If no
    /// session can end, new sessions are rejected with 503.
    #[must_use]
    pub fn with_max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Sets the maximum number of sessions of one principal. Default 100; further ones are rejected
    /// with 503.
    #[must_use]
    pub fn with_max_sessions_per_principal(mut self, sessions: usize) -> Self {
        self.max_sessions_per_principal = sessions;
        self
    }

    /// Sets the maximum number of events, and their size in bytes, that are queued for a client
    /// that does not read its stream. Default 256 events and 1 MiB. Beyond that the stream is
    /// closed, and the client receives the rest when it resumes. Without a session a stream cannot
    /// be resumed: progress and log messages are then dropped, and a subscription ends.
    #[must_use]
    pub fn with_max_queue(mut self, events: usize, bytes: usize) -> Self {
        self.max_queue_events = events;
        self.max_queue_bytes = bytes;
        self
    }

    /// Sets the maximum number of blocking handlers that run at once. Default 64; further calls are
    /// answered with an error.
    #[must_use]
    pub fn with_max_blocking_handlers(mut self, threads: usize) -> Self {
        self.max_blocking_handlers = threads;
        self
    }

    /// Sets the maximum number of connections that [`serve_with`](crate::serve_with) has open at
    /// once. Default 16,384; further connections wait to be accepted. Of the second half, one address can have
    /// [its share](Self::with_client_share); its further connections are closed. If the endpoint is mounted in
    /// another HTTP server, the limits of that server apply.
    #[must_use]
    pub fn with_max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections;
        self
    }

    /// Sets the maximum number of requests and streams that one HTTP/2 connection has open at once
    /// in [`serve_with`](crate::serve_with). Default 32; a client waits or opens another connection.
    #[must_use]
    pub fn with_max_streams_per_connection(mut self, streams: u32) -> Self {
        self.max_streams_per_connection = streams;
        self
    }

    /// Sets the maximum size of a request head (request line and headers) for
    /// [`serve_with`](crate::serve_with), in bytes. Default 64 KiB, at least 8 KiB; a larger head
    /// is rejected with 431. Over HTTP/2 a head has at most 16 KiB. A head has at most 100 headers.
    #[must_use]
    pub fn with_max_head_bytes(mut self, bytes: usize) -> Self {
        self.max_head_bytes = bytes;
        self
    }

    /// Sets the time limit for receiving a request body. Default 60 s; then the request is rejected
    /// with 408.
    #[must_use]
    pub fn with_body_timeout(mut self, limit: Duration) -> Self {
        self.body_timeout = limit;
        self
    }

    /// Sets the minimum rate at which a request body has to arrive, in bytes per second, on average
    /// over each 5 s. Default 1,024; a slower request is rejected with 408.
    #[must_use]
    pub fn with_min_body_rate(mut self, bytes: usize) -> Self {
        self.min_body_rate = bytes;
        self
    }

    /// Sets the maximum number of requests whose bodies are being received. Requests whose bodies
    /// arrive together with their heads do not count. Default 1,024; further requests are rejected
    /// with 503.
    #[must_use]
    pub fn with_max_receiving(mut self, requests: usize) -> Self {
        self.max_receiving = requests;
        self
    }

    /// Sets how long a session may be idle, with no running request and no open stream. Default 10
    /// min.
    #[must_use]
    pub fn with_session_idle_timeout(mut self, limit: Duration) -> Self {
        self.session_idle_timeout = limit;
        self
    }

    /// Sets the maximum lifetime of a session. Default 24 h. A session that reaches it accepts no
    /// more requests, and ends with its streams as soon as none of its requests is running.
    #[must_use]
    pub fn with_max_session_lifetime(mut self, limit: Duration) -> Self {
        self.max_session_lifetime = limit;
        self
    }

    /// Sets the idle timeout of a session whose client has not sent `notifications/initialized`
    /// yet. Default 60 s.
    #[must_use]
    pub fn with_handshake_timeout(mut self, limit: Duration) -> Self {
        self.handshake_timeout = limit;
        self
    }

    /// Sets how often an idle event stream sends a comment, so that proxies keep it open. A call
    /// without a session becomes an event stream after the same time. Default 15 s.
    #[must_use]
    pub fn with_keep_alive_interval(mut self, interval: Duration) -> Self {
        self.keep_alive_interval = interval;
        self
    }

    /// Sets the delay after which a call of a session becomes an event stream, which proxies keep
    /// open and a client can resume. Default 250 ms. A call whose handler sends a message becomes a
    /// stream at once.
    #[must_use]
    pub fn with_sse_upgrade_delay(mut self, delay: Duration) -> Self {
        self.sse_upgrade_delay = delay;
        self
    }

    /// Sets the delay after which a client reconnects a broken stream (the SSE field `retry`).
    /// Default 1 s.
    #[must_use]
    pub fn with_sse_retry(mut self, retry: Duration) -> Self {
        self.sse_retry = retry;
        self
    }

    /// Sets how long [`Endpoint::close`](crate::Endpoint::close) waits for running requests.
    /// Default 5 s.
    #[must_use]
    pub fn with_shutdown_timeout(mut self, limit: Duration) -> Self {
        self.shutdown_timeout = limit;
        self
    }

    /// Sets how long [`serve_with`](crate::serve_with) waits for a request head, on a new
    /// connection and between requests. Default 30 s; then the connection is closed.
    #[must_use]
    pub fn with_head_timeout(mut self, limit: Duration) -> Self {
        self.head_timeout = limit;
        self
    }

    /// Sets how long [`serve_with`](crate::serve_with) waits for a client that does not read its
    /// response. Default 30 s; then the connection is closed. Over HTTP/2, a stream is reset if its
    /// client does not take 64 KiB of the response in this time.
    #[must_use]
    pub fn with_write_timeout(mut self, limit: Duration) -> Self {
        self.write_timeout = limit;
        self
    }

    /// Returns the first invalid setting as an error message.
    pub(crate) fn problem(&self) -> Option<String> {
        let hosts = self.hosts.problem_as(SourceHeader::Host);
        hosts.or_else(|| self.origins.problem_as(SourceHeader::Origin))
    }
}
