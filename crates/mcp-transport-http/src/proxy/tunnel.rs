//! The connection to a server behind a proxy: `CONNECT` through an HTTP proxy, or SOCKS 5.
//!
//! Specification: [RFC 9110, section 9.3.6](https://www.rfc-editor.org/rfc/rfc9110#section-9.3.6), [RFC
//! 1928](https://www.rfc-editor.org/rfc/rfc1928).

use std::fmt;
use std::future::{Ready, poll_fn, ready};
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::try_join;
use http::header::{HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, Method, Request, StatusCode, Uri};
use hyper::client::conn::http1;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use mcp_jsonrpc::quote;
use mcp_protocol::BoxFuture;
use tokio::net::lookup_host;
use tower_service::Service;

use super::ProxyAddress;
use super::address::ProxyKind;
use crate::http_service::{BoxError, RequestBody, error_chain, failure_reason};

/// Maximum size of the head of a proxy's response, in bytes.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Maximum length of the name of an authentication scheme in an error, in characters.
const MAX_SCHEME: usize = 32;

/// A failure at a proxy. The server was not reached.
#[derive(Debug)]
pub(crate) struct ProxyError(String);

impl ProxyError {
    fn new(proxy: &ProxyAddress, problem: impl fmt::Display) -> Self {
        Self(format!("the proxy {proxy} {problem}"))
    }

    /// Creates the error for a proxy that was not reached.
    pub(crate) fn unreached(
        proxy: &ProxyAddress,
        error: &(dyn std::error::Error + 'static),
    ) -> Self {
        // Errors of TLS describe the other side as a server.
        let reason = failure_reason(error).replace("the server", "the proxy");
        Self::new(proxy, format_args!("cannot be reached: {reason}"))
    }

    /// Creates the error for a response with the status 407 and these headers.
    pub(crate) fn authentication(proxy: &ProxyAddress, headers: &HeaderMap) -> Self {
        let challenges = headers.get_all(PROXY_AUTHENTICATE).iter();
        let schemes: Vec<&str> = challenges
            .filter_map(|value| value.to_str().ok()?.split(' ').next())
            .collect();
        let knows_basic = schemes.iter().any(|it| it.eq_ignore_ascii_case("basic"));
        let problem = match (schemes.first(), &proxy.authorization) {
            (Some(scheme), _) if !knows_basic => format!(
                "requires credentials of the kind {}, and only Basic is supported; a local proxy such as cntlm or px can add them",
                quote(scheme, MAX_SCHEME)
            ),
            (_, None) => {
                "needs credentials; write them in the URL of the proxy, as in http://user:password@proxy.example:3128"
                    .to_owned()
            }
            (_, Some(_)) => "refused the credentials in its URL".to_owned(),
        };
        Self::new(proxy, format_args!("{problem} (407)"))
    }
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProxyError {}

/// A stream of bytes.
trait Stream: Read + Write + Send + Unpin {}

impl<T: Read + Write + Send + Unpin> Stream for T {}

/// A connection of an HTTP client, for example through a proxy.
pub struct ClientStream(Box<dyn Stream>);

impl ClientStream {
    /// Wraps a stream.
    pub fn new(stream: impl Read + Write + Send + Unpin + 'static) -> Self {
        Self(Box::new(stream))
    }
}

impl fmt::Debug for ClientStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientStream")
    }
}

impl Read for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl Write for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

impl Connection for ClientStream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

/// A connector that opens connections to servers through one proxy.
#[derive(Debug, Clone)]
pub struct Tunnel {
    proxy: ProxyAddress,
    tcp: HttpConnector,
    #[cfg(feature = "tls")]
    tls: crate::ClientTls,
}

impl Tunnel {
    /// Creates a connector. `tcp` opens the connections to the proxy.
    pub(crate) fn new(proxy: ProxyAddress, mut tcp: HttpConnector) -> Self {
        tcp.enforce_http(false);
        Self {
            proxy,
            tcp,
            #[cfg(feature = "tls")]
            tls: crate::ClientTls::new(),
        }
    }

