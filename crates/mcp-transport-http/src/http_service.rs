//! The HTTP client of a transport. It is any tower service, with its type erased.
//!
//! Shared with `mcp-auth`; not part of the public interface.

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
#[cfg(feature = "forward")]
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body, Frame, SizeHint};
use mcp_protocol::BoxFuture;
use tower_service::Service;

use crate::sync::lock;

/// Maximum memory that is reserved for a body before the body arrives, in bytes.
const MAX_RESERVED: usize = 1 << 20;

/// An error of any type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An HTTP client that sends requests with a body of type `B`.
pub trait HttpService<B>: Send + Sync {
    /// Sends `request` and waits for the head of the response.
    fn send(
        &self,
        request: Request<B>,
    ) -> BoxFuture<'static, Result<Response<ResponseBody>, BoxError>>;
}

/// A tower service that implements [`HttpService`]. The mutex makes it possible to clone a service that is not `Sync`.
pub struct TowerService<S>(Mutex<S>);

impl<S> TowerService<S> {
    /// Wraps a tower service.
    pub fn new(service: S) -> Self {
        Self(Mutex::new(service))
    }
}

impl<S> fmt::Debug for TowerService<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TowerService")
    }
}

impl<S, B, R> HttpService<B> for TowerService<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Send + 'static,
    R: Body + Send + 'static,
    R::Error: Into<BoxError>,
{
    fn send(
        &self,
        request: Request<B>,
    ) -> BoxFuture<'static, Result<Response<ResponseBody>, BoxError>> {
        let mut service = S::clone(&lock(&self.0));
        Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx))
                .await
                .map_err(Into::into)?;
            let response = service.call(request).await.map_err(Into::into)?;
            Ok(response.map(ResponseBody::new))
        })
    }
}

/// The `Authorization` header that an authentication layer has removed from a request. The layer puts this value into the
/// extensions of the request.
///
/// Handlers cannot read the header. If the endpoint forwards the request to another endpoint (see
/// `ServerOptions::with_forwarding`), it adds the header again, because the other endpoint also verifies the request. If a layer
/// removes the header without storing it here, the other endpoint rejects the request.
#[derive(Clone)]
#[cfg_attr(
    not(feature = "forward"),
    expect(dead_code, reason = "is read to forward")
)]
pub struct RemovedAuthorization {
    value: HeaderValue,
    more: Option<Arc<dyn ForwardedHeaders>>,
}

/// Additional headers that an authentication layer adds to a request before the request is forwarded.
pub trait ForwardedHeaders: Send + Sync {
    /// Adds the headers. This method is called once for each forwarded request.
    ///
    /// # Errors
    /// The headers cannot be created now. The request is then rejected with status 503.
    fn add<'a>(&'a self, headers: &'a mut HeaderMap) -> BoxFuture<'a, Result<(), BoxError>>;
}

impl RemovedAuthorization {
    /// Stores the value of the header and marks it as sensitive.
    pub fn new(mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        Self { value, more: None }
    }

    /// Sets the additional headers for forwarding the request.
    #[doc(hidden)]
    pub fn set_forwarded_headers(&mut self, more: Arc<dyn ForwardedHeaders>) {
        self.more = Some(more);
    }

    /// Adds the stored `Authorization` header and the headers from [`ForwardedHeaders`].
    #[cfg(feature = "forward")]
    pub(crate) async fn restore(&self, headers: &mut HeaderMap) -> Result<(), BoxError> {
        headers.insert(AUTHORIZATION, self.value.clone());
        match &self.more {
            Some(more) => more.add(headers).await,
            None => Ok(()),
        }
    }
}

impl fmt::Debug for RemovedAuthorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemovedAuthorization")
    }
}

/// The body of an HTTP request that a client sends: a message, a form, or empty. `Debug` prints only
/// its length, because the content may be secret.
#[derive(Clone, Default)]
pub struct RequestBody(Bytes);

impl RequestBody {
    #[doc(hidden)]
    pub fn new(content: impl Into<Bytes>) -> Self {
        Self(content.into())
    }

