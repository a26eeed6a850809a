//! Pipes in memory, for tests and for a server in the same process as its client.

mod pipe;

use std::fmt;
use std::sync::Arc;

use mcp_protocol::{
    BoxFuture, Connection, Inbound, IntoService, InvalidServer, Service, Transport, TransportError,
};
use tokio::io::{AsyncRead, AsyncWrite};

use self::pipe::{Reader, Writer, pipe};
use crate::client::Pipe;
use crate::driver::spawner::Threads;
use crate::error::{Error, Repr};
use crate::options::StdioOptions;
use crate::server::serve_on;

/// Default capacity of one direction in bytes. A pipe of the operating system has the same capacity.
const CAPACITY: usize = 64 << 10;

/// Creates a transport to a server in the same process.
///
/// The server is a task of the same runtime. It starts when the client connects, and ends with the connection.
///
/// ```
/// # fn example(server: impl mcp_protocol::IntoService) {
/// let transport = mcp_transport_stdio::in_memory(server);
/// # let _: Box<dyn mcp_protocol::Transport> = Box::new(transport);
/// # }
/// ```
pub fn in_memory(server: impl IntoService) -> InMemory {
    InMemory {
        service: server.into_service(),
        client: StdioOptions::for_client(),
        server: StdioOptions::for_server(),
        capacity: CAPACITY,
    }
}

/// The transport of [`in_memory`].
pub struct InMemory {
    service: Result<Arc<dyn Service>, InvalidServer>,
    client: StdioOptions,
    server: StdioOptions,
    capacity: usize,
}

impl InMemory {
    /// Sets the options of both sides.
    #[must_use]
    pub fn options(mut self, client: StdioOptions, server: StdioOptions) -> Self {
        (self.client, self.server) = (client, server);
        self
    }

    /// Sets how many bytes each direction can hold. When it is full, its writer waits. Default 64 KiB.
    #[must_use]
    pub fn capacity(mut self, bytes: usize) -> Self {
        self.capacity = bytes;
        self
    }
}

impl Transport for InMemory {
    /// Starts the server and connects to it.
    ///
    /// # Errors
    /// The server configuration is invalid.
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        Box::pin(async move {
            let service = self.service;
            let service = service.map_err(|error| TransportError::new(error.to_string()))?;
            let (client, server) = duplex(self.capacity);
            let serving = tokio::spawn(server.serve_with(service, self.server));
            let client = client.options(self.client);
            Ok(client.connect(inbound, async move {
                let _ = serving.await;
            }))
        })
    }
}

impl fmt::Debug for InMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InMemory")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

/// Creates a pipe in memory: a transport for the client and the server's end.
///
/// `capacity` is the number of bytes that each direction can hold. When it is full, its writer waits.
pub fn duplex(
    capacity: usize,
) -> (
    Pipe<impl AsyncRead + Unpin + Send + 'static, impl AsyncWrite + Unpin + Send + 'static>,
    ServerEnd,
) {
    let (server_read, client_write) = pipe(capacity);
    let (client_read, server_write) = pipe(capacity);
    let server = ServerEnd {
        streams: (server_read, server_write),
    };
    (Pipe::new(client_read, client_write), server)
}

/// The server's end of a [`duplex`].
#[derive(Debug)]
pub struct ServerEnd {
    streams: (Reader, Writer),
}

impl ServerEnd {
    /// Serves the client at the other end until it disconnects; see [`serve_io`](crate::serve_io).
    ///
    /// # Errors
    /// The server configuration is invalid, or the client does not read.
    ///
    /// # Cancel safety
    /// Dropping the future ends the session and cancels its handlers.
    pub async fn serve(self, server: impl IntoService) -> Result<(), Error> {
        let service = server.into_service().map_err(Repr::InvalidServer)?;
        self.serve_with(service, StdioOptions::for_server()).await
    }

    async fn serve_with(
        self,
        service: Arc<dyn Service>,
        options: StdioOptions,
    ) -> Result<(), Error> {
        serve_on(service, self.streams, Threads::Runtime, &options).await
    }

    /// Returns the two streams: the client's output, and the client's input.
    pub fn into_streams(
        self,
    ) -> (
        impl AsyncRead + Unpin + Send + 'static,
        impl AsyncWrite + Unpin + Send + 'static,
    ) {
        self.streams
    }
}
