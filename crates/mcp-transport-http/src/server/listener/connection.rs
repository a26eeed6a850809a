//! One connection: which HTTP it speaks, and serving it.

use std::error::Error as StdError;
use std::pin::pin;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

#[cfg(feature = "http2")]
use crate::server::listener::http2;
use crate::server::listener::route::{Connected, Route};
use crate::server::listener::timers::Watched;
use crate::server::listener::write_timeout::Patient;

/// Serves one connection to its end, and gives its place back.
///
/// There are many of them: what a connection is made with is gone before it is served, and nothing is handed on to a
/// future in the future, which would keep a second copy.
pub(crate) async fn serve(
    stream: TcpStream,
    mut route: Connected<impl Route>,
    watched: Watched,
    place: Option<OwnedSemaphorePermit>,
) {
    #[cfg(feature = "http2")]
    match tokio::time::timeout(watched.patience().head, http2::is_spoken(&stream)).await {
        Ok(Ok(true)) => {
            let mut connection = Box::pin(http2::connection(stream, route, &watched));
            watched.rest();
            let served = watched.serve(connection.as_mut(), |it| it.graceful_shutdown());
            return note(served.await);
        }
        Ok(Ok(false)) => {}
        Ok(Err(error)) => return note(Err(error)),
        Err(error) => return note(Err(error)),
    }
    route.seat = Some(Arc::clone(watched.seat()));
    let connection = pin!(http1(stream, route, &watched));
    let served = watched.serve(connection, |it| it.graceful_shutdown());
    note(served.await);
    drop(place);
}

/// A connection that ends badly is the client's affair.
fn note(ended: Result<(), impl Into<Box<dyn StdError + Send + Sync>>>) {
    if let Err(error) = ended {
        tracing::debug!(error = error.into(), "a connection ended badly");
    }
}

pub(super) type Io = TokioIo<Patient<TcpStream>>;

fn http1<R: Route>(
    stream: TcpStream,
    route: Connected<R>,
    watched: &Watched,
) -> http1::Connection<Io, Connected<R>> {
    http1::Builder::new()
        .max_buf_size(watched.patience().buffer)
        .serve_connection(TokioIo::new(Patient::new(stream, watched.seat())), route)
}
