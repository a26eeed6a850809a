//! Limits and timeouts of one connection.

use std::time::Duration;

use mcp_protocol::MuxLimits;

/// Limits and timeouts of one connection, each with a default.
///
/// The defaults of clients and servers differ only in the line limit.
#[derive(Debug, Clone)]
pub struct StdioOptions {
    pub(crate) line_limit: usize,
    pub(crate) write_timeout: Duration,
    pub(crate) shutdown_timeout: Duration,
    pub(crate) drain_timeout: Duration,
    pub(crate) max_blocking_handlers: usize,
    pub(crate) max_stray_lines: usize,
    pub(crate) limits: MuxLimits,
    pub(crate) guard: bool,
}

impl StdioOptions {
    /// Returns the defaults of a server: lines of at most 4 MiB.
    pub fn for_server() -> Self {
        Self {
            line_limit: 4 << 20,
            write_timeout: Duration::from_secs(30),
            shutdown_timeout: Duration::from_millis(700),
            drain_timeout: Duration::from_millis(200),
            max_blocking_handlers: 64,
            max_stray_lines: 1_000,
            limits: MuxLimits::default(),
            guard: true,
        }
    }

    /// Returns the defaults of a client: lines of at most 16 MiB.
    pub fn for_client() -> Self {
        Self {
            line_limit: 16 << 20,
            ..Self::for_server()
        }
    }

    /// Sets the maximum length of a line, in bytes. A server answers a longer line with an error. A client logs a longer line and
    /// counts it as a [stray line](Self::with_max_stray_lines). If the line begins with the id of a call, the client fails this
    /// call. The connection stays open.
    #[must_use]
    pub fn with_line_limit(mut self, bytes: usize) -> Self {
        self.line_limit = bytes;
        self
    }

    /// Sets the write timeout: the connection is closed if the peer reads nothing for this long
    /// while output is queued. Default: 30 s.
    #[must_use]
    pub fn with_write_timeout(mut self, limit: Duration) -> Self {
        self.write_timeout = limit;
        self
    }

    /// Sets the shutdown timeout: how long a server waits for running handlers after its input has ended. Afterwards it cancels
    /// the handlers. Default: 700 ms.
    #[must_use]
    pub fn with_shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.shutdown_timeout = timeout;
        self
    }

    /// Sets how long a closed connection may take to write its remaining output. Default: 200 ms.
    #[must_use]
    pub fn with_drain_timeout(mut self, timeout: Duration) -> Self {
        self.drain_timeout = timeout;
        self
    }

    /// Sets how many blocking handlers may run at once. Further calls of blocking handlers are
    /// answered with an error. Default: 64.
    #[must_use]
    pub fn with_max_blocking_handlers(mut self, limit: usize) -> Self {
        self.max_blocking_handlers = limit;
        self
    }

    /// Sets how many stray lines (lines that are not messages) a client accepts from its server
    /// before it closes the connection. Default: 1,000.
    #[must_use]
    pub fn with_max_stray_lines(mut self, lines: usize) -> Self {
        self.max_stray_lines = lines;
        self
    }

    /// Sets how many requests and bytes the connection may hold at once.
    #[must_use]
    pub fn with_limits(mut self, limits: MuxLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Makes [`serve`](crate::serve) not change the file descriptors 0 and 1 while it runs.
    ///
    /// By default, on Unix, the protocol moves to private descriptors. Until serving ends, descriptor 1 points to stderr, and
    /// descriptor 0 points to the null device. Therefore, code and child processes that print or read by accident cannot break
    /// the session. On other systems, the descriptors are never changed.
    #[must_use]
    pub fn without_guard(mut self) -> Self {
        self.guard = false;
        self
    }
}
