//! How far requests may go, as a program says it.

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

/// What requests go through, and where they may go.
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

    /// Sends everything through this service.
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

    /// What asks the server that the program named, and whom that one names.
    ///
    /// # Errors
    /// The URL of the server is not one that secrets may be sent to, or it needs TLS and there is
    /// none.
    pub(crate) fn build(self, server: &Url) -> Result<HttpClient, Error> {
        let policy = UrlPolicy::new(server, self.allow_private)?;
        let service = match self.service {
            Some(service) => service,
            None if server.scheme() == "https" && !cfg!(feature = "tls") => {
                return Err(Error::new(
                    ErrorKind::Setup,
                    "https needs TLS: enable the feature \"tls\" of mcp-auth, or bring an HTTP \
                     client of your own with the builder's service()",
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
