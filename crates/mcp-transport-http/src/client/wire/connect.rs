//! The built-in HTTP client: HTTP/1.1 with a connection pool.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::client::options::ClientOptions;
use crate::client::wire::url::ServerUrl;
use crate::http_service::{BoxError, HttpService, RequestBody, TowerService};
use http::Uri;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use mcp_protocol::{BoxFuture, TransportError};
use tokio::time::timeout;
use tower_service::Service;

/// Interval of TCP keep-alive probes, and how many may fail before the connection is closed.
const PROBE: Duration = Duration::from_secs(20);
const PROBES: u32 = 3;

/// Creates the built-in HTTP client for a server.
///
/// # Errors
/// Returns an error if the URL needs TLS and TLS is not enabled or cannot be set up.
pub(crate) fn default_service(
    endpoint: &ServerUrl,
    options: &ClientOptions,
) -> Result<Box<dyn HttpService<RequestBody>>, TransportError> {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(options.connect_timeout));
    tcp.set_keepalive(Some(PROBE));
    tcp.set_keepalive_interval(Some(PROBE));
    tcp.set_keepalive_retries(Some(PROBES));
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(options.idle_timeout)
        .pool_max_idle_per_host(options.idle_connections)
        // The connection sets it, once for all requests.
        .set_host(false);
    if endpoint.is_secure() {
        secure(&builder, tcp, options.connect_timeout)
    } else {
        let connector = ConnectTimeout::new(tcp, options.connect_timeout);
        let client = builder.build::<_, RequestBody>(connector);
        Ok(Box::new(TowerService::new(client)))
    }
}

#[cfg(feature = "tls")]
fn secure(
    builder: &hyper_util::client::legacy::Builder,
    mut tcp: HttpConnector,
    limit: Duration,
) -> Result<Box<dyn HttpService<RequestBody>>, TransportError> {
    tcp.enforce_http(false);
    let config = crate::http_service::tls_config().map_err(|error| {
        TransportError::new("cannot use the certificates of this system").with_source(error)
    })?;
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_only()
        .enable_http1()
        .wrap_connector(tcp);
    let client = builder.build::<_, RequestBody>(ConnectTimeout::new(connector, limit));
    Ok(Box::new(TowerService::new(client)))
}

#[cfg(not(feature = "tls"))]
fn secure(
    _builder: &hyper_util::client::legacy::Builder,
    _tcp: HttpConnector,
    _limit: Duration,
) -> Result<Box<dyn HttpService<RequestBody>>, TransportError> {
    Err(TransportError::new(
        "https needs TLS: enable the feature \"tls\" of mcp-transport-http, or set another HTTP \
         client with HttpTransport::service",
    ))
}

/// A connector with a timeout for name resolution, TCP and TLS together.
#[derive(Clone)]
struct ConnectTimeout<C> {
    inner: C,
    limit: Duration,
}

impl<C> ConnectTimeout<C> {
    fn new(inner: C, limit: Duration) -> Self {
        Self { inner, limit }
    }
}

impl<C> Service<Uri> for ConnectTimeout<C>
where
    C: Service<Uri>,
    C::Response: Send,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    type Response = C::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<C::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let limit = self.limit;
        let connecting = self.inner.call(target);
        Box::pin(async move {
            let connected = timeout(limit, connecting).await.map_err(|_| {
                let text = format!(
                    "no connection within {} s, the limit of ClientOptions::with_connect_timeout",
                    limit.as_secs_f64()
                );
                io::Error::new(io::ErrorKind::TimedOut, text)
            })?;
            connected.map_err(Into::into)
        })
    }
}

/// Returns whether an error means that no connection was made, so that nothing was sent.
pub(crate) fn is_unreached(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut error = Some(error);
    while let Some(current) = error {
        if let Some(error) = current.downcast_ref::<hyper_util::client::legacy::Error>() {
            return error.is_connect();
        }
        if let Some(error) = current.downcast_ref::<io::Error>() {
            return error.kind() == io::ErrorKind::ConnectionRefused;
        }
        error = current.source();
    }
    false
}
