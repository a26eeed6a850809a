//! The settings of an endpoint, in groups: timeouts, streams, and limits.

use std::time::Duration;

use mcp_jsonrpc::Limits;

/// Time limits of a server. Set them with [`ServerOptions::with_timeouts`](crate::ServerOptions::with_timeouts).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerTimeouts {
    /// Maximum time for receiving a request body. Default 60 s. After this time, the request is rejected with 408.
    pub body: Duration,
    /// Maximum time that a session may be idle before its client has sent `notifications/initialized`. Default 60 s.
    pub handshake: Duration,
    /// Maximum time that [`serve_with`](crate::serve_with) waits for a request head, on a new connection and between requests.
    /// Default 30 s. After this time, the connection is closed.
    pub head: Duration,
    /// Maximum time that [`serve_with`](crate::serve_with) waits for a client that does not read its response. Default 30 s.
    /// After this time, the connection is closed. Over HTTP/2, a stream is reset if its client does not take 64 KiB of the
    /// response in this time.
    pub write: Duration,
    /// Maximum time that [`Endpoint::close`](crate::Endpoint::close) waits for running requests. Default 5 s.
    pub shutdown: Duration,
    /// Maximum time that a session may be idle, which means that it has no running request and no open stream. Default 10 min.
    pub session_idle: Duration,
    /// Maximum lifetime of a session. Default 24 h. A session that reaches this age accepts no more requests. When its last
    /// running request has finished, the session and its streams end.
    pub session_lifetime: Duration,
    /// Maximum time of one call to the session store. If a call takes longer, its request is rejected with 503. Default: 5 s.
    pub session_store: Duration,
}

impl Default for ServerTimeouts {
    fn default() -> Self {
        Self {
            body: Duration::from_secs(60),
            handshake: Duration::from_secs(60),
            head: Duration::from_secs(30),
            write: Duration::from_secs(30),
            shutdown: Duration::from_secs(5),
            session_idle: Duration::from_secs(10 * 60),
            session_lifetime: Duration::from_secs(24 * 3_600),
            session_store: Duration::from_secs(5),
        }
    }
}

/// Limits on requests. Set them with [`ServerOptions::with_request_limits`](crate::ServerOptions::with_request_limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLimits {
    /// Maximum number of requests that run at once. Default 1,024. Further requests are rejected with 503. A request counts until
    /// its client has received the response. If the client of a session disconnects, a request of the session counts until its
    /// handler ends.
    pub max_in_flight: usize,
    /// Maximum number of requests whose bodies are being received. A request whose body arrives together with its head does not
    /// count. Default 1,024. Further requests are rejected with 503.
    pub max_receiving: usize,
    /// Maximum number of open subscriptions of the stateless revision. A subscription does not count as a running request.
    /// Default 10,000. Further subscriptions are rejected with 503.
    pub max_subscriptions: usize,
    /// Maximum number of blocking handlers that run at once. Default 64. Further calls are answered with an error.
    pub max_blocking_handlers: usize,
    /// Maximum size of a request body, in bytes. Default 4 MiB. A larger body is rejected with 413.
    pub max_body_bytes: usize,
    /// Minimum rate at which a request body must arrive, in bytes per second. The rate is measured as the average over 5 s.
    /// Default 1,024. A slower request is rejected with 408.
    pub min_body_rate: usize,
    /// Limits on the depth and the size of one JSON-RPC message.
    pub message: Limits,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            max_in_flight: 1_024,
            max_receiving: 1_024,
            max_subscriptions: 10_000,
            max_blocking_handlers: 64,
            max_body_bytes: 4 << 20,
            min_body_rate: 1 << 10,
            message: Limits::default(),
        }
    }
}

/// Limits on sessions. Set them with [`ServerOptions::with_session_limits`](crate::ServerOptions::with_session_limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionLimits {
    /// Maximum number of open streams that one session has opened by GET. Default 8. Further streams are rejected with 429.
    pub max_streams_per_session: usize,
    /// Maximum number of requests of one session that run at once. Default 64. Further requests are rejected with 503.
    pub max_in_flight_per_session: usize,
    /// Maximum number of sessions. Default 10,000. At the limit, the server ends idle sessions without a principal to make room.
    /// It chooses the clients whose sessions use the most memory, and ends the sessions of these clients that have been idle for
    /// the longest time. If the server can end no session, it rejects new sessions with 503.
    pub max_sessions: usize,
    /// Maximum number of sessions of one principal. Default 100. Further sessions are rejected with 503.
    pub max_sessions_per_principal: usize,
    /// Maximum number of calls to the session store that run at once. Default 1,024. Further requests of sessions are rejected
    /// with 503.
    pub max_store_calls: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            max_streams_per_session: 8,
            max_in_flight_per_session: 64,
            max_sessions: 10_000,
            max_sessions_per_principal: 100,
            max_store_calls: 1_024,
        }
    }
}

