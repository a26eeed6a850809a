//! The metadata of a protected server.
//!
//! Specification: [RFC 9728, sections 2 and 3](https://www.rfc-editor.org/rfc/rfc9728#section-2).

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderName,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use serde_json::Value;
use tower_service::Service;

use super::body::TextBody;
use crate::server::audience::Audience;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
const METHODS: &str = "GET, HEAD, OPTIONS";

/// The metadata of a protected server, as a tower service. Use it with routers that send only some paths to the service behind
/// [`RequireBearer`](super::RequireBearer). This service sends the metadata at any path.
///
/// ```
/// # use mcp_auth::server::RequireBearer;
/// # struct Router;
/// # impl Router {
/// #     fn route_service<T>(self, _: &str, _: T) -> Self { self }
/// # }
/// # fn mount(guard: &RequireBearer, mut router: Router) -> Router {
/// let metadata = guard.metadata();
/// for path in metadata.paths() {
///     router = router.route_service(path, metadata.clone());
/// }
/// # router
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Metadata(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    document: Bytes,
    url: String,
    path: String,
}

impl Metadata {
    pub(super) fn new(audience: &Audience, document: &Value) -> Self {
        let path = format!("{WELL_KNOWN}{}", audience.path());
        Self(Arc::new(Inner {
            document: document.to_string().into(),
            url: format!("{}{path}", audience.origin()),
            path,
        }))
    }

    /// Returns the public URL of the metadata.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// Returns the two paths of the metadata: one with the path of the server, and one for the whole host.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let own = self.0.path.as_str();
        std::iter::once(own).chain((own != WELL_KNOWN).then_some(WELL_KNOWN))
    }

    pub(super) fn is_at(&self, path: &str) -> bool {
        path.starts_with(WELL_KNOWN) && self.paths().any(|own| own == path)
    }

    /// Returns the response with the metadata. The metadata is public, so pages of any origin may read it.
    pub(super) fn answer(&self, method: &Method) -> Response<TextBody> {
        let mut response = Response::new(TextBody::default());
        let mut set = |name: HeaderName, value: &'static str| {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        };
        set(ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        match *method {
            Method::GET | Method::HEAD => {
                set(CONTENT_TYPE, "application/json");
                set(CACHE_CONTROL, "public, max-age=300");
                if method == Method::GET {
                    *response.body_mut() = TextBody::new(self.0.document.clone());
                }
            }
            Method::OPTIONS => {
                set(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
                // Clients send `MCP-Protocol-Version`.
                set(ACCESS_CONTROL_ALLOW_HEADERS, "*");
                set(ACCESS_CONTROL_MAX_AGE, "86400");
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            _ => {
                set(ALLOW, METHODS);
                *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            }
        }
        response
    }
}

impl<B> Service<Request<B>> for Metadata {
    type Response = Response<TextBody>;
    type Error = Infallible;
    type Future = Ready<Result<Response<TextBody>, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.answer(request.method())))
    }
}
