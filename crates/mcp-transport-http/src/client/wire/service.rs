//! The HTTP client behind the transport: any tower service.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};

use crate::client::wire::body::{RequestBody, ResponseBody};
use http::{Request, Response};
use http_body::Body;
use mcp_protocol::BoxFuture;
use tower_service::Service;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Sends one HTTP request.
pub(crate) trait HttpService: Send + Sync {
    fn send(
        &self,
        request: Request<RequestBody>,
    ) -> BoxFuture<'static, Result<Response<ResponseBody>, BoxError>>;
}

/// A tower service as an [`HttpService`]. The mutex allows cloning a service that is not `Sync`.
pub(crate) struct TowerService<S>(Mutex<S>);

impl<S> TowerService<S> {
    pub(crate) fn new(service: S) -> Self {
        Self(Mutex::new(service))
    }
}

impl<S, B> HttpService for TowerService<S>
where
    S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Error: Into<BoxError>,
{
    fn send(
        &self,
        request: Request<RequestBody>,
    ) -> BoxFuture<'static, Result<Response<ResponseBody>, BoxError>> {
        let service = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut service = S::clone(&service);
        Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx))
                .await
                .map_err(Into::into)?;
            let response = service.call(request).await.map_err(Into::into)?;
            Ok(response.map(ResponseBody::new))
        })
    }
}

/// Formats an error and its causes without repetition.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    use fmt::Write;
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            let _ = write!(text, ": {more}");
        }
        cause = error.source();
    }
    text
}

/// Maximum number of characters of a server's text in a log or error message.
pub(crate) const MAX_QUOTED: usize = 256;
