//! Lines of a server that are no messages: tolerated, counted, and quoted once.
//!
//! A library that prints to stdout is the most frequent mistake of stdio servers. A client must
//! not answer such lines, must survive them, and should help to find who prints.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use mcp_jsonrpc::{Notification, ParseError, ParseErrorKind, Request};
use mcp_protocol::{Closed, Exchange, Inbound, Link, Reply};

/// Characters quoted of the first such line.
const QUOTE: usize = 200;

/// What was counted on one connection.
#[derive(Debug)]
pub(crate) struct Noise {
    limit: usize,
    count: AtomicUsize,
    first: OnceLock<String>,
}

impl Noise {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            count: AtomicUsize::new(0),
            first: OnceLock::new(),
        })
    }

    /// A line that is no JSON at all.
    fn record(&self, line: &[u8]) {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let quote = printable(&String::from_utf8_lossy(line), QUOTE);
        if count == 0 {
            tracing::warn!(
                line = quote,
                "the server wrote a line to its stdout that is no message; \
                 only messages belong there, logs go to stderr"
            );
            let _ = self.first.set(quote);
        } else {
            tracing::debug!(line = quote, count, "another line that is no message");
        }
    }

    /// A line that was dropped for its length.
    pub(crate) fn too_long(&self, limit: usize) {
        self.count.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(
            limit,
            "dropped a line of the server that is longer than the limit of \
             Options::with_line_limit; a call may have lost its answer"
        );
        let _ = self.first.set(format!(
            "a line of more than {limit} bytes, the limit of Options::with_line_limit"
        ));
    }

    /// Whether it is too much.
    pub(crate) fn is_over(&self) -> bool {
        self.count.load(Ordering::Relaxed) > self.limit
    }

    /// Why the connection is closed when it is too much.
    pub(crate) fn verdict(&self) -> Closed {
        Closed::protocol(format!(
            "more than {} lines of the server were no messages, the limit of Options::with_noise",
            self.limit
        ))
    }

    /// Adds what was counted to the reason a connection ended.
    pub(crate) fn explain(&self, reason: Closed) -> Closed {
        match (self.count.load(Ordering::Relaxed), self.first.get()) {
            (count @ 1.., Some(first)) => reason.with_detail(format!(
                "{count} line(s) on its stdout were no messages, the first: {first}"
            )),
            _ => reason,
        }
    }
}

/// At most `most` characters of a text, without control characters.
pub(crate) fn printable(text: &str, most: usize) -> String {
    let mut kept = String::new();
    for (count, character) in text.trim_end().chars().enumerate() {
        if count == most {
            kept.push('…');
            break;
        }
        match character.is_control() {
            true if character == '\t' => kept.push(' '),
            true => {
                let _ = write!(kept, "{}", character.escape_default());
            }
            false => kept.push(character),
        }
    }
    kept
}

/// Stands between a [`Mux`](mcp_protocol::Mux) and a client, and keeps noise from the client.
pub(crate) struct Quiet {
    pub(crate) inner: Arc<dyn Inbound>,
    pub(crate) noise: Arc<Noise>,
}

impl Inbound for Quiet {
    fn opened(&self, link: Weak<dyn Link>) {
        self.inner.opened(link);
    }

    fn request(&self, request: &Request<'_>, exchange: Exchange) -> Reply {
        self.inner.request(request, exchange)
    }

    fn notification(&self, notification: &Notification<'_>) {
        self.inner.notification(notification);
    }

    fn answers(&self) -> bool {
        self.inner.answers()
    }

    fn accepts_batches(&self) -> bool {
        self.inner.accepts_batches()
    }

    fn unreadable(&self, frame: &[u8], error: &ParseError) -> bool {
        if error.kind() == ParseErrorKind::Syntax && error.id().is_none() {
            self.noise.record(frame);
            return false;
        }
        self.inner.unreadable(frame, error)
    }

    fn deadline(&self) -> Option<Duration> {
        self.inner.deadline()
    }

    fn closed(&self, reason: &Closed) {
        self.inner.closed(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_short_and_harmless() {
        assert_eq!(printable("plain\n", 10), "plain");
        assert_eq!(printable("a\u{1b}[31m\tb", 20), "a\\u{1b}[31m b");
        assert_eq!(printable("äöü", 2), "äö…");
    }
}