/// Options of a server's event streams. Set them with [`ServerOptions::with_streams`](crate::ServerOptions::with_streams).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamOptions {
    /// Interval at which a comment is sent on an idle event stream, so that proxies keep it open. The response to a call of the
    /// stateless revision becomes an event stream after the same time. Default 15 s.
    pub keep_alive_interval: Duration,
    /// Delay after which the response to a call in a session becomes an event stream. Proxies keep an event stream open, and a
    /// client can resume it. Default 250 ms. A call whose handler sends a message becomes a stream at once.
    pub upgrade_delay: Duration,
    /// Delay after which a client should reconnect an interrupted stream (the SSE field `retry`). Default 1 s.
    pub reconnect_delay: Duration,
    /// Maximum number of events that are queued for a client that does not read its stream. Default 256. If there are more
    /// events, the stream is closed, and the client receives the remaining events when it resumes the stream. A stream of the
    /// stateless revision cannot be resumed. There, progress and log messages are dropped instead, and a subscription ends.
    pub max_queued_events: usize,
    /// Maximum size of the events that are queued for a client that does not read its stream, in bytes. Default 1 MiB.
    pub max_queued_bytes: usize,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            keep_alive_interval: Duration::from_secs(15),
            upgrade_delay: Duration::from_millis(250),
            reconnect_delay: Duration::from_secs(1),
            max_queued_events: 256,
            max_queued_bytes: 1 << 20,
        }
    }
}

/// Limits on the connections of [`serve_with`](crate::serve_with). Set them with
/// [`ServerOptions::with_connection_limits`](crate::ServerOptions::with_connection_limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// Maximum number of connections that [`serve_with`](crate::serve_with) has open at once. Default 4,096. Further connections
    /// wait to be accepted. Any address can use the first half of this number. From the second half, each address can use at most
    /// [its share](crate::ServerOptions::with_client_share) of this number, and further connections of the address are closed.
    /// If more than seven eighths are open, idle connections are closed, beginning with the addresses that have the most idle
    /// connections. Each connection needs an open file. On Unix, `serve_with` therefore raises the limit of open files to four
    /// times this number, as far as the hard limit allows it. When `serve_with` starts, it also limits the connections to three
    /// quarters of the files that the process can still open. If the endpoint is mounted in another HTTP server, the limits of
    /// that server apply.
    pub max_connections: usize,
    /// Maximum number of requests and streams that one HTTP/2 connection has open at once in [`serve_with`](crate::serve_with).
    /// Default 32. At the limit, a client waits or opens another connection.
    pub max_streams_per_connection: u32,
    /// Maximum size of a request head (request line and headers) for [`serve_with`](crate::serve_with), in bytes. Default 64 KiB,
    /// at least 8 KiB. A larger head is rejected with 431. Over HTTP/2, the limit is always 16 KiB. A head may have at most 100
    /// headers.
    pub max_head_bytes: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_connections: 4_096,
            max_streams_per_connection: 32,
            max_head_bytes: 64 << 10,
        }
    }
}

/// Limits on the memory that all clients use together, in bytes. Set them with
/// [`ServerOptions::with_memory_limits`](crate::ServerOptions::with_memory_limits).
/// [`ServerOptions::with_memory`](crate::ServerOptions::with_memory) sets all of them at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryLimits {
    /// Maximum total size, in bytes, of all request bodies in memory. The parsed form of a body also counts while the handler
    /// runs, unless it is below 16 KiB. Default 48 MiB. Further requests are rejected with 503. In
    /// [`serve_with`](crate::serve_with), the buffer for an HTTP/1.1 head above 8 KiB also counts while its connection is open. A
    /// connection that exceeds the limit is closed.
    pub max_request_bytes: usize,
    /// Maximum total size, in bytes, of responses and events that wait for their clients. Default 48 MiB. A response that exceeds
    /// the limit is replaced with an error. A stream that exceeds the limit ends, and can be resumed. While more than seven
    /// eighths of the limit are in use, the server responds with 503 to new requests of clients that use a part of the second
    /// half (see [`with_client_share`](crate::ServerOptions::with_client_share)). During this time,
    /// [`serve_with`](crate::serve_with) also ends the connections (over HTTP/2, the streams) whose clients have not read for the
    /// longest time. Responses below 16 KiB are not counted, because the number of requests in flight limits them.
    pub max_response_bytes: usize,
    /// Maximum memory of all sessions, in bytes. Default 24 MiB. A session counts as 5 KiB, plus up to 96 KiB for the client
    /// identity. This estimate is an upper bound. One client can use [its share](crate::ServerOptions::with_client_share) of the
    /// second half. At the limit, the server ends idle sessions without a principal, beginning with the clients whose sessions
    /// use the most memory. If the server can end no session, it rejects new sessions with 503.
    pub max_session_bytes: usize,
    /// Maximum memory of all subscriptions of the stateless revision and of all open GET streams of sessions, in bytes. Default
    /// 32 MiB. Further subscriptions and streams are rejected with 503. A subscription counts as 28 KiB, plus the client identity
    /// and the request head. A stream counts as 16 KiB, plus the request head. Both numbers include the connection.
    pub max_stream_bytes: usize,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            max_request_bytes: 48 << 20,
            max_response_bytes: 48 << 20,
            max_session_bytes: 24 << 20,
            max_stream_bytes: 32 << 20,
        }
    }
}
