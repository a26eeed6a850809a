//! The service of the layer.

use std::fmt;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use mcp_protocol::BoxFuture;
use tower_layer::Layer;
use tower_service::Service;

use super::body::{Body, TextBody};
use super::layer::RequireBearer;

/// A service that is protected by [`RequireBearer`].
#[derive(Clone)]
pub struct Protected<S> {
    inner: S,
    layer: RequireBearer,
}

impl<S> Protected<S> {
    pub(super) fn new(inner: S, layer: RequireBearer) -> Self {
        Self { inner, layer }
    }

    /// Returns the inner service.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the inner service, without protection.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl RequireBearer {
    /// Wraps a service, like [`Layer::layer`].
    pub fn layer<S>(&self, inner: S) -> Protected<S> {
        Protected::new(inner, self.clone())
    }
}

impl<S> Layer<S> for RequireBearer {
    type Service = Protected<S>;

    fn layer(&self, inner: S) -> Protected<S> {
        Self::layer(self, inner)
    }
}

impl<S, B, R> Service<Request<B>> for Protected<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
    B: Send + 'static,
    R: http_body::Body + Unpin + Send + 'static,
    R::Data: From<Bytes>,
{
    type Response = Response<Body<R>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body<R>>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let own = |response: Response<TextBody>| Ok(response.map(Body::text));
        let layer = self.layer.clone();
        let metadata = &layer.0.metadata;
        if metadata.is_at(request.uri().path()) {
            let answer = metadata.answer(request.method());
            return Box::pin(std::future::ready(own(answer)));
        }
        // The clone may not be ready; the original is.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        Box::pin(async move {
            let policy = &*layer.0;
            let (mut parts, body) = request.into_parts();
            let admission = match policy.admit(&mut parts).await {
                Ok(admission) => admission,
                Err(refusal) => return own(policy.refuse(&refusal)),
            };
            let mut response = inner.call(Request::from_parts(parts, body)).await?;
            if let Some(admission) = &admission {
                policy.challenge(admission, &mut response);
            }
            Ok(response.map(Body::inner))
        })
    }
}

impl<S: fmt::Debug> fmt::Debug for Protected<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protected")
            .field("inner", &self.inner)
            .field("layer", &self.layer)
            .finish()
    }
}
