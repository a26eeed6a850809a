//! Tower layers as middleware.

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::sync::Mutex;
use std::task::{Context, Poll};

use mcp_jsonrpc::ErrorObject;
use tower_layer::Layer;
use tower_service::Service;

use super::chain::{Next, Responding};
use super::layer::Middleware;
use super::message::{Request, Response};
use crate::sync::lock;

/// A tower layer as middleware around requests, for example a time limit or a concurrency limit.
///
/// The layer creates one service. Each request uses a clone of this service, so limits count all requests together. An error of
/// the service becomes an internal error with the same text. Notifications do not pass through the layer.
///
/// ```
/// use mcp_protocol::middleware::TowerMiddleware;
/// # use mcp_protocol::middleware::{NextService, PassingRequest};
/// # struct Identity;
/// # impl tower_layer::Layer<NextService> for Identity {
/// #     type Service = NextService;
/// #     fn layer(&self, inner: NextService) -> NextService { inner }
/// # }
/// # let layer = Identity;
/// let middleware = TowerMiddleware::new(layer);
/// # let _ = middleware;
/// ```
#[derive(Debug)]
pub struct TowerMiddleware<S>(Mutex<S>);

impl<S> TowerMiddleware<S> {
    /// Creates middleware that passes each request through the service of `layer`.
    pub fn new<L: Layer<NextService, Service = S>>(layer: L) -> Self {
        Self(Mutex::new(layer.layer(NextService(()))))
    }
}

/// A request that passes through a tower service.
#[derive(Debug)]
#[non_exhaustive]
pub struct PassingRequest {
    /// The request.
    pub request: Request,
    /// The next step for the request.
    pub next: Next,
}

/// The innermost service, which passes requests on to the next middleware.
#[derive(Debug, Clone)]
pub struct NextService(());

impl Service<PassingRequest> for NextService {
    type Response = Response;
    type Error = Infallible;
    type Future = PassedOn;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, PassingRequest { request, next }: PassingRequest) -> PassedOn {
        PassedOn(next.run(request))
    }
}

/// The response future of [`NextService`].
#[derive(Debug)]
pub struct PassedOn(Responding);

impl Future for PassedOn {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        std::pin::Pin::new(&mut self.0).poll(cx).map(Ok)
    }
}

impl<S> Middleware for TowerMiddleware<S>
where
    S: Service<PassingRequest, Response = Response> + Clone + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send,
{
    async fn request(&self, request: Request, next: Next) -> Response {
        let mut service = lock(&self.0).clone();
        let passing = PassingRequest { request, next };
        let failed =
            |error: S::Error| Response::error(ErrorObject::internal(error.into().to_string()));
        let ready = poll_fn(|cx| service.poll_ready(cx)).await.map_err(failed);
        match ready {
            Ok(()) => service.call(passing).await.unwrap_or_else(failed),
            Err(response) => response,
        }
    }
}
