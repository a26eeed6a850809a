//! The traits between a client and a transport.

use std::fmt;
use std::sync::Arc;

use crate::{BoxFuture, Closed, Inbound, Link, TransportError};

/// A transport to a server, before it is connected.
///
/// Implement this trait for a custom transport: connect, pass received messages to `inbound`, and
/// return the [`Connection`] for sending. For a pair of byte streams, use the implementation in
/// the stdio transport.
pub trait Transport: Send + 'static {
    /// Connects. Dropping the future must release all resources.
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>>;

    /// Returns another transport to the same server, for a second attempt with a new connection. A
    /// server may close the first connection because it does not know `server/discover`. Default:
    /// `None`.
    fn reconnect(&self) -> Option<Box<dyn Transport>> {
        None
    }
}

/// An open connection to a server.
pub trait Connection: fmt::Debug + Send + Sync + 'static {
    /// Returns the link to the server.
    fn link(&self) -> Arc<dyn Link>;

    /// Called with the negotiated revision, as its string on the wire.
    fn negotiated(&self, _revision: &'static str) {}

    /// Returns whether each message is a separate exchange with headers, as over HTTP, instead of a frame in one pipe. If so,
    /// headers echo arguments, and a timeout of `server/discover` does not mean that the server supports only older revisions.
    /// Default: `false`.
    fn has_headers(&self) -> bool {
        false
    }

    /// Closes the connection gracefully and completes when all its resources are released.
    fn close(&self) -> BoxFuture<'static, Result<(), TransportError>>;

    /// Completes with the reason when the connection has ended.
    fn closed(&self) -> BoxFuture<'static, Closed>;
}
