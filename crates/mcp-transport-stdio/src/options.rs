//! What one pipe may cost, and how patient this side is.

use std::time::Duration;

use mcp_protocol::MuxLimits;

/// Limits and timeouts of one pipe, each with a default.
///
/// The two roles differ in one of them only: a client accepts longer lines than a server.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) line_limit: usize,
    pub(crate) write_stall: Duration,
    pub(crate) grace: Duration,
    pub(crate) drain: Duration,
    pub(crate) blocking: usize,
    pub(crate) noise: usize,
    pub(crate) limits: MuxLimits,
    pub(crate) guard: bool,
}

impl Options {
    /// The defaults of a server: lines of at most 4 MiB.
    pub fn for_server() -> Self {
        Self {
            line_limit: 4 << 20,
            write_stall: Duration::from_secs(30),
            grace: Duration::from_millis(700),
            drain: Duration::from_millis(200),
            blocking: 64,
            noise: 1_000,
            limits: MuxLimits::default(),
            guard: true,
        }
    }

    /// The defaults of a client: lines of at most 16 MiB.
    pub fn for_client() -> Self {
        Self {
            line_limit: 16 << 20,
            ..Self::for_server()
        }
    }

    /// Sets the length of the longest line that is read, in bytes. A server answers a longer
    /// one with an error. A client logs it, counts it as [noise](Self::with_noise) and fails the
    /// call it answers, if it begins with the id. The stream goes on.
    #[must_use]
    pub fn with_line_limit(mut self, bytes: usize) -> Self {
        self.line_limit = bytes;
        self
    }

    /// Sets how long the peer may leave its end unread while there is something to write,
    /// before the connection is closed. Default 30 s.
    #[must_use]
    pub fn with_write_stall(mut self, limit: Duration) -> Self {
        self.write_stall = limit;
        self
    }

    /// Sets how long a server waits for running handlers once its input has ended. Default
    /// 700 ms; what still runs then is cancelled.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how long the last output may take once a connection is closed. Default 200 ms.
    #[must_use]
    pub fn with_drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Sets how many blocking handlers may run at once. Default 64; one more is answered with
    /// an error.
    #[must_use]
    pub fn with_blocking(mut self, threads: usize) -> Self {
        self.blocking = threads;
        self
    }

    /// Sets how many lines that are no messages a client tolerates from its server before it
    /// closes the connection. Default 1,000.
    #[must_use]
    pub fn with_noise(mut self, lines: usize) -> Self {
        self.noise = lines;
        self
    }

    /// Sets what the connection may hold at once.
    #[must_use]
    pub fn with_limits(mut self, limits: MuxLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Leaves file descriptors 0 and 1 alone while [`serve`](crate::serve) runs.
    ///
    /// By default, on Unix, the protocol moves to private descriptors; until serving ends,
    /// descriptor 1 points to stderr and descriptor 0 to nothing. Whatever prints or reads by
    /// accident, a child process included, then cannot break the session. Other systems have
    /// no such guard.
    #[must_use]
    pub fn without_guard(mut self) -> Self {
        self.guard = false;
        self
    }
}
