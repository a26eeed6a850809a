//! How long an endpoint waits.

use std::time::Duration;

use super::Options;

impl Options {
    /// Sets the time limit for receiving a request body. Default 60 s; then the request is rejected
    /// with 408.
    #[must_use]
    pub fn with_body_timeout(mut self, limit: Duration) -> Self {
        self.body_timeout = limit;
        self
    }

    /// Sets how long a session may be idle, with no running request and no open stream. Default 10
    /// min.
    #[must_use]
    pub fn with_session_idle_timeout(mut self, limit: Duration) -> Self {
        self.session_idle_timeout = limit;
        self
    }

    /// Sets the maximum lifetime of a session. Default 24 h. A session that reaches it ends as soon
    /// as none of its requests is running.
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
    /// response. Default 30 s; then the connection is closed.
    #[must_use]
    pub fn with_write_timeout(mut self, limit: Duration) -> Self {
        self.write_timeout = limit;
        self
    }
}
