//! HTTP/2 connections with prior knowledge (h2c), which proxies use.

use std::io;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::server::listener::connection::{ConnectionService, Dispatch};
use crate::server::listener::timers::TimerGuard;
use crate::server::listener::write_timeout::{Io, WriteTimeout};

/// The connection preface. No HTTP/1.1 request begins like this. The whole preface is awaited here,
/// under the head timeout, because hyper has no timeout for the second half.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The first pause before the next look at an incomplete preface. The pause doubles each time, so
/// that a client which stops there costs nothing.
const PAUSE: Duration = Duration::from_millis(5);
/// The number of bytes that are buffered for a stream whose client does not read.
const STREAM_BUFFER: usize = 64 << 10;

/// Whether the connection begins with the preface. It peeks without reading, because bytes that
/// were read would have to be put back, and hyper's buffer would grow to hold them.
pub(super) async fn is_http2(stream: &TcpStream) -> io::Result<bool> {
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

pub(super) fn connection<R: Dispatch>(
    stream: TcpStream,
    route: ConnectionService<R>,
    timer: &TimerGuard,
) -> http2::Connection<Io, ConnectionService<R>, TokioExecutor> {
    let limits = timer.limits();
    http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .max_header_list_size(u32::try_from(limits.buffer).unwrap_or(u32::MAX))
        .max_send_buf_size(STREAM_BUFFER)
        .keep_alive_interval(limits.head)
        .keep_alive_timeout(limits.head)
        .serve_connection(
            TokioIo::new(WriteTimeout::new(stream, timer.timer())),
            route,
        )
}
