//! From names to addresses, of which only those are left that may be reached.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use mcp_protocol::BoxFuture;
use tower_service::Service;

use super::url_policy::UrlPolicy;

/// Finds the addresses of a host. Default: the system's name service.
pub trait Resolver: Send + Sync + 'static {
    /// The addresses of this host.
    ///
    /// # Errors
    /// It has none, or they cannot be found now.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Asks the system.
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

/// A resolver for the connector: what it gives out is what is connected to, so a name cannot point
/// elsewhere between the check and the connection.
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
            // One address that is refused spoils them all: nobody has both by accident.
            if let Some(address) = found.iter().find(|i| !this.policy.allows(host, **i)) {
                return Err(io::Error::other(UrlPolicy::refusal(host, *address)));
            }
            let found = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(found.collect::<Vec<_>>().into_iter())
        })
    }
}
