//! The seam between a client and the bytes.

use std::fmt;
use std::sync::Arc;

use crate::{BoxFuture, Closed, Inbound, Link, TransportError};

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
