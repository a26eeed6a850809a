//! Settings of the HTTP client.

use std::sync::Arc;

use http::{Request, Response};
use http_body::Body;
use mcp_transport_http::http_service::{BoxError, HttpService, TowerService};
use tower_service::Service;
use url::Url;

use super::body::FormBody;
use super::client::{HttpClient, Limits};
use super::connect::default_service;
use super::resolve::{PolicyResolver, Resolver, SystemResolver};
use super::url_policy::UrlPolicy;
use crate::error::{Error, ErrorKind};

/// The HTTP settings that all builders of this crate share.
#[derive(Clone)]
pub(crate) struct HttpSettings {
    pub(crate) allow_private: bool,
    pub(crate) limits: Limits,
    pub(crate) resolver: Arc<dyn Resolver>,
    service: Option<Arc<dyn HttpService<FormBody>>>,
}

impl HttpSettings {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            allow_private: false,
            limits,
            resolver: Arc::new(SystemResolver),
            service: None,
        }
    }

    /// Sends all requests through this service.
    pub(crate) fn set_service<S, B>(&mut self, service: S)
    where
        S: Service<Request<FormBody>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.service = Some(Arc::new(TowerService::new(service)));
    }

    /// Creates the HTTP client for a server and the servers that it names.
    ///
    /// # Errors
    /// Returns an error if the URL is not safe for secrets, or if it needs TLS and TLS is not
    /// enabled.
    pub(crate) fn build(self, server: &Url) -> Result<HttpClient, Error> {
        let policy = UrlPolicy::new(server, self.allow_private)?;
        let service = match self.service {
            Some(service) => service,
            None if server.scheme() == "https" && !cfg!(feature = "tls") => {
                return Err(Error::new(
                    ErrorKind::Setup,
                    "https needs TLS: enable the feature \"tls\" of mcp-auth, or set another \
                     HTTP client with the builder's service()",
                ));
            }
            None => {
                let resolver = PolicyResolver {
                    resolver: self.resolver,
                    policy: policy.clone(),
                };
                Arc::from(default_service(resolver, self.limits.timeout)?)
            }
        };
        Ok(HttpClient {
            service,
            policy,
            limits: self.limits,
        })
    }
}
