//! How long an endpoint waits.

use std::time::Duration;

use super::Options;

impl Options {
    /// Sets how long a request body may take to arrive, however slowly it trickles. Default 60 s;
    /// then 408.
    #[must_use]
    pub fn with_body_timeout(mut self, limit: Duration) -> Self {
        self.body_timeout = limit;
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

    /// Sets how long [`Endpoint::close`](crate::Endpoint::close) waits for running handlers.
    /// Default 5 s.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
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
}
