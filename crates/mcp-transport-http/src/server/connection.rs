//! One connection: which HTTP it speaks, and serving it.

use std::error::Error as StdError;
use std::io;
use std::pin::pin;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{sleep, timeout};

use super::io::Patient;
use super::options::Options;
use super::site::{Connected, Route};
use super::watch::Watched;

/// How a connection that speaks HTTP/2 without being asked begins; no request of HTTP/1.1 does. All
/// of it is waited for here, where there is a limit: hyper has none for half of it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How long to wait for the rest of a beginning that may be either; each time twice as long, so
/// that a client which leaves it at that costs nothing.
const PAUSE: Duration = Duration::from_millis(5);
/// The smallest buffer hyper can read a head into.
const LEAST_BUFFER: usize = 8 << 10;
/// What is buffered of a stream of HTTP/2 whose client does not read.
const STREAM_BUFFER: usize = 64 << 10;

/// What hyper is told of heads; how long they may take is what its timer says.
const LONGEST_HEAD: Duration = Duration::from_secs(1);

/// How patient a connection is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// With the head of a request, and with a connection that waits for one.
    pub(crate) head: Duration,
    /// With a client that leaves unread what was written.
    pub(crate) write: Duration,
    /// The longest head, and what is buffered for a client that does not read.
    pub(crate) buffer: usize,
}

impl Patience {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            head: options.head_timeout,
            write: options.write_stall,
            buffer: options.head_bytes.max(LEAST_BUFFER),
        }
    }
}

/// Serves one connection to its end, and gives its place back.
///
/// There are many of them: what a connection is made with is gone before it is served, and nothing is handed on to a
/// future in the future, which would keep a second copy.
pub(crate) async fn serve(
    stream: TcpStream,
    route: Connected<impl Route>,
    watched: Watched,
    place: Option<OwnedSemaphorePermit>,
) {
    let patience = watched.patience();
    match timeout(patience.head, speaks_http2(&stream)).await {
        Ok(Ok(true)) => {
            let mut connection = Box::pin(http2(stream, route, patience));
            let served = watched.serve(connection.as_mut(), |it| it.graceful_shutdown());
            note(served.await);
        }
        Ok(Ok(false)) => {
            let connection = pin!(http1(stream, route, &watched));
            let served = watched.serve(connection, |it| it.graceful_shutdown());
            note(served.await);
        }
        Ok(Err(error)) => note(Err(error)),
        Err(error) => note(Err(error)),
    }
    drop(place);
}

/// A connection that ends badly is the client's affair.
fn note(ended: Result<(), impl Into<Box<dyn StdError + Send + Sync>>>) {
    if let Err(error) = ended {
        tracing::debug!(error = error.into(), "a connection ended badly");
    }
}

type Io = TokioIo<Patient<TcpStream>>;

fn http1<R: Route>(
    stream: TcpStream,
    route: Connected<R>,
    watched: &Watched,
) -> http1::Connection<Io, Connected<R>> {
    let patience = watched.patience();
    http1::Builder::new()
        .timer(watched.timer())
        .header_read_timeout(LONGEST_HEAD)
        .max_buf_size(patience.buffer)
        .serve_connection(TokioIo::new(Patient::new(stream, patience.write)), route)
}

fn http2<R: Route>(
    stream: TcpStream,
    route: Connected<R>,
    patience: &Patience,
) -> http2::Connection<Io, Connected<R>, TokioExecutor> {
    http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .max_header_list_size(u32::try_from(patience.buffer).unwrap_or(u32::MAX))
        .max_send_buf_size(STREAM_BUFFER)
        .keep_alive_interval(patience.head)
        .keep_alive_timeout(patience.head)
        .serve_connection(TokioIo::new(Patient::new(stream, patience.write)), route)
}

/// Looks at how the connection begins without taking anything of it: what is taken would have to
/// be put back, and hyper's buffer would grow to hold it.
async fn speaks_http2(stream: &TcpStream) -> io::Result<bool> {
    let mut start = [0; PREFACE.len()];
    let mut pause = PAUSE;
    loop {
        let seen = stream.peek(&mut start).await?;
        let Some(seen) = start.get(..seen) else {
            return Ok(false);
        };
        if seen.is_empty() || !PREFACE.starts_with(seen) {
            return Ok(false);
        }
        if seen.len() == PREFACE.len() {
            return Ok(true);
        }
        sleep(pause).await;
        pause *= 2;
    }
}
