//! The public client transport: URL, headers, credentials, options.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use http::header::{self, HeaderName};
use http::{HeaderMap, Request, Response};
use http_body::Body;
use mcp_protocol::{BoxFuture, Connection, Inbound, Transport, TransportError};
use tower_service::Service;

use crate::client::inbox::listen;
use crate::client::link::ConnectionHandle;
use crate::client::opening::reinitialize;
use crate::client::options::ClientOptions;
use crate::client::renew::{RecentHeaders, Renew, RenewedHeaders};
use crate::client::state::ClientState;
use crate::client::user_headers::checked_header;
use crate::client::wire::authorize::{Authorize, bearer};
use crate::client::wire::connect;
use crate::client::wire::connection::HttpConnection;
use crate::client::wire::url::ServerUrl;
use crate::http_service::{HttpService, RequestBody, TowerService};
use crate::proxy::ClientProxy;

/// A client transport that reaches a server over [Streamable HTTP][spec].
///
/// ```no_run
/// # fn f() -> Result<(), mcp_protocol::TransportError> {
/// use mcp_transport_http::HttpTransport;
///
/// let server = HttpTransport::new("http://127.0.0.1:3000/mcp")?.header("x-tenant", "blue")?;
/// # Ok(())
/// # }
/// ```
///
/// The transport must be started within a tokio runtime with the timer enabled. The built-in HTTP client also needs I/O enabled;
/// [`service`](Self::service) replaces this client. Nothing is sent before the first call.
///
/// Each clone opens a separate MCP connection to the same server. Clones share the authorizer and the HTTP connections of the
/// built-in client, so that many sessions need only few HTTP connections.
///
/// # Failures
///
/// A failure ends one call, not the connection. The error says what happened and what to do. If an event stream is interrupted
/// and its events have ids, the client resumes the stream with `Last-Event-ID`. If a response is lost in another way, the client
/// sends the request once more, provided that the request has no side effects. The client never calls a tool twice. If the
/// response to a tool call is lost, the error says that the tool may have run. If the server has lost the session, the client
/// opens a new session and restores its log level and subscriptions. On the stateless revision (2026-07-28), a call fails if its
/// stream is interrupted, and the client does not repeat it. The connection ends when it is closed or dropped, or when no new
/// session can be opened.
///
/// # Cancel safety
/// Dropping a call cancels it at the server. Dropping the connection ends the session in the
/// background, if the runtime is still running.
///
/// [spec]:
/// https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
#[must_use = "nothing is sent before the transport is started"]
#[derive(Clone)]
pub struct HttpTransport {
    endpoint: ServerUrl,
    headers: HeaderMap,
    authorize: Option<Arc<dyn Authorize>>,
    renew: Option<Arc<Renew>>,
    options: ClientOptions,
    tls: connect::Tls,
    proxy: ClientProxy,
    service: Option<Arc<dyn HttpService<RequestBody>>>,
    /// The built-in HTTP client. It is created when this transport or a clone is first started.
    built_in: Arc<OnceLock<Arc<dyn HttpService<RequestBody>>>>,
}

impl HttpTransport {
    /// Creates a transport for the MCP endpoint at `url`.
    ///
    /// # Errors
    /// Returns an error if `url` is not an `http` or `https` URL, or contains credentials.
    pub fn new(url: impl AsRef<str>) -> Result<Self, TransportError> {
        Ok(Self {
            endpoint: ServerUrl::parse(url.as_ref())?,
            headers: HeaderMap::new(),
            authorize: None,
            renew: None,
            options: ClientOptions::default(),
            tls: connect::Tls::default(),
            proxy: ClientProxy::default(),
            service: None,
            built_in: Arc::default(),
        })
    }

