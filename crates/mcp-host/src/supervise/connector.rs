//! Creates the transports of a supervised client, one for each connection.

use std::fmt;
use std::sync::Arc;

use mcp_client::{Transport, TransportError};
use mcp_protocol::{BoxFuture, Connection, Inbound};

use super::stderr::StderrLog;

/// A factory that creates the transport for each connection to one server.
///
/// A closure from `&StderrLog` to a transport is a connector, for example for an
/// `HttpTransport` with OAuth.
pub trait Connector: Send + Sync + 'static {
    /// Creates a transport without starting it. If the transport is a child process, its stderr is written to `stderr`.
    ///
    /// # Errors
    /// The configuration is invalid. The server is then not restarted automatically.
    fn transport(&self, stderr: &StderrLog) -> Result<Box<dyn Transport>, TransportError>;
}

impl<T, F> Connector for F
where
    T: Transport,
    F: Fn(&StderrLog) -> Result<T, TransportError> + Send + Sync + 'static,
{
    fn transport(&self, stderr: &StderrLog) -> Result<Box<dyn Transport>, TransportError> {
        Ok(Box::new(self(stderr)?))
    }
}

/// A boxed transport that implements [`Transport`].
pub(super) struct AnyTransport(pub(super) Box<dyn Transport>);

impl Transport for AnyTransport {
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        self.0.start(inbound)
    }

    fn reconnect(&self) -> Option<Box<dyn Transport>> {
        self.0.reconnect()
    }
}

impl fmt::Debug for AnyTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyTransport")
    }
}
