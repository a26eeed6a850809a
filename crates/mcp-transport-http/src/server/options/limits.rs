//! How much an endpoint accepts and holds at once.

use mcp_jsonrpc::Limits;

use super::Options;

impl Options {
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

    /// Sets the maximum total size of all request bodies in memory, in bytes. Default 128 MiB;
    /// further requests are rejected with 503.
    #[must_use]
    pub fn with_max_total_body_bytes(mut self, bytes: usize) -> Self {
        self.max_total_body_bytes = bytes;
        self
    }

    /// Sets the maximum number of requests that run at once. Default 1,024; further requests are
    /// rejected with 503. A request of a session whose client has disconnected counts until its
    /// handler ends.
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

    /// Sets the maximum number of sessions. Default 10,000; further ones are rejected with 503.
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
    /// once. Default 16,384; further ones wait to be accepted. If the endpoint is mounted in
    /// another HTTP server, the limits of that server apply.
    #[must_use]
    pub fn with_max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections;
        self
    }

    /// Sets the maximum size of a request head (request line and headers) for
    /// [`serve_with`](crate::serve_with), in bytes. Default 64 KiB, at least 8 KiB; a larger head
    /// is rejected with 431.
    #[must_use]
    pub fn with_max_head_bytes(mut self, bytes: usize) -> Self {
        self.max_head_bytes = bytes;
        self
    }
}
