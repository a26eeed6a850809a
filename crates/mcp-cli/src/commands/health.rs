//! The paths `/healthz` and `/readyz`, which need no token. `/readyz` names the servers that are not ready. Its response contains
//! no text from a server.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tower_service::Service;

/// A check that returns the reasons why the program is not ready, one reason per line; an empty text if it is ready.
pub(crate) type CheckReady =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = String> + Send>> + Send + Sync>;

/// A service that responds to requests for the paths of health checks, and passes all other requests to the inner service.
#[derive(Clone)]
pub(crate) struct Health<S> {
    inner: S,
    check_ready: CheckReady,
}

impl<S> Health<S> {
    pub(crate) fn new(inner: S, check_ready: CheckReady) -> Self {
        Self { inner, check_ready }
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
        let check = match request.uri().path() {
            "/healthz" => None,
            "/readyz" => Some((self.check_ready)()),
            _ => {
                let response = self.inner.call(request);
                return Box::pin(async move { Ok(response.await?.map(HealthBody::Inner)) });
            }
        };
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        Box::pin(async move {
            if !is_read {
                return Ok(respond(StatusCode::METHOD_NOT_ALLOWED, String::new()));
            }
            let reasons = match check {
                Some(check) => check.await,
                None => String::new(),
            };
            Ok(match reasons.is_empty() {
                true => respond(StatusCode::OK, reasons),
                false => respond(StatusCode::SERVICE_UNAVAILABLE, reasons),
            })
        })
    }
}

fn respond<B>(status: StatusCode, text: String) -> Response<HealthBody<B>> {
    let mut response = Response::new(HealthBody::Text(text.into()));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// The body of a response.
pub(crate) enum HealthBody<B> {
    Text(Bytes),
    Inner(B),
}

impl<B> Default for HealthBody<B> {
    fn default() -> Self {
        Self::Text(Bytes::new())
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for HealthBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.get_mut() {
            Self::Text(text) if text.is_empty() => Poll::Ready(None),
            Self::Text(text) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(text))))),
            Self::Inner(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Text(text) => text.is_empty(),
            Self::Inner(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Text(text) => SizeHint::with_exact(text.len() as u64),
            Self::Inner(body) => body.size_hint(),
        }
    }
}