    /// Returns the content, or an empty slice if the content was already sent. The content may contain secrets.
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let content = std::mem::take(&mut self.0);
        Poll::Ready((!content.is_empty()).then(|| Ok(Frame::data(content))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestBody({} bytes)", self.0.len())
    }
}

/// The error of [`ResponseBody::read`]: the body has more bytes than the limit.
#[derive(Debug)]
pub struct BodyTooLarge {
    max: usize,
}

impl fmt::Display for BodyTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the body has more than {} bytes", self.max)
    }
}

impl std::error::Error for BodyTooLarge {}

/// A response body of any type.
pub struct ResponseBody(Pin<Box<dyn DataSource>>);

impl ResponseBody {
    /// Erases the type of `body`.
    pub fn new<B>(body: B) -> Self
    where
        B: Body + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Box::pin(body))
    }

    /// Returns the next chunk, or `None` at the end. Cancel safe.
    pub async fn data(&mut self) -> Option<Result<Bytes, BoxError>> {
        poll_fn(|cx| self.0.as_mut().poll_data(cx)).await
    }

    /// Returns the length that the server announced, if it announced one.
    pub fn announced(&self) -> Option<u64> {
        self.0.announced()
    }

    /// Reads the body to its end.
    ///
    /// # Errors
    /// [`BodyTooLarge`] if the body has more than `max` bytes; otherwise the error of the body.
    pub async fn read(mut self, max: usize) -> Result<Bytes, BoxError> {
        let announced = self.announced().unwrap_or(0);
        if announced > max as u64 {
            return Err(BodyTooLarge { max }.into());
        }
        // A body that arrives in one chunk is not copied.
        let mut first = Bytes::new();
        let mut rest = BytesMut::new();
        let mut length = 0;
        // With a `Content-Length`, the end of the body is known after its last chunk. Polling for another chunk would wait until
        // the connection is ready for its next request.
        while !self.0.is_end()
            && let Some(data) = self.data().await
        {
            let data = data?;
            length += data.len();
            if length > max {
                return Err(BodyTooLarge { max }.into());
            }
            if first.is_empty() {
                first = data;
                continue;
            }
            if rest.is_empty() {
                // The body may be shorter than announced.
                let announced = usize::try_from(announced).unwrap_or(0);
                rest.reserve(announced.min(MAX_RESERVED).max(length));
                rest.extend_from_slice(&first);
            }
            rest.extend_from_slice(&data);
        }
        Ok(if rest.is_empty() {
            first
        } else {
            rest.freeze()
        })
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseBody")
    }
}

/// Type-erased access to a response body.
trait DataSource: Send {
    fn poll_data(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BoxError>>>;

    fn announced(&self) -> Option<u64>;

    /// Returns whether the body has certainly ended.
    fn is_end(&self) -> bool;
}

impl<B> DataSource for B
where
    B: Body + Send,
    B::Error: Into<BoxError>,
{
    fn poll_data(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, BoxError>>> {
        loop {
            let Some(frame) = ready!(self.as_mut().poll_frame(cx)) else {
                return Poll::Ready(None);
            };
            match frame.map(Frame::into_data) {
                Ok(Ok(mut data)) if data.has_remaining() => {
                    return Poll::Ready(Some(Ok(data.copy_to_bytes(data.remaining()))));
                }
                // Skips empty chunks and trailers.
                Ok(_) => {}
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
            }
        }
    }

    fn announced(&self) -> Option<u64> {
        self.size_hint().exact()
    }

    fn is_end(&self) -> bool {
        self.is_end_stream()
    }
}

/// Iterates over an error and its causes. After an I/O error comes the error that it contains.
pub fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| {
        let inner = error.downcast_ref::<std::io::Error>();
        match inner.and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    })
}

/// Returns the reason why a request failed. For a failed TLS handshake, the reason is a plain sentence. Otherwise, it consists of
/// the error and its causes.
pub fn failure_reason(error: &(dyn std::error::Error + 'static)) -> String {
    #[cfg(feature = "tls")]
    if let Some(failure) = crate::tls::TlsFailure::of(error) {
        return failure.reason;
    }
    error_chain(error)
}

/// Formats an error and its causes. Leaves out repeated texts.
pub fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
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
