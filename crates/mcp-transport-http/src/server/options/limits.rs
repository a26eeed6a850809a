//! How much an endpoint holds at once.

use mcp_jsonrpc::Limits;

use super::Options;

impl Options {
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

    /// Sets how many blocking handlers may run at once. Default 64; one more is answered with an
    /// error.
    #[must_use]
    pub fn with_blocking(mut self, threads: usize) -> Self {
        self.blocking = threads;
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
}
