//! The connector of the built-in HTTP client.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::client::options::ClientOptions;
use crate::client::wire::pool::{ConnectError, PooledClient};
use crate::client::wire::url::ServerUrl;
use crate::http_service::{BoxError, HttpService, RequestBody, causes};
use crate::proxy::{ClientProxy, ClientStream, ProxyAddress, Tunnel};
use http::Uri;
use hyper::rt::{Read, Write};
#[cfg(feature = "tls")]
use hyper_util::client::legacy::connect::Connection;
use hyper_util::client::legacy::connect::HttpConnector;
use mcp_protocol::{BoxFuture, TransportError};
use tokio::time::timeout;
use tower_service::Service;

/// The TLS settings.
#[cfg(feature = "tls")]
pub(crate) type Tls = crate::tls::ClientTls;
#[cfg(not(feature = "tls"))]
pub(crate) type Tls = ();

/// Interval of TCP keep-alive probes.
const PROBE: Duration = Duration::from_secs(20);
/// Number of failed TCP keep-alive probes after which the connection is closed.
const PROBES: u32 = 3;

/// Creates the built-in HTTP client for a server.
///
/// # Errors
/// The URL needs TLS and TLS is not enabled or cannot be set up, or the URL of the proxy is not valid.
pub(crate) fn default_service(
    endpoint: &ServerUrl,
    options: &ClientOptions,
    tls: &Tls,
    proxy: &ClientProxy,
) -> Result<Arc<dyn HttpService<RequestBody>>, TransportError> {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(options.connect_timeout));
    tcp.set_keepalive(Some(PROBE));
    tcp.set_keepalive_interval(Some(PROBE));
    tcp.set_keepalive_retries(Some(PROBES));
    tcp.enforce_http(!endpoint.is_secure());
    let Some(address) = proxy.route(endpoint.uri())?.via else {
        return match endpoint.is_secure() {
            true => secure(tcp, None, options, tls),
            false => Ok(create_client(tcp, None, false, options)),
        };
    };
    let tunnel = Tunnel::new(address.clone(), tcp);
    #[cfg(feature = "tls")]
    let tunnel = tunnel.with_tls(tls);
    match endpoint.is_secure() {
        true => secure(tunnel, Some(&address), options, tls),
        false if address.forwards() => {
            let connector = ForwardingConnector(tunnel);
            Ok(create_client(connector, Some(&address), true, options))
        }
        false => Ok(create_client(tunnel, Some(&address), false, options)),
    }
}

/// A connector that opens connections to the proxy without a tunnel. The proxy forwards each request.
#[derive(Clone)]
struct ForwardingConnector(Tunnel);

impl Service<Uri> for ForwardingConnector {
    type Response = ClientStream;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<ClientStream, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let tunnel = self.0.clone();
        Box::pin(async move { Ok(tunnel.dial().await?) })
    }
}

/// Creates a client. `connector` opens connections to the server, directly or through `proxy`. If `is_forwarded` is `true`,
/// `connector` opens connections to `proxy` itself, and the proxy forwards the requests.
fn create_client<C>(
    connector: C,
    proxy: Option<&ProxyAddress>,
    is_forwarded: bool,
    options: &ClientOptions,
) -> Arc<dyn HttpService<RequestBody>>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Read + Write + Send + Unpin + 'static,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    let connector = ConnectTimeout {
        inner: connector,
        limit: options.connect_timeout,
        proxy: proxy.map(ToString::to_string),
    };
    let (max_idle, timeout) = (options.idle_connections, options.idle_timeout);
    let forwarding = proxy.filter(|_| is_forwarded).cloned();
    Arc::new(PooledClient::new(connector, forwarding, max_idle, timeout))
}

#[cfg(feature = "tls")]
fn secure<C>(
    connector: C,
    proxy: Option<&ProxyAddress>,
    options: &ClientOptions,
    tls: &Tls,
) -> Result<Arc<dyn HttpService<RequestBody>>, TransportError>
where
    C: Service<Uri> + Clone + Send + Sync + 'static,
    C::Response: Connection + Read + Write + Send + Unpin + 'static,
    C::Error: Into<BoxError>,
    C::Future: Send + 'static,
{
    let config = tls.config().map_err(|error| {
        TransportError::new("cannot use the certificates of this system").with_source(error)
    })?;
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_only()
        .enable_http1()
        .wrap_connector(connector);
    Ok(create_client(connector, proxy, false, options))
}

#[cfg(not(feature = "tls"))]
fn secure<C>(
    _connector: C,
    _proxy: Option<&ProxyAddress>,
    _options: &ClientOptions,
    (): &Tls,
) -> Result<Arc<dyn HttpService<RequestBody>>, TransportError> {
    Err(TransportError::new(
        "https needs TLS: enable the feature \"tls\" of mcp-transport-http, or set another HTTP \
         client with HttpTransport::service",
    ))
}

/// A connector with one timeout for name resolution, TCP and TLS together.
#[derive(Clone)]
struct ConnectTimeout<C> {
    inner: C,
    limit: Duration,
    /// The URL of the proxy, for errors.
    proxy: Option<String>,
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
        let proxy = self.proxy.clone();
        let connecting = self.inner.call(target);
        Box::pin(async move {
            let connected = timeout(limit, connecting).await.map_err(|_| {
                let through = proxy.map_or_else(String::new, |proxy| format!(" through the proxy {proxy}"));
                let text = format!(
                    "no connection{through} within {} s, the limit of ClientOptions::with_connect_timeout",
                    limit.as_secs_f64()
                );
                io::Error::new(io::ErrorKind::TimedOut, text)
            })?;
            connected.map_err(Into::into)
        })
    }
}

/// Returns whether an error means that no connection was opened. Nothing was sent in this case.
pub(crate) fn is_unreached(error: &(dyn std::error::Error + 'static)) -> bool {
    for cause in causes(error) {
        if cause.is::<ConnectError>() {
            return true;
        }
        // An HTTP client that the application has set may be the client of hyper-util.
        if let Some(error) = cause.downcast_ref::<hyper_util::client::legacy::Error>() {
            return error.is_connect();
        }
        if let Some(error) = cause.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            return true;
        }
    }
    false
}
