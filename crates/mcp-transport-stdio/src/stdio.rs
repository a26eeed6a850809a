//! A server on the stdin and stdout of its process, as hosts start it.
//!
//! Specification:
//! [stdio](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio),
//! [shutdown](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown).

use std::sync::Arc;

use mcp_protocol::Service;

use crate::driver::spawner::Threads;
use crate::error::Error;
use crate::options::Options;
use crate::server::serve_on;
use crate::standard;

/// Serves on stdin and stdout until stdin ends: the main function of a server program.
///
/// Returns within a second of the end of stdin even if handlers still run, so that the process can
/// exit. Handlers that finish in time are answered; the others are cancelled. Blocking handlers run
/// on threads that do not keep the process alive.
///
/// On Unix, while this function runs, descriptor 1 points to stderr and descriptor 0 to the null
/// device for the rest of the process. A library that prints by accident therefore does not break
/// the session. See [`Options::without_guard`].
///
/// Needs a tokio runtime with I/O and timer enabled, as `#[tokio::main]` creates it. One thread is
/// enough.
///
/// # Errors
/// The server configuration is invalid, stdin or stdout cannot be used or fail, they are already
/// being served, or the client does not read. A client that disconnects is not an error.
///
/// # Cancel safety
/// Dropping the future ends the session, cancels its handlers and restores the descriptors.
pub async fn serve(service: impl Service) -> Result<(), Error> {
    serve_with(service, Options::for_server()).await
}

/// [`serve`] with custom limits and timeouts.
///
/// # Errors
/// As [`serve`].
///
/// # Cancel safety
/// As [`serve`].
pub async fn serve_with(service: impl Service, options: Options) -> Result<(), Error> {
    service.ready().map_err(Error::unready)?;
    let (reader, writer, restore) = standard::open(options.guard)?;
    let threads = Threads::Separate;
    let result = serve_on(Arc::new(service), (reader, writer), threads, &options).await;
    drop(restore);
    result
}
