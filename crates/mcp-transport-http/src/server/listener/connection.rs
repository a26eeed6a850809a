//! Serves one connection with HTTP/1.1 or HTTP/2.

use std::error::Error as StdError;
use std::pin::pin;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

#[cfg(feature = "http2")]
use crate::server::listener::http2;
use crate::server::listener::route::{ConnectionService, Dispatch};
use crate::server::listener::timers::TimerGuard;
use crate::server::listener::write_timeout::{Io, WriteTimeout};

/// Serves one connection to its end, and releases its permit.
///
/// A process holds many of these futures, so they are kept small: values that are needed only for
/// the setup are dropped before the connection is served, and nothing is moved into an inner
/// future, which would keep a second copy.
pub(crate) async fn serve(
    stream: TcpStream,
    mut route: ConnectionService<impl Dispatch>,
    timer: TimerGuard,
    permit: Option<OwnedSemaphorePermit>,
) {
    #[cfg(feature = "http2")]
    match tokio::time::timeout(timer.limits().head, http2::is_http2(&stream)).await {
        Ok(Ok(true)) => {
            let mut connection = Box::pin(http2::connection(stream, route, &timer));
            timer.stop_head_timer();
            let ended = timer.serve(connection.as_mut(), |connection| {
                connection.graceful_shutdown()
            });
            return log_end(ended.await);
        }
        Ok(Ok(false)) => {}
        Ok(Err(error)) => return log_end(Err(error)),
        Err(error) => return log_end(Err(error)),
    }
    route.timer = Some(Arc::clone(timer.timer()));
    let connection = pin!(http1(stream, route, &timer));
    let ended = timer.serve(connection, |connection| connection.graceful_shutdown());
    log_end(ended.await);
    drop(permit);
}

/// Logs how a connection ended. A broken connection is not an error of the server.
fn log_end(ended: Result<(), impl Into<Box<dyn StdError + Send + Sync>>>) {
    if let Err(error) = ended {
        tracing::debug!(error = error.into(), "a connection ended with an error");
    }
}

fn http1<R: Dispatch>(
    stream: TcpStream,
    route: ConnectionService<R>,
    timer: &TimerGuard,
) -> http1::Connection<Io, ConnectionService<R>> {
    http1::Builder::new()
        .max_buf_size(timer.limits().buffer)
        .serve_connection(
            TokioIo::new(WriteTimeout::new(stream, timer.timer())),
            route,
        )
}
