//! HTTP/2 connections with prior knowledge (h2c), which proxies use between themselves and servers.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::server::head::PeerAddr;
use crate::server::listener::connection::{ConnectionService, Dispatch};
use crate::server::listener::http2_stream::{ChunkedBody, OpenStream, StreamExecutor};
use crate::server::listener::timers::{ConnectionTimer, TimerGuard};
use crate::server::listener::write_timeout::{Io, WriteTimeout};
use crate::server::response::refusal::Refusal;

/// The connection preface. An HTTP/1.1 request never begins with this text. This module waits for the whole preface, with the
/// timeout for a request head, because hyper has no timeout for the second half.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The first pause before an incomplete preface is checked again. The pause doubles each time, so that a client that sends only a
/// part of the preface causes nearly no work.
const PAUSE: Duration = Duration::from_millis(5);
/// Maximum number of headers, the same as for HTTP/1.1. Because of header compression, a header can cost the client one byte and
/// the server about 100 bytes.
const MAX_HEADERS: usize = 100;
/// Maximum size of a request head in bytes, counted as HTTP/2 defines it.
const MAX_HEAD: u32 = 16 << 10;
/// Number of bytes that are buffered for a stream whose client does not read.
const STREAM_BUFFER: usize = 64 << 10;

/// Returns whether the connection begins with the preface. Peeks at the bytes without consuming them. Consumed bytes would have
/// to be put back, and hyper's buffer would grow.
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
) -> http2::Connection<Io, Http2Service<R>, StreamExecutor> {
    let limits = timer.limits();
    let executor = StreamExecutor {
        write_timeout: limits.write,
        timer: Arc::clone(timer.timer()),
    };
    let head = u32::try_from(limits.buffer).unwrap_or(u32::MAX);
    let service = Http2Service {
        connection: route,
        timer: Arc::clone(timer.timer()),
    };
    http2::Builder::new(executor)
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(head.min(MAX_HEAD))
        .max_send_buf_size(STREAM_BUFFER)
        .keep_alive_interval(limits.head)
        .keep_alive_timeout(limits.head)
        .serve_connection(
            TokioIo::new(WriteTimeout::new(stream, timer.timer()).counting_frames()),
            service,
        )
}

/// The hyper service of one HTTP/2 connection.
pub(crate) struct Http2Service<R> {
    connection: ConnectionService<R>,
    timer: Arc<ConnectionTimer>,
}

impl<R: Dispatch> hyper::service::Service<Request<Incoming>> for Http2Service<R> {
    type Response = Response<ChunkedBody<R::Body>>;
    type Error = Infallible;
    type Future = StreamResponse<R::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let connection = &self.connection;
        // A refused request is dropped here, before its body is read.
        let future = (request.headers().len() <= MAX_HEADERS)
            .then(|| connection.route.serve(request, PeerAddr(connection.peer)));
        StreamResponse {
            future,
            open: Some(OpenStream::new(&self.timer)),
        }
    }
}

/// The future of a response on an HTTP/2 stream.
pub(crate) struct StreamResponse<F> {
    /// The future of the endpoint's response. `None` if the request is refused.
    future: Option<F>,
    open: Option<OpenStream>,
}

impl<F, B> Future for StreamResponse<F>
where
    F: Future<Output = Result<Response<B>, Infallible>> + Unpin,
    B: http_body::Body + Unpin,
{
    type Output = Result<Response<ChunkedBody<B>>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.future else {
            let refusal = Refusal::new(
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                format!("the request has more than {MAX_HEADERS} headers; send fewer"),
            );
            let response = ChunkedBody::refusal(refusal.into_response(), self.open.take());
            return Poll::Ready(Ok(response));
        };
        let response = ready!(Pin::new(future).poll(cx))?;
        let open = self.open.take();
        Poll::Ready(Ok(response.map(|body| ChunkedBody::new(body, open))))
    }
}
