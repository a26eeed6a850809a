//! The seam between a client and the bytes.

use std::fmt;
use std::sync::Arc;

use crate::{BoxFuture, Closed, Inbound, Link};

/// A way to reach a server that has not been taken yet.
///
/// Implement it to carry MCP over anything: start moving messages, hand what arrives to
/// `inbound`, and return the [`Connection`] to send on. A pair of byte streams needs no
/// implementation of its own; the stdio transport has one.
pub trait Transport: Send + 'static {
    /// Connects. Dropping the future must leave nothing behind.
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>>;

    /// Another way to the same server, for a second try with a fresh connection: a server may end
    /// the first one because it does not know what it was asked. Default: there is none.
    fn reconnect(&self) -> Option<Box<dyn Transport>> {
        None
    }
}

/// A live connection to a server.
pub trait Connection: fmt::Debug + Send + Sync + 'static {
    /// The way to the server.
    fn link(&self) -> Arc<dyn Link>;

    /// Tells the transport which revision was agreed, as its string on the wire.
    fn negotiated(&self, _revision: &'static str) {}

    /// Whether each message has headers and an answer of its own, as over HTTP, instead of a share
    /// in one pipe. Headers repeat arguments then, and silence says nothing of the server's age.
    /// Default: no.
    fn has_headers(&self) -> bool {
        false
    }

    /// Ends the connection in good order and completes when nothing of it is left.
    fn close(&self) -> BoxFuture<'static, Result<(), TransportError>>;

    /// Completes when the connection has ended, with the reason.
    fn closed(&self) -> BoxFuture<'static, Closed>;
}

/// Why a connection could not be made, or not be ended in good order.
#[derive(Debug)]
pub struct TransportError {
    message: String,
    unknown_protocol: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl TransportError {
    /// An error with a message for people.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            unknown_protocol: false,
            source: None,
        }
    }

    /// Marks it as what a server says that was reached and does not know what it was asked: it may
    /// speak another revision. A refusal for want of credentials and a failure are no such thing.
    #[must_use]
    pub fn as_unknown_protocol(mut self) -> Self {
        self.unknown_protocol = true;
        self
    }

    /// Whether the server was reached and said nothing of this protocol.
    pub fn is_unknown_protocol(&self) -> bool {
        self.unknown_protocol
    }

    /// Attaches the cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
