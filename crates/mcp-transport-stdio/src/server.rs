//! Serving on a pair of byte streams.

use std::sync::Arc;

use mcp_protocol::{Closed, Mux, ServerSession, Service};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use crate::driver::spawner::{Spawner, Threads};
use crate::driver::{Driver, Role};
use crate::error::End;
use crate::error::{Error, stall_text};
use crate::options::Options;

/// Serves one client over a pair of byte streams until the client disconnects. `read` is what the
/// client writes. Framing is that of [stdio].
///
/// When `read` ends, running handlers get [`Options::with_shutdown_timeout`] to finish; handlers
/// that run longer are cancelled. The runtime must have its timer enabled.
///
/// # Errors
/// The server configuration is invalid, reading or writing fails although the client is connected,
/// or the client does not read.
///
/// # Cancel safety
/// Dropping the future ends the session and cancels its handlers.
///
/// [stdio]: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
pub async fn serve_io<R, W>(service: impl Service, read: R, write: W) -> Result<(), Error>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    serve_io_with(service, read, write, Options::for_server()).await
}

/// [`serve_io`] with custom limits and timeouts.
///
/// # Errors
/// As [`serve_io`].
///
/// # Cancel safety
/// As [`serve_io`].
pub async fn serve_io_with<R, W>(
    service: impl Service,
    read: R,
    write: W,
    options: Options,
) -> Result<(), Error>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    serve_streams(Arc::new(service), (read, write), options).await
}

pub(crate) async fn serve_streams<R, W>(
    service: Arc<dyn Service>,
    streams: (R, W),
    options: Options,
) -> Result<(), Error>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    serve_on(service, streams, Threads::Runtime, &options).await
}

pub(crate) async fn serve_on<R, W>(
    service: Arc<dyn Service>,
    streams: (R, W),
    threads: Threads,
    options: &Options,
) -> Result<(), Error>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    service.ready().map_err(Error::unready)?;
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

/// Returns the reason for the session and the result for the caller.
fn outcome(end: End) -> (Closed, Result<(), Error>) {
    let gone = end.is_peer_gone();
    match end {
        End::Eof => (Closed::eof(), Ok(())),
        End::Read(error) | End::Write(error) if gone => {
            (Closed::eof().with_detail(error.to_string()), Ok(()))
        }
        End::Closed | End::TooManyStrayLines => (Closed::local(), Ok(())),
        End::Read(error) => (Closed::io(copy(&error)), Err(Error::read(error))),
        End::Write(error) => (Closed::io(copy(&error)), Err(Error::write(error))),
        End::Stalled(limit) => (
            Closed::stalled(stall_text(limit)),
            Err(Error::stalled(limit)),
        ),
    }
}

fn copy(error: &std::io::Error) -> std::io::Error {
    std::io::Error::new(error.kind(), error.to_string())
}
