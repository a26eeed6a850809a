//! Settings of the HTTP client.

use std::sync::Arc;

use mcp_transport_http::ClientProxy;
use mcp_transport_http::http_service::HttpService;
use url::Url;

use super::client::{HttpClient, Limits};
use super::connect::{BuiltInService, PolicyResolver, Resolver, SystemResolver, Tls};
use super::url_policy::{PrivateNetworks, UrlPolicy};
use crate::error::Error;
use mcp_transport_http::RequestBody;

/// Defines the setters that all builders of this crate share: the HTTP client and the clock.
macro_rules! shared_setters {
    () => {
        /// Allows servers in private networks. Cloud metadata services remain forbidden, because they give out credentials of
        /// machines.
        pub fn allow_private_networks(mut self) -> Self {
            self.http_settings.private = crate::web::PrivateNetworks::Allowed;
            self
        }

        /// Sets the resolver of host names. The addresses that it returns are checked. Default: the resolver of the operating
        /// system.
        pub fn resolver(mut self, resolver: impl crate::web::Resolver) -> Self {
            self.http_settings.resolver = std::sync::Arc::new(resolver);
            self
        }

        /// Sets the proxy for requests to authorization servers. Default: the proxy of the environment variables, as
        /// [`ClientProxy::from_environment`](mcp_transport_http::ClientProxy::from_environment) describes. A proxy
        /// looks up host names. The addresses of a name are therefore checked only if this machine can look it up, too.
        pub fn proxy(mut self, proxy: mcp_transport_http::ClientProxy) -> Self {
            self.http_settings.proxy = proxy;
            self
        }

        /// Sets the certificates that are trusted in addition to the certificates of the operating system, and the client
        /// certificate.
        #[cfg(feature = "tls")]
        pub fn tls(mut self, tls: mcp_transport_http::ClientTls) -> Self {
            self.http_settings.tls = tls;
            self
        }

        /// Sets a tower service that replaces the built-in HTTP client. The URL of a request is checked before the service
        /// receives it. The service itself must reject addresses of private networks after name resolution, and it must not
        /// follow redirects.
        pub fn service<S, B>(mut self, service: S) -> Self
        where
            S: tower_service::Service<
                    http::Request<crate::web::RequestBody>,
                    Response = http::Response<B>,
                > + Clone
                + Send
                + 'static,
            S::Error: Into<crate::web::BoxError>,
            S::Future: Send,
            B: http_body::Body + Send + 'static,
            B::Error: Into<crate::web::BoxError>,
        {
            let service = mcp_transport_http::http_service::TowerService::new(service);
            self.http_settings.service = Some(std::sync::Arc::new(service));
            self
        }

        /// Sets the clock, for tests. Default: the system clock.
        #[doc(hidden)]
        pub fn clock(
            mut self,
            clock: impl Fn() -> std::time::SystemTime + Send + Sync + 'static,
        ) -> Self {
            self.clock = std::sync::Arc::new(clock);
            self
        }
    };
}
pub(crate) use shared_setters;

/// The HTTP settings that all builders of this crate share.
#[derive(Clone)]
pub(crate) struct HttpSettings {
    pub(crate) private: PrivateNetworks,
    pub(crate) limits: Limits,
    pub(crate) tls: Tls,
    pub(crate) proxy: ClientProxy,
    pub(crate) resolver: Arc<dyn Resolver>,
    pub(crate) service: Option<Arc<dyn HttpService<RequestBody>>>,
}

impl HttpSettings {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            private: PrivateNetworks::Forbidden,
            limits,
            tls: Tls::default(),
            proxy: ClientProxy::default(),
            resolver: Arc::new(SystemResolver),
            service: None,
        }
    }

    /// Creates the HTTP client for a server and the servers that it names.
    ///
    /// # Errors
    /// Returns an error if the URL is not safe for secrets, or if it needs TLS and TLS is not
    /// enabled.
    pub(crate) fn build(self, server: &Url) -> Result<HttpClient, Error> {
        let policy = UrlPolicy::new(server, self.private)?;
        let service = match self.service {
            Some(service) => service,
            None if server.scheme() == "https" && !cfg!(feature = "tls") => {
                return Err(Error::setup(
                    "https needs TLS: enable the feature \"tls\" of mcp-auth, or set another \
                     HTTP client with the builder's service()",
                ));
            }
            None => {
                let resolver = PolicyResolver {
                    resolver: self.resolver,
                    policy: policy.clone(),
                };
                let timeout = self.limits.timeout;
                Arc::new(BuiltInService::new(resolver, timeout, self.tls, self.proxy))
            }
        };
        Ok(HttpClient {
            service,
            policy,
            limits: self.limits,
        })
    }
}
