//! The built-in HTTP client, its proxy, and name resolution that is restricted to allowed addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use mcp_protocol::BoxFuture;
use mcp_transport_http::http_service::{BoxError, HttpService, ResponseBody, TowerService};
use mcp_transport_http::{ClientProxy, ClientStream};
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
    service: OnceLock<Box<dyn HttpService<RequestBody>>>,
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
        }
    }

    fn service(&self) -> Result<&dyn HttpService<RequestBody>, Error> {
        if let Some(service) = self.service.get() {
            return Ok(&**service);
        }
        let mut tcp = HttpConnector::new_with_resolver(self.resolver.clone());
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(self.timeout));
        tcp.enforce_http(false);
        let connector = ProxyConnector {
            direct: tcp,
            proxy: self.proxy.clone(),
            #[cfg(feature = "tls")]
            tls: self.tls.clone(),
        };
        let service = secure(connector, &self.tls)?;
        Ok(&**self.service.get_or_init(|| service))
    }
}

impl HttpService<RequestBody> for BuiltInService {
    /// Sends a request. Returns an error if the certificates of the system cannot be used.
    fn send(
        &self,
        request: Request<RequestBody>,
    ) -> BoxFuture<'static, Result<Response<ResponseBody>, BoxError>> {
        match self.service() {
            Ok(service) => service.send(request),
            Err(error) => Box::pin(async { Err(error.into()) }),
        }
    }
}

/// A connector that reaches servers directly or through a proxy. A direct connection goes only to allowed addresses. The address
/// of a server behind a proxy is not checked, because the proxy looks up the name.
#[derive(Clone)]
struct ProxyConnector {
    direct: HttpConnector<PolicyResolver>,
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
        let mut tunnel = match self.proxy.tunnel(&target) {
            Ok(Some(tunnel)) => tunnel,
            Ok(None) => {
                let connecting = self.direct.call(target);
                return Box::pin(async move { Ok(ClientStream::new(connecting.await?)) });
            }
            Err(error) => return Box::pin(async move { Err(error.into()) }),
        };
        #[cfg(feature = "tls")]
        {
            tunnel = tunnel.with_tls(&self.tls);
        }
        tunnel.call(target)
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

/// Returns a builder for the HTTP client without idle connections. A sign-in sends only a few requests, to several hosts, minutes
/// apart.
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

/// The resolver of the connector. It checks the same addresses that the connector then uses, so that the address of a name cannot
/// change between the check and the connection (DNS rebinding).
#[derive(Clone)]
pub(crate) struct PolicyResolver {
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) policy: UrlPolicy,
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
            let host = name.as_str();
            let found = this.resolver.resolve(host).await?;
            this.policy.observe(host, &found);
            // One forbidden address rejects the whole host: a legitimate host does not have both
            // kinds.
            if let Some(address) = found.iter().find(|i| !this.policy.allows(host, **i)) {
                return Err(io::Error::other(UrlPolicy::refusal(host, *address)));
            }
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(found.collect::<Vec<_>>().into_iter())
        })
    }
}
