//! One connection with HTTP/1.1 or HTTP/2. It serves the endpoint at its path, with or without middleware.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response, StatusCode};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use crate::permit::Permit;
use crate::server::endpoint::{Endpoint, ResponseFuture};
use crate::server::head::PeerAddr;
#[cfg(feature = "http2")]
use crate::server::listener::http2;
use crate::server::listener::timers::{ConnectionTimer, TimerGuard};
use crate::server::listener::write_timeout::{Io, WriteTimeout};
use crate::server::response::body::Body;
use crate::server::response::refusal::Refusal;

/// Serves one connection to its end, and releases its permits.
///
/// A process has many of these futures, so they must be small. Values that are needed only for the setup are dropped before the
/// connection is served. Values are not moved into an inner future, because the outer future would keep a second copy.
pub(crate) async fn serve(
    stream: TcpStream,
    mut route: ConnectionService<impl Dispatch>,
    timer: TimerGuard,
    permits: (Option<OwnedSemaphorePermit>, Permit),
) {
    #[cfg(feature = "http2")]
    match timer.within_head(http2::is_http2(&stream)).await {
        Some(Ok(true)) => {
            let mut connection = Box::pin(http2::connection(stream, route, &timer));
            timer.expect_streams();
            let ended = timer.serve(connection.as_mut(), |connection| {
                connection.graceful_shutdown()
            });
            return log_end(ended.await);
        }
        Some(Ok(false)) => {}
        Some(Err(error)) => return log_end(Err(error)),
        None => return log_end(Err("no request within ServerTimeouts::head")),
    }
    route.timer = Some(Arc::clone(timer.timer()));
    let connection = pin!(http1(stream, route, &timer));
    let ended = timer.serve(connection, |connection| connection.graceful_shutdown());
    log_end(ended.await);
    drop(permits);
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

/// The path of the endpoint in [`serve`](super::serve()) and [`serve_with`](super::serve_with).
const PATH: &str = "/mcp";
/// The path of the event stream for clients of revision 2024-11-05, if these clients are enabled.
#[cfg(feature = "legacy")]
const SSE_PATH: &str = "/sse";
/// The path to which clients of revision 2024-11-05 post messages.
#[cfg(feature = "legacy")]
const MESSAGE_PATH: &str = "/message";

/// An endpoint at the path `/mcp`. Requests for other paths get 404. [`serve_layered`] wraps it in
/// middleware.
///
/// [`serve_layered`]: super::serve_layered
#[derive(Debug, Clone)]
pub struct McpRoute(Endpoint);

impl McpRoute {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self(endpoint)
    }
}

impl<B> tower_service::Service<Request<B>> for McpRoute
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = <Endpoint as tower_service::Service<Request<B>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.serve_from(request, None)
    }
}

impl McpRoute {
    fn serve_from<B>(&self, request: Request<B>, peer: Option<PeerAddr>) -> ResponseFuture
    where
        B: http_body::Body + Send + 'static,
        B::Data: Send,
        B::Error: Send,
    {
        #[cfg(feature = "legacy")]
        if self.0.options().legacy && [SSE_PATH, MESSAGE_PATH].contains(&request.uri().path()) {
            let mut request = request;
            if let Some(peer) = peer {
                request.extensions_mut().insert(peer);
            }
            let mut legacy = self.0.legacy().message_path(MESSAGE_PATH);
            return tower_service::Service::call(&mut legacy, request);
        }
        let path = request.uri().path();
        // Some clients append a slash to the URL.
        if path.strip_suffix('/').unwrap_or(path) != PATH {
            let refusal = Refusal::new(
                StatusCode::NOT_FOUND,
                format!("this path is not served; the MCP endpoint is at {PATH}"),
            );
            return Box::pin(std::future::ready(Ok(refusal.into_response())));
        }
        self.0.serve_from(request, peer)
    }
}

/// A value that serves the requests of a connection.
pub(crate) trait Dispatch: Clone + Send + 'static {
    /// The response body.
    type Body: http_body::Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static;
    /// The response.
    type Future: Future<Output = Result<Response<Self::Body>, Infallible>> + Send + Unpin + 'static;

    /// Serves a request that was sent from the address `peer`.
    fn serve(&self, request: Request<Incoming>, peer: PeerAddr) -> Self::Future;
}

impl Dispatch for McpRoute {
    type Body = Body;
    type Future = <Endpoint as tower_service::Service<Request<Incoming>>>::Future;

    fn serve(&self, request: Request<Incoming>, peer: PeerAddr) -> Self::Future {
        self.serve_from(request, Some(peer))
    }
}

/// A route that is wrapped in middleware.
#[derive(Debug, Clone)]
pub(crate) struct LayeredRoute<S>(pub(crate) S);

impl<S, B> Dispatch for LayeredRoute<S>
where
    S: tower_service::Service<Request<Incoming>, Response = Response<B>, Error = Infallible>
        + Clone
        + Send
        + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + 'static,
{
    type Body = Pin<Box<B>>;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Self::Body>, Infallible>> + Send>>;

    fn serve(&self, mut request: Request<Incoming>, peer: PeerAddr) -> Self::Future {
        request.extensions_mut().insert(peer);
        let mut service = self.0.clone();
        Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx)).await?;
            service
                .call(request)
                .await
                .map(|response| response.map(Box::pin))
        })
    }
}

/// The hyper service of one connection.
#[derive(Clone)]
pub(crate) struct ConnectionService<R> {
    pub(crate) route: R,
    pub(crate) peer: SocketAddr,
    /// The timer of an HTTP/1.1 connection, which serves one request at a time. `None` for HTTP/2.
    pub(crate) timer: Option<Arc<ConnectionTimer>>,
}

impl<R: Dispatch> hyper::service::Service<Request<Incoming>> for ConnectionService<R> {
    type Response = Response<GuardedBody<R::Body>>;
    type Error = Infallible;
    type Future = GuardedResponse<R::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        GuardedResponse {
            guard: self.timer.as_ref().map(RequestGuard::new),
            future: self.route.serve(request, PeerAddr(self.peer)),
        }
    }
}

/// The future of a response. While it exists, the timer for the next request head is stopped.
pub(crate) struct GuardedResponse<F> {
    future: F,
    guard: Option<RequestGuard>,
}

impl<F, B> Future for GuardedResponse<F>
where
    F: Future<Output = Result<Response<B>, Infallible>> + Unpin,
{
    type Output = Result<Response<GuardedBody<B>>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let response = ready!(Pin::new(&mut self.future).poll(cx))?;
        let guard = self.guard.take();
        Poll::Ready(Ok(response.map(|body| GuardedBody::new(body, guard))))
    }
}

/// A guard that stops the timer for the next request head while a request is served.
pub(crate) struct RequestGuard(Arc<ConnectionTimer>);

impl RequestGuard {
    /// Stops the timer. Dropping the guard starts the timer again.
    pub(crate) fn new(timer: &Arc<ConnectionTimer>) -> Self {
        timer.stop_head_timer();
        Self(Arc::clone(timer))
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.request_ended();
    }
}

/// A response body that keeps the guard of its request. hyper drops the body after it has written the whole body.
pub(crate) struct GuardedBody<B> {
    body: B,
    _guard: Option<RequestGuard>,
}

impl<B> GuardedBody<B> {
    pub(crate) fn new(body: B, guard: Option<RequestGuard>) -> Self {
        let _guard = guard;
        Self { body, _guard }
    }
}

impl<B: http_body::Body + Unpin> http_body::Body for GuardedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
