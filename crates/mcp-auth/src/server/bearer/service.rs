//! The authentication layer and the services that it protects.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use mcp_protocol::BoxFuture;
use tower_layer::Layer;
use tower_service::Service;

use super::body::{Body, TextBody};
use super::metadata::Metadata;
use super::policy::Policy;

/// A tower layer that accepts only requests with a valid token and answers all other requests with a challenge.
///
/// - A request without a token or with an invalid token receives 401 and a challenge that leads to the metadata. A request whose
///   token lacks a scope receives 403 and the required scopes. A malformed request receives 400. If tokens cannot be verified at
///   the moment, the status is 503, not 401. With [`RequireBearerBuilder::allow_anonymous`], requests without a token are
///   accepted too.
/// - The layer removes the `Authorization` header of an accepted request and adds a [`Principal`], a [`Grant`] and an
///   [`Identity`] to its extensions. Handlers do not see the token. Only an endpoint with `ServerOptions::with_forwarding`
///   forwards the token and its DPoP proof to another process of the same server. The other process verifies both again.
/// - If a handler requires more scopes, with [`Tool::scope`] or [`Auth::require`], the status becomes 403, and the response names
///   the required scopes. If the request has no token, the status becomes 401. A response that is already an event stream does
///   not change.
/// - The [metadata](Metadata) is public.
/// - A CORS preflight is forwarded, because it has no token and no effect. Place a CORS layer in front of this layer, so that
///   pages can also read the challenges.
///
/// Each request is verified separately, even within a session. Only the principal that opened a session can use it. When a token
/// expires, the GET stream of a session and the stream of `subscriptions/listen` end. The client then opens another stream with a
/// valid token. Running calls and connections of the HTTP+SSE transport continue.
///
/// The inner service can be any tower service for HTTP requests. The data type of its response body must implement
/// `From<Bytes>`.
///
/// [`RequireBearerBuilder::allow_anonymous`]: super::RequireBearerBuilder::allow_anonymous
/// [`Principal`]: mcp_protocol::Principal
/// [`Grant`]: mcp_protocol::Grant
/// [`Identity`]: crate::server::Identity
/// [`Tool::scope`]: mcp_server::Tool::scope
/// [`Auth::require`]: crate::server::Auth::require
#[derive(Clone)]
pub struct RequireBearer(pub(super) Arc<Policy>);

impl RequireBearer {
    /// Returns the metadata service, for routers that serve the metadata at separate paths. The protected service serves the
    /// metadata too.
    pub fn metadata(&self) -> Metadata {
        self.0.metadata.clone()
    }

    /// Wraps a service, like [`Layer::layer`].
    pub fn layer<S>(&self, inner: S) -> Protected<S> {
        Protected {
            inner,
            layer: self.clone(),
        }
    }
}

impl fmt::Debug for RequireBearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequireBearer")
            .field("audience", &self.0.audience)
            .field("required", &self.0.required)
            .finish_non_exhaustive()
    }
}

/// A service that is protected by [`RequireBearer`].
#[derive(Debug, Clone)]
pub struct Protected<S> {
    inner: S,
    layer: RequireBearer,
}

impl<S> Protected<S> {
    /// Returns the inner service.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// Returns the inner service, without protection.
    pub fn into_inner(self) -> S {
        self.inner
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
        // Only the original is ready. The clone might not be ready.
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        Box::pin(async move {
            let policy = &*layer.0;
            let (mut parts, body) = request.into_parts();
            let admission = match policy.admit(&mut parts).await {
                Ok(admission) => admission,
                Err(refused) => return own(policy.refuse(&refused)),
            };
            let mut response = inner.call(Request::from_parts(parts, body)).await?;
            let Some(admission) = &admission else {
                return Ok(response.map(Body::inner));
            };
            policy.challenge(admission, &mut response);
            match admission.stream_end(&response) {
                Some(end) => Ok(response.map(|body| Body::limited(body, end))),
                None => Ok(response.map(Body::inner)),
            }
        })
    }
}
