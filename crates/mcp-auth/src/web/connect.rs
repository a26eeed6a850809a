//! The built-in HTTP client, its proxy, and name resolution that is restricted to allowed addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::Scheme;
use http::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use mcp_protocol::BoxFuture;
use mcp_transport_http::http_service::{BoxError, HttpService, ResponseBody, TowerService};
use mcp_transport_http::{ClientProxy, ClientStream};
use tokio::time::timeout;
use tower_service::Service;

use super::url_policy::UrlPolicy;
use crate::error::Error;
use mcp_transport_http::RequestBody;

/// The TLS settings.
#[cfg(feature = "tls")]
pub(crate) type Tls = mcp_transport_http::ClientTls;
#[cfg(not(feature = "tls"))]
#[derive(Clone, Default)]
pub(crate) struct Tls(());

/// The built-in client, which connects only to addresses that its policy allows. The HTTP client is created on the first request,
/// because reading the certificates of the system takes milliseconds, and most clients never need a sign-in.
pub(crate) struct BuiltInService {
    resolver: PolicyResolver,
    timeout: Duration,
    tls: Tls,
    proxy: ClientProxy,
    /// The client for all hosts except the server.
    service: OnceLock<Box<dyn HttpService<RequestBody>>>,
    /// The client for the server, which presents the client certificate.
    service_of_server: OnceLock<Box<dyn HttpService<RequestBody>>>,
}

impl BuiltInService {
    pub(crate) fn new(
        resolver: PolicyResolver,
        timeout: Duration,
        tls: Tls,
        proxy: ClientProxy,
    ) -> Self {
        Self {
            resolver,
            timeout,
            tls,
            proxy,
            service: OnceLock::new(),
            service_of_server: OnceLock::new(),
        }
    }

    /// Returns the client for a host. Only the client for the host of the server presents the client certificate. The server
    /// names the other hosts, and must not be able to choose which hosts receive the certificate.
    fn service(&self, host: &str) -> Result<&dyn HttpService<RequestBody>, Error> {
        let is_of_server = self.resolver.policy.is_of_server(host);
        let service = match is_of_server {
            true => &self.service_of_server,
            false => &self.service,
        };
        if let Some(service) = service.get() {
            return Ok(&**service);
        }
        let tls = match is_of_server {
            true => self.tls.clone(),
            false => without_client_certificate(&self.tls),
        };
        let mut tcp = HttpConnector::new_with_resolver(self.resolver.clone());
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(self.timeout));
        tcp.enforce_http(false);
        let connector = ProxyConnector {
            direct: tcp,
            resolver: self.resolver.clone(),
            proxy: self.proxy.clone(),
            #[cfg(feature = "tls")]
            tls: tls.clone(),
        };
        let created = secure(connector, &tls)?;
        Ok(&**service.get_or_init(|| created))
    }
}

#[cfg(feature = "tls")]
fn without_client_certificate(tls: &Tls) -> Tls {
    tls.clone().without_client_certificate()
}

#[cfg(not(feature = "tls"))]
fn without_client_certificate(tls: &Tls) -> Tls {
    tls.clone()
}

impl HttpService<RequestBody> for BuiltInService {
    /// Sends a request. Returns an error if the certificates of the system cannot be used.
    fn send(
        &self,
        request: Request<RequestBody>,
    ) -> BoxFuture<'static, Result<Response<ResponseBody>, BoxError>> {
        match self.service(request.uri().host().unwrap_or_default()) {
            Ok(service) => service.send(request),
            Err(error) => Box::pin(async { Err(error.into()) }),
        }
    }
}

/// Maximum time for this machine to look up a name before the proxy receives the name.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// A connector that reaches servers directly or through a proxy. A direct connection goes only to allowed addresses. Before a
/// connection through the proxy, this machine looks up the name of the server. If it finds addresses, they must be allowed, too.
/// Otherwise, only the proxy knows the addresses, and they are not checked.
#[derive(Clone)]
struct ProxyConnector {
    direct: HttpConnector<PolicyResolver>,
    resolver: PolicyResolver,
    proxy: ClientProxy,
    #[cfg(feature = "tls")]
    tls: Tls,
}

impl Service<Uri> for ProxyConnector {
    type Response = ClientStream;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<ClientStream, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.direct.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        // The policy allows URLs without TLS only for this machine. They never use the proxy, because the rule of the proxy does
        // not know all spellings of this machine's address.
        let tunnel = match target.scheme() == Some(&Scheme::HTTPS) {
            true => self.proxy.tunnel(&target),
            false => Ok(None),
        };
        let tunnel = match tunnel {
            Ok(Some(tunnel)) => tunnel,
            Ok(None) => {
                let connecting = self.direct.call(target);
                return Box::pin(async move { Ok(ClientStream::new(connecting.await?)) });
            }
            Err(error) => return Box::pin(async move { Err(error.into()) }),
        };
        #[cfg(feature = "tls")]
        let tunnel = tunnel.with_tls(&self.tls);
        let resolver = self.resolver.clone();
        Box::pin(async move {
            let host = target.host().unwrap_or_default().to_owned();
            let addresses = timeout(LOOKUP_TIMEOUT, resolver.lookup(&host)).await;
            let addresses = match addresses {
                Ok(Ok(addresses)) => addresses,
                Ok(Err(error)) if is_refusal(&error) => return Err(error.into()),
                // Names outside of the company are often known only to the proxy.
                Ok(Err(_)) | Err(_) => Vec::new(),
            };
            let checked = addresses.first().copied();
            tunnel.connect_to(target, checked).await
        })
    }
}

