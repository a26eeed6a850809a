//! The HTTP client that comes with this crate, and any other behind the same face.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::ready;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::{Request, Response};
use http_body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mcp_protocol::BoxFuture;
use tower_service::Service;

use super::body::FormBody;
use super::resolve::Guarded;
use crate::error::Error;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Sends one request and reads the response, up to so many bytes of it.
pub(crate) trait Carrier: Send + Sync {
    fn send(
        &self,
        request: Request<FormBody>,
        longest: usize,
    ) -> BoxFuture<'static, Result<Response<Bytes>, BoxError>>;
}

/// The body was longer than may be read.
#[derive(Debug)]
pub(crate) struct TooLong;

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the body is too long")
    }
}

impl std::error::Error for TooLong {}

/// A tower service as a carrier. It is behind a lock to be cloned, because services need not be
/// `Sync`.
pub(crate) struct Tower<S>(Mutex<S>);

impl<S> Tower<S> {
    pub(crate) fn new(service: S) -> Self {
        Self(Mutex::new(service))
    }
}

impl<S, B> Carrier for Tower<S>
where
    S: Service<Request<FormBody>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    fn send(
        &self,
        request: Request<FormBody>,
        longest: usize,
    ) -> BoxFuture<'static, Result<Response<Bytes>, BoxError>> {
        let service = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut service = S::clone(&service);
        Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx))
                .await
                .map_err(Into::into)?;
            let response = service.call(request).await.map_err(Into::into)?;
            let (head, body) = response.into_parts();
            let body = read(Box::pin(body), longest).await?;
            Ok(Response::from_parts(head, body))
        })
    }
}

async fn read<B>(mut body: Pin<Box<B>>, longest: usize) -> Result<Bytes, BoxError>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    let mut bytes = Vec::new();
    loop {
        let frame = poll_fn(|cx| {
            let frame = ready!(body.as_mut().poll_frame(cx));
            std::task::Poll::Ready(frame)
        });
        let Some(frame) = frame.await else {
            return Ok(bytes.into());
        };
        let Ok(mut data) = frame.map_err(Into::into)?.into_data() else {
            continue;
        };
        if data.remaining() > longest - bytes.len() {
            return Err(TooLong.into());
        }
        while data.has_remaining() {
            let chunk = data.chunk();
            bytes.extend_from_slice(chunk);
            let length = chunk.len();
            data.advance(length);
        }
    }
}

/// A client whose every connection goes where the guard allows.
///
/// # Errors
/// TLS cannot be set up.
pub(crate) fn carrier(guarded: Guarded, patience: Duration) -> Result<Box<dyn Carrier>, Error> {
    let mut tcp = HttpConnector::new_with_resolver(guarded);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(patience));
    secure(tcp)
}

#[cfg(feature = "tls")]
fn secure(mut tcp: HttpConnector<Guarded>) -> Result<Box<dyn Carrier>, Error> {
    use std::sync::Arc;

    use crate::error::Kind;
    use rustls_platform_verifier::BuilderVerifierExt;

    tcp.enforce_http(false);
    // A provider of our own: one that is installed for the process belongs to the program.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| {
            let message = "the certificates of this system cannot be used";
            Error::caused(Kind::Setup, message, error)
        })?
        .with_no_client_auth();
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Box::new(Tower::new(
        builder().build::<_, FormBody>(connector),
    )))
}

#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "with TLS it can fail")]
fn secure(tcp: HttpConnector<Guarded>) -> Result<Box<dyn Carrier>, Error> {
    Ok(Box::new(Tower::new(builder().build::<_, FormBody>(tcp))))
}

/// Nothing is kept open: the few requests of a sign-in are to several hosts, minutes apart.
fn builder() -> hyper_util::client::legacy::Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_max_idle_per_host(0);
    builder
}