    /// Sets the TLS settings for the connection to an `https` proxy. The proxy does not get the client certificate, which is for
    /// servers.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: &crate::ClientTls) -> Self {
        self.tls = tls.clone().without_client_certificate();
        self
    }

    /// Opens a connection to the proxy.
    pub(crate) async fn dial(mut self) -> Result<ClientStream, ProxyError> {
        let uri = self.proxy.uri();
        #[cfg(feature = "tls")]
        if self.proxy.kind == ProxyKind::Https {
            let config =
                (self.tls.config()).map_err(|error| ProxyError::unreached(&self.proxy, &error))?;
            let mut connector = hyper_rustls::HttpsConnectorBuilder::new()
                .with_tls_config(config)
                .https_only()
                .enable_http1()
                .wrap_connector(self.tcp);
            let stream = connector.call(uri).await;
            return stream
                .map(ClientStream::new)
                .map_err(|error| ProxyError::unreached(&self.proxy, &*error));
        }
        let ready = poll_fn(|cx| self.tcp.poll_ready(cx)).await;
        let stream = match ready {
            Ok(()) => self.tcp.call(uri).await,
            Err(error) => Err(error),
        };
        stream
            .map(ClientStream::new)
            .map_err(|error| ProxyError::unreached(&self.proxy, &error))
    }

    /// Opens a connection to a server. If the client looks up names itself, it uses `address` instead of another lookup.
    ///
    /// # Errors
    /// The proxy cannot be reached, or it refuses the connection.
    pub async fn connect_to(
        self,
        target: Uri,
        address: Option<IpAddr>,
    ) -> Result<ClientStream, BoxError> {
        let (host, port) = address_of(&target);
        let stream = match self.proxy.kind {
            ProxyKind::Http | ProxyKind::Https => self.connect_http(host, port).await,
            ProxyKind::Socks5 | ProxyKind::Socks5h => self.connect_socks(host, port, address).await,
        };
        Ok(stream?)
    }

    /// Opens a tunnel with `CONNECT`.
    async fn connect_http(self, host: &str, port: u16) -> Result<ClientStream, ProxyError> {
        let proxy = self.proxy.clone();
        let failed = |error: hyper::Error| {
            let reason = error_chain(&error);
            ProxyError::new(&proxy, format_args!("did not open a tunnel: {reason}"))
        };
        let authority = format!("{host}:{port}");
        let mut request = Request::new(RequestBody::default());
        *request.method_mut() = Method::CONNECT;
        let named = authority.parse::<Authority>().map(Uri::from);
        *request.uri_mut() = named.map_err(|error| {
            ProxyError::new(
                &proxy,
                format_args!("cannot open a tunnel to {authority}: {error}"),
            )
        })?;
        let headers = request.headers_mut();
        if let Ok(value) = authority.parse() {
            headers.insert(HOST, value);
        }
        if let Some(value) = &proxy.authorization {
            headers.insert(PROXY_AUTHORIZATION, value.clone());
        }
        let stream = self.dial().await?;
        let mut builder = http1::Builder::new();
        builder.max_buf_size(MAX_HEAD_BYTES);
        let (mut sender, connection) = builder.handshake(stream).await.map_err(failed)?;
        let response = async {
            let response = sender.send_request(request).await.map_err(failed)?;
            match response.status() {
                status if status.is_success() => {}
                StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
                    return Err(ProxyError::authentication(&proxy, response.headers()));
                }
                status => {
                    let problem = format!(
                        "did not open a tunnel to {authority}: the response has the status {status}"
                    );
                    return Err(ProxyError::new(&proxy, problem));
                }
            }
            hyper::upgrade::on(response).await.map_err(failed)
        };
        let connection = async { connection.with_upgrades().await.map_err(failed) };
        let (stream, ()) = try_join(response, connection).await?;
        Ok(ClientStream::new(stream))
    }

    async fn connect_socks(
        self,
        host: &str,
        port: u16,
        address: Option<IpAddr>,
    ) -> Result<ClientStream, ProxyError> {
        let proxy = &self.proxy;
        let host = match (proxy.kind, address) {
            (ProxyKind::Socks5, Some(address)) => in_url(address),
            (ProxyKind::Socks5, None) => resolve(host, port).await.map_err(|error| {
                ProxyError::new(
                    proxy,
                    format_args!("was not used: the client cannot look up {host}: {error}; with socks5h, the proxy looks up names"),
                )
            })?,
            _ => host.to_owned(),
        };
        let target = format!("https://{host}:{port}/").parse::<Uri>();
        let target = target.map_err(|error| {
            ProxyError::new(
                proxy,
                format_args!("cannot open a tunnel to {host}:{port}: {error}"),
            )
        })?;
        let opened = OpenConnection(Some(self.clone().dial().await?));
        let mut socks = SocksV5::new(proxy.uri(), opened);
        if let Some((user, password)) = &proxy.login {
            socks = socks.with_auth(user.clone(), password.clone());
        }
        let stream = socks.call(target).await.map_err(|error| {
            let reason = error_chain(&error);
            ProxyError::new(
                proxy,
                format_args!("did not open a tunnel to {host}:{port}: {reason}"),
            )
        })?;
        Ok(ClientStream::new(stream))
    }
}

/// A connector that returns a connection that is already open.
struct OpenConnection(Option<ClientStream>);

impl Service<Uri> for OpenConnection {
    type Response = ClientStream;
    type Error = io::Error;
    type Future = Ready<io::Result<ClientStream>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        ready(
            self.0
                .take()
                .ok_or_else(|| io::Error::other("the connection is already in use")),
        )
    }
}

/// Returns an address in the form that a URL has.
fn in_url(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

/// Returns the first address of a host, in the notation of URLs.
async fn resolve(host: &str, port: u16) -> io::Result<String> {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let mut addresses = lookup_host((name, port)).await?;
    let address = addresses.next().map(|address| in_url(address.ip()));
    address.ok_or_else(|| io::Error::other("no address"))
}

/// Returns the host and the port of a URL.
fn address_of(url: &Uri) -> (&str, u16) {
    let default = match url.scheme() == Some(&Scheme::HTTP) {
        true => 80,
        false => 443,
    };
    (
        url.host().unwrap_or_default(),
        url.port_u16().unwrap_or(default),
    )
}

impl Service<Uri> for Tunnel {
    type Response = ClientStream;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<ClientStream, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let tunnel = self.clone();
        Box::pin(tunnel.connect_to(target, None))
    }
}
