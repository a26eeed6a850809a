//! The built-in HTTP client.

use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mcp_transport_http::http_service::{HttpService, TowerService};

use super::resolve::PolicyResolver;
use crate::error::Error;
use mcp_transport_http::RequestBody;

/// Creates a client that connects only to addresses that the policy allows.
///
/// # Errors
/// Returns an error if TLS cannot be set up.
pub(crate) fn default_service(
    resolver: PolicyResolver,
    timeout: Duration,
) -> Result<Box<dyn HttpService<RequestBody>>, Error> {
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(timeout));
    secure(tcp)
}

#[cfg(feature = "tls")]
fn secure(
    mut tcp: HttpConnector<PolicyResolver>,
) -> Result<Box<dyn HttpService<RequestBody>>, Error> {
    use crate::error::ErrorKind;

    tcp.enforce_http(false);
    let config = mcp_transport_http::http_service::tls_config().map_err(|error| {
        let message = "cannot use the certificates of this system";
        Error::caused(ErrorKind::Setup, message, error)
    })?;
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Box::new(TowerService::new(
        builder().build::<_, RequestBody>(connector),
    )))
}

#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "fails only with TLS")]
fn secure(tcp: HttpConnector<PolicyResolver>) -> Result<Box<dyn HttpService<RequestBody>>, Error> {
    Ok(Box::new(TowerService::new(
        builder().build::<_, RequestBody>(tcp),
    )))
}

/// Keeps no idle connections: the few requests of a sign-in go to several hosts, minutes apart.
fn builder() -> hyper_util::client::legacy::Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_max_idle_per_host(0);
    builder
}
