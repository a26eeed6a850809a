//! Name resolution, restricted to allowed addresses.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use mcp_protocol::BoxFuture;
use tower_service::Service;

use super::url_policy::UrlPolicy;

/// Resolves host names. Default: the resolver of the operating system.
pub trait Resolver: Send + Sync + 'static {
    /// Returns the addresses of a host.
    ///
    /// # Errors
    /// Returns an error if the host has no address or the resolver is not available.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the operating system.
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

/// The resolver of the connector. It checks the addresses that the connector uses, so that a name
/// cannot change between the check and the connection (DNS rebinding).
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
