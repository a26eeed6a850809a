//! What a listener serves: an endpoint at its path, perhaps behind layers.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http::{Request, Response, StatusCode};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;

use crate::server::endpoint::{Endpoint, Responding};
use crate::server::listener::timers::Seat;
use crate::server::request::head::PeerAddr;
use crate::server::response::body::Body;
use crate::server::response::refusal::Refusal;

/// Where [`serve`](super::serve()) and its kin serve.
const PATH: &str = "/mcp";
/// Where clients of revision 2024-11-05 are served, if they are.
#[cfg(feature = "legacy")]
const SSE_PATH: &str = "/sse";
#[cfg(feature = "legacy")]
const MESSAGE_PATH: &str = "/message";

/// An endpoint at the path `/mcp`, and nothing elsewhere: what [`serve_layered`] puts layers
/// around.
///
/// [`serve_layered`]: super::serve_layered
#[derive(Debug, Clone)]
pub struct Site(Endpoint);

impl Site {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self(endpoint)
    }
}

impl<B> tower_service::Service<Request<B>> for Site
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

impl Site {
    fn serve_from<B>(&self, request: Request<B>, peer: Option<PeerAddr>) -> Responding
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
            let mut legacy = self.0.legacy().with_message_path(MESSAGE_PATH);
            return tower_service::Service::call(&mut legacy, request);
        }
        if request.uri().path() != PATH {
            let refusal = Refusal::new(
                StatusCode::NOT_FOUND,
                format!("there is nothing here; the server is at {PATH}"),
            );
            return Box::pin(std::future::ready(Ok(refusal.into_response())));
        }
        self.0.serve_from(request, peer)
    }
}

/// What serves the requests of one connection, which know where they came from.
pub(crate) trait Route: Clone + Send + 'static {
    /// What is responded.
    type Body: http_body::Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + Unpin
        + 'static;
    /// The response, in time.
    type Future: Future<Output = Result<Response<Self::Body>, Infallible>> + Send + Unpin + 'static;

    /// Serves a request.
    fn serve(&self, request: Request<Incoming>, peer: PeerAddr) -> Self::Future;
}

impl Route for Site {
    type Body = Body;
    type Future = <Endpoint as tower_service::Service<Request<Incoming>>>::Future;

    fn serve(&self, request: Request<Incoming>, peer: PeerAddr) -> Self::Future {
        self.serve_from(request, Some(peer))
    }
}

/// A site behind layers.
#[derive(Debug, Clone)]
pub(crate) struct Layered<S>(pub(crate) S);

impl<S, B> Route for Layered<S>
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
            service.call(request).await.map(|it| it.map(Box::pin))
        })
    }
}

/// The route of one connection, for hyper.
#[derive(Clone)]
pub(crate) struct Connected<R> {
    pub(crate) route: R,
    pub(crate) peer: SocketAddr,
    /// Where to note that a request is here, if they come one after the other.
    pub(crate) seat: Option<Arc<Seat>>,
}

impl<R: Route> hyper::service::Service<Request<Incoming>> for Connected<R> {
    type Response = Response<Served<R::Body>>;
    type Error = Infallible;
    type Future = Serves<R::Future>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        Serves {
            serving: self.seat.as_ref().map(Serving::new),
            future: self.route.serve(request, PeerAddr(self.peer)),
        }
    }
}

/// A response in the making, and the note that it is.
pub(crate) struct Serves<F> {
    future: F,
    serving: Option<Serving>,
}

impl<F, B> Future for Serves<F>
where
    F: Future<Output = Result<Response<B>, Infallible>> + Unpin,
{
    type Output = Result<Response<Served<B>>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let response = ready!(Pin::new(&mut self.future).poll(cx))?;
        let serving = self.serving.take();
        Poll::Ready(Ok(response.map(|body| Served::new(body, serving))))
    }
}

/// A request of a connection that has one at a time is being served.
pub(crate) struct Serving(Arc<Seat>);

impl Serving {
    /// A head is here: the next is waited for when this is dropped.
    pub(crate) fn new(seat: &Arc<Seat>) -> Self {
        seat.rest();
        Self(Arc::clone(seat))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// A response: when hyper drops its body, all of it is on its way.
pub(crate) struct Served<B> {
    body: B,
    _serving: Option<Serving>,
}

impl<B> Served<B> {
    pub(crate) fn new(body: B, serving: Option<Serving>) -> Self {
        let _serving = serving;
        Self { body, _serving }
    }
}

impl<B: http_body::Body + Unpin> http_body::Body for Served<B> {
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
