//! The built-in HTTP client.

use std::time::Duration;

use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use mcp_transport_http::http_service::{HttpService, TowerService};

use super::body::FormBody;
use super::resolve::PolicyResolver;
use crate::error::Error;

/// A client whose every connection goes where the guard allows.
///
/// # Errors
/// TLS cannot be set up.
pub(crate) fn default_service(
    resolver: PolicyResolver,
    timeout: Duration,
) -> Result<Box<dyn HttpService<FormBody>>, Error> {
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(timeout));
    secure(tcp)
}

#[cfg(feature = "tls")]
fn secure(mut tcp: HttpConnector<PolicyResolver>) -> Result<Box<dyn HttpService<FormBody>>, Error> {
    use std::sync::Arc;

    use crate::error::ErrorKind;
    use rustls_platform_verifier::BuilderVerifierExt;

    tcp.enforce_http(false);
    // A provider of our own: one that is installed for the process belongs to the program.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(BuilderVerifierExt::with_platform_verifier)
        .map_err(|error| {
            let message = "the certificates of this system cannot be used";
            Error::caused(ErrorKind::Setup, message, error)
        })?
        .with_no_client_auth();
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config)
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    Ok(Box::new(TowerService::new(
        builder().build::<_, FormBody>(connector),
    )))
}

#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "with TLS it can fail")]
fn secure(tcp: HttpConnector<PolicyResolver>) -> Result<Box<dyn HttpService<FormBody>>, Error> {
    Ok(Box::new(TowerService::new(
        builder().build::<_, FormBody>(tcp),
    )))
}

/// Nothing is kept open: the few requests of a sign-in are to several hosts, minutes apart.
fn builder() -> hyper_util::client::legacy::Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder.pool_max_idle_per_host(0);
    builder
}
