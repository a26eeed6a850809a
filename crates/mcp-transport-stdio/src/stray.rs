//! Lines from a server that are not messages (stray lines). The client tolerates and counts stray lines, and quotes the first
//! stray line in errors.
//!
//! The most frequent mistake of stdio servers is a library that prints to stdout. A client must not answer stray lines, and
//! should help to find out what printed them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use mcp_jsonrpc::{ParseError, ParseErrorKind, quote};
use mcp_protocol::{Closed, ForwardInbound, Inbound};

/// Maximum number of characters of a stray line that are quoted.
const MAX_QUOTED: usize = 200;

/// The stray lines of one connection.
#[derive(Debug)]
pub(crate) struct StrayOutput {
    limit: usize,
    count: AtomicUsize,
    first: OnceLock<String>,
}

impl StrayOutput {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            count: AtomicUsize::new(0),
            first: OnceLock::new(),
        })
    }

    /// Records a line that is not JSON.
    fn record(&self, line: &[u8]) {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let text = String::from_utf8_lossy(line);
        let quote = format!("{:#}", quote(text.trim_end(), MAX_QUOTED));
        if count == 0 {
            tracing::warn!(
                line = quote,
                "the server wrote a line to its stdout that is not a message; \
                 servers must write logs to stderr"
            );
            let _ = self.first.set(quote);
        } else {
            tracing::debug!(
                line = quote,
                count,
                "the server wrote another line that is not a message"
            );
        }
    }

    /// Records a line that was dropped because of its length.
    pub(crate) fn too_long(&self, limit: usize) {
        self.count.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            limit,
            "dropped a line of the server that is longer than \
             StdioOptions::with_line_limit; a call may have lost its response"
        );
        let _ = self.first.set(format!(
            "a line of more than {limit} bytes, the limit of StdioOptions::with_line_limit"
        ));
    }

    /// Returns whether there are more stray lines than the limit allows.
    pub(crate) fn is_over(&self) -> bool {
        self.count.load(Ordering::Relaxed) > self.limit
    }

    /// Returns the reason for closing the connection when there are more stray lines than the limit allows.
    pub(crate) fn limit_reason(&self) -> Closed {
        Closed::protocol(format!(
            "the server wrote more than {} lines that are not messages, which is the limit of \
             StdioOptions::with_max_stray_lines",
            self.limit
        ))
    }

    /// Adds the number of stray lines and the first stray line to the reason why the connection ended.
    pub(crate) fn explain(&self, reason: Closed) -> Closed {
        match (self.count.load(Ordering::Relaxed), self.first.get()) {
            (count @ 1.., Some(first)) => reason.with_detail(format!(
                "{count} line(s) on the server's stdout were not messages, the first: {first}"
            )),
            _ => reason,
        }
    }
}

/// A filter between the [`Mux`](mcp_protocol::Mux) and the client. It removes stray lines.
pub(crate) struct StrayFilter {
    pub(crate) inner: Arc<dyn Inbound>,
    pub(crate) stray: Arc<StrayOutput>,
}

impl ForwardInbound for StrayFilter {
    fn inner(&self) -> &dyn Inbound {
        &*self.inner
    }

    fn unreadable(&self, frame: &[u8], error: &ParseError) -> bool {
        if error.kind() == ParseErrorKind::Syntax && error.id().is_none() {
            self.stray.record(frame);
            return false;
        }
        self.inner.unreadable(frame, error)
    }
}