    /// Adds a header to every message. Its value is treated as a secret.
    ///
    /// # Errors
    /// Returns an error if the name or value is not valid in a header, or if the protocol itself
    /// uses the header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, TransportError> {
        let (name, value) = checked_header(name, value)?;
        self.headers.insert(name, value);
        Ok(self)
    }

    /// Sets a function that returns new values of headers after the server has refused a message with status 401, for example
    /// because a token has expired. The new headers replace headers with the same names in all later messages of the connection.
    /// If they differ from those of the refused message, the message is sent again. Each connection calls the function at most
    /// once in 10 s. If the function fails, the refused message fails with the error of the function.
    ///
    /// The function has no effect if an [authorizer](Self::authorize) is set.
    pub fn renew_headers<F>(mut self, renew: F) -> Self
    where
        F: Fn() -> BoxFuture<'static, Result<BTreeMap<String, String>, TransportError>>,
        F: Send + Sync + 'static,
    {
        self.renew = Some(Arc::new(renew));
        self
    }

    /// Sends this bearer token with every message. The token is never logged.
    ///
    /// # Errors
    /// Returns an error if the token has characters that are not valid in a header.
    pub fn bearer(mut self, token: impl AsRef<str>) -> Result<Self, TransportError> {
        let value = bearer(token.as_ref())?;
        self.headers.insert(header::AUTHORIZATION, value);
        Ok(self)
    }

    /// Sets the authorizer that adds credentials to every message.
    pub fn authorize(mut self, authorizer: impl Authorize) -> Self {
        self.authorize = Some(Arc::new(authorizer));
        self
    }

    /// Sets limits and timeouts.
    pub fn options(mut self, options: ClientOptions) -> Self {
        self.options = options;
        // Other options need other HTTP connections than those of the clones.
        self.built_in = Arc::default();
        self
    }

    /// Sets the proxy of the built-in HTTP client. Default: the proxy of the environment variables, as
    /// [`ClientProxy::from_environment`] describes.
    pub fn proxy(mut self, proxy: ClientProxy) -> Self {
        self.proxy = proxy;
        self.built_in = Arc::default();
        self
    }

    /// Sets which certificates are trusted in addition to the certificates of the operating system, and the client
    /// certificate.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: crate::ClientTls) -> Self {
        self.tls = tls;
        self.built_in = Arc::default();
        self
    }

    /// Sends requests with this tower service instead of the built-in HTTP client. Such a service can, for example, record
    /// requests. The settings `proxy` and `tls` do not apply to the service. It receives absolute URLs and must not follow
    /// redirects.
    pub fn service<S, B>(mut self, service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: Send,
        B: Body + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.service = Some(Arc::new(TowerService::new(service)));
        self
    }

    /// Returns whether third parties can read the messages in transit. This is the case if the URL is not `https` and its host is
    /// not this machine.
    pub fn is_readable_in_transit(&self) -> bool {
        !self.endpoint.is_secure() && !self.endpoint.is_local()
    }

    fn into_connection(self) -> Result<(HttpConnection, ClientOptions), TransportError> {
        let bears_token = self.authorize.is_some() || !self.headers.is_empty();
        if bears_token && self.is_readable_in_transit() {
            tracing::warn!(
                endpoint = %self.endpoint,
                "credentials are sent without encryption; use https"
            );
        }
        let (service, host) = match self.service {
            Some(service) => (service, None),
            None => {
                let service = match self.built_in.get() {
                    Some(service) => Arc::clone(service),
                    None => {
                        let created = connect::default_service(
                            &self.endpoint,
                            &self.options,
                            &self.tls,
                            &self.proxy,
                        )?;
                        Arc::clone(self.built_in.get_or_init(|| created))
                    }
                };
                (service, Some(self.endpoint.host_header()?))
            }
        };
        let renewed = RecentHeaders::default();
        let renewing = |renew| -> Arc<dyn Authorize> {
            Arc::new(RenewedHeaders::new(renew, Arc::clone(&renewed)))
        };
        let http = HttpConnection {
            endpoint: self.endpoint,
            host,
            headers: self.headers,
            authorize: self.authorize.or_else(|| self.renew.map(renewing)),
            renewed,
            service,
            redirects: self.options.redirects,
        };
        Ok((http, self.options))
    }
}

impl Transport for HttpTransport {
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        Box::pin(async move {
            let (http, options) = self.into_connection()?;
            let state = ClientState::start(http, options, inbound);
            state.tasks.spawn(reinitialize::run(Arc::clone(&state)));
            state.tasks.spawn(listen::run(Arc::clone(&state)));
            let connection: Arc<dyn Connection> = Arc::new(ConnectionHandle::new(state));
            Ok(connection)
        })
    }
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("HttpTransport")
            .field("endpoint", &self.endpoint)
            .field("headers", &headers)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