#[cfg(feature = "tls")]
fn secure(
    connector: ProxyConnector,
    tls: &Tls,
) -> Result<Box<dyn HttpService<RequestBody>>, Error> {
    use crate::error::ErrorKind;

    let config = tls.config().map_err(|error| {
        let message = "cannot use the certificates of this system";
        Error::caused(ErrorKind::Setup, message, error)
    })?;
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Ok(Box::new(TowerService::new(
        builder().build::<_, RequestBody>(connector),
    )))
}

#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "fails only with TLS")]
fn secure(connector: ProxyConnector, _: &Tls) -> Result<Box<dyn HttpService<RequestBody>>, Error> {
    Ok(Box::new(TowerService::new(
        builder().build::<_, RequestBody>(connector),
    )))
}

/// Returns a builder for an HTTP client that keeps no idle connections. A sign-in sends only a few requests, to several hosts,
/// minutes apart.
fn builder() -> hyper_util::client::legacy::Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_max_idle_per_host(0);
    builder
}

/// A resolver of host names. Default: the resolver of the operating system.
pub trait Resolver: Send + Sync + 'static {
    /// Returns the addresses of a host.
    ///
    /// # Errors
    /// Returns an error if the host has no address or the resolver is not available.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

#[derive(Debug)]
pub(crate) struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The resolver of the connector. The connector uses exactly the addresses that this resolver has checked. The address of a name
/// therefore cannot change between the check and the connection (DNS rebinding).
#[derive(Clone)]
pub(crate) struct PolicyResolver {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) policy: UrlPolicy,
}

impl PolicyResolver {
    /// Returns the addresses of a host.
    ///
    /// # Errors
    /// The host has no address, or an address that the policy does not allow.
    async fn lookup(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let found = self.resolver.resolve(name).await?;
        self.policy.observe(host, &found);
        // One forbidden address rejects the whole host: a legitimate host does not have both
        // kinds.
        match found.iter().find(|i| !self.policy.allows(host, **i)) {
            Some(address) => Err(io::Error::other(UrlPolicy::refusal(host, *address))),
            None => Ok(found),
        }
    }
}

/// Returns whether the policy has refused an address.
fn is_refusal(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Error>())
}

impl Service<Name> for PolicyResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let found = this.lookup(name.as_str()).await?;
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(found.collect::<Vec<_>>().into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use mcp_transport_http::ClientProxy;
    use url::Url;

    use super::*;
    use crate::web::PrivateNetworks;

    /// A resolver that knows only one name, which has a private address.
    struct Company;

    impl Resolver for Company {
        fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
            let found = match host {
                "intern.test" => Ok(vec![IpAddr::from([10, 0, 0, 1])]),
                _ => Err(io::Error::other("unknown")),
            };
            Box::pin(async { found })
        }
    }

    /// Returns the error of a connection through a proxy that cannot be reached.
    async fn fails(url: &'static str, proxy: &str) -> String {
        let server = Url::parse("https://server.test/mcp").unwrap();
        let resolver = PolicyResolver {
            resolver: Arc::new(Company),
            policy: UrlPolicy::new(&server, PrivateNetworks::Forbidden).unwrap(),
        };
        let mut direct = HttpConnector::new_with_resolver(resolver.clone());
        direct.enforce_http(false);
        let mut connector = ProxyConnector {
            direct,
            resolver,
            proxy: ClientProxy::new(proxy).unwrap().with_exceptions(""),
            #[cfg(feature = "tls")]
            tls: Tls::default(),
        };
        let failed = connector.call(Uri::from_static(url)).await;
        failed.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn names_with_forbidden_addresses_are_not_sent_to_a_proxy() {
        for proxy in [
            "http://127.0.0.1:1",
            "socks5://127.0.0.1:1",
            "socks5h://127.0.0.1:1",
        ] {
            let error = fails("https://intern.test/", proxy).await;
            assert!(error.contains("is in a private network"), "{error}");
        }
        // Only the proxy knows this name.
        let error = fails("https://public.test/", "http://127.0.0.1:1").await;
        assert!(
            error.contains("the proxy http://127.0.0.1:1 cannot be reached"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn requests_without_tls_are_never_sent_to_a_proxy() {
        // This machine, as IPv4 in IPv6.
        let error = fails("http://[64:ff9b::7f00:1]:1/", "http://127.0.0.1:1").await;
        assert!(!error.contains("the proxy"), "{error}");
    }
}
