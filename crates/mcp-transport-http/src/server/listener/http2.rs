//! Connections that speak HTTP/2 without being asked, as proxies do.

use std::io;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::server::listener::connection::Io;
use crate::server::listener::route::{Connected, Route};
use crate::server::listener::timers::Watched;
use crate::server::listener::write_timeout::Patient;

/// How such a connection begins; no request of HTTP/1.1 does. All of it is waited for here, where there is a limit:
/// hyper has none for half of it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How long to wait for the rest of a beginning that may be either; each time twice as long, so
/// that a client which leaves it at that costs nothing.
const PAUSE: Duration = Duration::from_millis(5);
/// What is buffered of a stream whose client does not read.
const STREAM_BUFFER: usize = 64 << 10;

/// Looks at how the connection begins without taking anything of it: what is taken would have to
/// be put back, and hyper's buffer would grow to hold it.
pub(super) async fn is_spoken(stream: &TcpStream) -> io::Result<bool> {
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

pub(super) fn connection<R: Route>(
    stream: TcpStream,
    route: Connected<R>,
    watched: &Watched,
) -> http2::Connection<Io, Connected<R>, TokioExecutor> {
    let patience = watched.patience();
    http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .max_header_list_size(u32::try_from(patience.buffer).unwrap_or(u32::MAX))
        .max_send_buf_size(STREAM_BUFFER)
        .keep_alive_interval(patience.head)
        .keep_alive_timeout(patience.head)
        .serve_connection(TokioIo::new(Patient::new(stream, watched.seat())), route)
}
