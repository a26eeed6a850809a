//! The traits between a client and a transport.

use std::fmt;
use std::sync::Arc;

use crate::{BoxFuture, Closed, Inbound, Link, TransportError};

/// A transport that has not connected to its server yet.
///
/// Implement this trait for a custom transport: connect, pass received messages to `inbound`, and
/// return the [`Connection`] for sending. For a pair of byte streams, use the implementation in
/// the stdio transport.
pub trait Transport: Send + 'static {
    /// Connects to the server. Dropping the future must release all resources.
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>>;

    /// Returns a new transport to the same server. The client uses the new transport for a second attempt if the server closes
    /// the first connection. Some servers that do not know `server/discover` close the connection. Default: `None`.
    fn reconnect(&self) -> Option<Box<dyn Transport>> {
        None
    }
}

/// An open connection to a server.
pub trait Connection: fmt::Debug + Send + Sync + 'static {
    /// Returns the link to the server.
    fn link(&self) -> Arc<dyn Link>;

    /// Called after the negotiation. `_revision` is the negotiated revision as it is written in messages.
    fn negotiated(&self, _revision: &'static str) {}

    /// Returns whether each message is a separate exchange with headers, as over HTTP, and not a frame in one pipe. If so,
    /// headers echo arguments. A timeout of `server/discover` then does not mean that the server supports only older revisions.
    /// Default: `false`.
    fn has_headers(&self) -> bool {
        false
    }

    /// Closes the connection gracefully and completes when all its resources are released.
    fn close(&self) -> BoxFuture<'static, Result<(), TransportError>>;

    /// Waits until the connection has ended, and returns the reason.
    fn closed(&self) -> BoxFuture<'static, Closed>;
}
