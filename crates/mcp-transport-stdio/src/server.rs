//! Serving on stdin and stdout, which is how hosts start a server, and serving on any pair of byte streams.
//!
//! Specification:
//! [stdio](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio),
//! [shutdown](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#shutdown).

use std::io;
use std::sync::Arc;

use mcp_protocol::{Closed, IntoService, Mux, ServerSession, Service};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::driver::spawner::{Spawner, Threads};
use crate::driver::{Driver, Role};
use crate::error::{End, Error, Repr};
use crate::options::StdioOptions;
use crate::standard;

/// Serves on stdin and stdout until stdin ends. This is what the `main` function of a server program calls.
///
/// Returns within a second of the end of stdin even if handlers still run, so that the process can exit. Handlers that finish in
/// time are answered; the other handlers are cancelled. Blocking handlers run on threads that do not keep the process alive.
///
/// On Unix, while this function runs, descriptors 0 and 1 are the null device and stderr for all other code of the process. A
/// library that prints by accident therefore does not break the session. [`StdioOptions::without_guard`] disables this. For text
/// that is printed before this function is called, see [`protect_stdout`](crate::protect_stdout).
///
/// Needs a tokio runtime with I/O and timer enabled, as `#[tokio::main]` creates it. One thread is
/// enough.
///
/// # Errors
/// The server configuration is invalid; stdin or stdout cannot be used, fails, or is already being served; or the client does not
/// read. A client that disconnects is not an error.
///
/// # Cancel safety
/// Dropping the future ends the session, cancels its handlers and restores the descriptors.
pub async fn serve(server: impl IntoService) -> Result<(), Error> {
    serve_with(server, StdioOptions::for_server()).await
}

/// [`serve`] with custom limits and timeouts.
///
/// # Errors
/// As [`serve`].
///
/// # Cancel safety
/// As [`serve`].
pub async fn serve_with(server: impl IntoService, options: StdioOptions) -> Result<(), Error> {
    let service = server.into_service().map_err(Repr::InvalidServer)?;
    let (reader, writer, restore) = standard::open(options.guard)?;
    let threads = Threads::Separate;
    let result = serve_on(service, (reader, writer), threads, &options).await;
    drop(restore);
    result
}

/// Serves one client over a pair of byte streams until the client disconnects. `read` is the output of the client. Messages are
/// framed as on [stdio].
///
/// When `read` ends, running handlers have the time of [`StdioOptions::with_shutdown_timeout`] to finish. Handlers that run
/// longer are cancelled. The runtime must have its timer enabled.
///
/// # Errors
/// The server configuration is invalid, reading or writing fails although the client is connected,
/// or the client does not read.
///
/// # Cancel safety
/// Dropping the future ends the session and cancels its handlers.
///
/// [stdio]: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
pub async fn serve_io<R, W>(server: impl IntoService, read: R, write: W) -> Result<(), Error>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    serve_io_with(server, read, write, StdioOptions::for_server()).await
}

/// [`serve_io`] with custom limits and timeouts.
///
/// # Errors
/// As [`serve_io`].
///
/// # Cancel safety
/// As [`serve_io`].
pub async fn serve_io_with<R, W>(
    server: impl IntoService,
    read: R,
    write: W,
    options: StdioOptions,
) -> Result<(), Error>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    let service = server.into_service().map_err(Repr::InvalidServer)?;
    serve_on(service, (read, write), Threads::Runtime, &options).await
}

pub(crate) async fn serve_on<R, W>(
    service: Arc<dyn Service>,
    streams: (R, W),
    threads: Threads,
    options: &StdioOptions,
) -> Result<(), Error>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    service.start();
    let mux = Mux::new(ServerSession::new(service), options.limits.clone());
    let spawner = Spawner::new(threads, options.max_blocking_handlers);
    let mut driver = Driver::new(Arc::clone(&mux), streams, Role::Server, spawner, options);
    let mut end = driver.run().await;
    if matches!(end, End::Eof) {
        // Server requests of handlers that still run can no longer be answered.
        mux.end_of_input(&Closed::eof());
    }
    if matches!(end, End::Eof)
        && let Ok(Err(worse)) = timeout(options.shutdown_timeout, driver.idle()).await
    {
        end = worse;
    }
    let (reason, result) = outcome(end);
    mux.close(reason);
    if result.is_ok() {
        // Writes the responses that are ready. Errors are ignored, because the client may have
        // disconnected.
        let _ = timeout(options.drain_timeout, driver.finish()).await;
    }
    result
}

/// Returns the reason why the session ended, and the result that the caller of `serve` receives.
fn outcome(end: End) -> (Closed, Result<(), Error>) {
    let copy = |error: &io::Error| io::Error::new(error.kind(), error.to_string());
    match end {
        end if end.is_peer_gone() => (end.into_closed(), Ok(())),
        End::Read(error) => {
            let reason = Closed::io(copy(&error));
            (reason, Err(Error::new(Repr::Read, error)))
        }
        End::Write(error) => {
            let reason = Closed::io(copy(&error));
            (reason, Err(Error::new(Repr::Write, error)))
        }
        End::Stalled(limit) => (end.into_closed(), Err(Repr::Stalled(limit).into())),
        end => (end.into_closed(), Ok(())),
    }
}
