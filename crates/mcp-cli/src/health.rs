//! `/healthz` and `/readyz` before the endpoint. They need no token and have no content.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tower_service::Service;

/// Returns whether the servers are connected that must be.
pub(crate) type IsReady = Arc<dyn Fn() -> bool + Send + Sync>;

/// Answers the paths of health checks, and passes all other requests on.
#[derive(Clone)]
pub(crate) struct Health<S> {
    inner: S,
    is_ready: IsReady,
}

impl<S> Health<S> {
    pub(crate) fn new(inner: S, is_ready: IsReady) -> Self {
        Self { inner, is_ready }
    }
}

impl<S, A, B> Service<Request<A>> for Health<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
    B: Send + 'static,
{
    type Response = Response<HealthBody<B>>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        let status = match request.uri().path() {
            "/healthz" => StatusCode::OK,
            "/readyz" if (self.is_ready)() => StatusCode::OK,
            "/readyz" => StatusCode::SERVICE_UNAVAILABLE,
            _ => {
                let response = self.inner.call(request);
                return Box::pin(async move { Ok(response.await?.map(HealthBody::Inner)) });
            }
        };
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        let mut response = Response::new(HealthBody::Empty);
        *response.status_mut() = match is_read {
            true => status,
            false => StatusCode::METHOD_NOT_ALLOWED,
        };
        Box::pin(std::future::ready(Ok(response)))
    }
}

/// The body of a response.
pub(crate) enum HealthBody<B> {
    Empty,
    Inner(B),
}

impl<B: Body + Unpin> Body for HealthBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        match self.get_mut() {
            Self::Empty => Poll::Ready(None),
            Self::Inner(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Inner(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Inner(body) => body.size_hint(),
        }
    }
}
