//! A server's address and how to speak to it.

use std::fmt;
use std::sync::Arc;

use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::Body;
use mcp_protocol::{BoxFuture, Connection, Inbound, Transport, TransportError};
use tower_service::Service;

use crate::client::call::stateless::{METHOD, NAME, PARAM_PREFIX};
use crate::client::inbox::listen;
use crate::client::link::ConnectionHandle;
use crate::client::options::Options;
use crate::client::session::reinitialize;
use crate::client::state::ClientState;
use crate::client::wire::authorize::{Authorize, bearer};
use crate::client::wire::body::RequestBody;
use crate::client::wire::connect;
use crate::client::wire::connection::HttpConnection;
use crate::client::wire::service::{HttpService, TowerService};
use crate::client::wire::url::ServerUrl;
use crate::headers::{LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};

/// Reaches a server over [Streamable HTTP][spec].
///
/// ```no_run
/// # fn f() -> Result<(), mcp_protocol::TransportError> {
/// use mcp_transport_http::Http;
///
/// let server = Http::new("http://127.0.0.1:3000/mcp")?.header("x-tenant", "blue")?;
/// # Ok(())
/// # }
/// ```
///
/// Must be started within a tokio runtime that has its timer and, unless an HTTP client of your
/// own is [given](Self::service), its I/O enabled. Nothing is sent before the first call.
///
/// # When something fails
///
/// A call ends in its answer or in an error that says what happened and what to do; a failure
/// ends that call and not the connection. A stream that breaks off is resumed where the server
/// gave it an id. An answer that is lost without one is asked for again, once, if that cannot do
/// harm: a tool is never called twice, and the error says that it may have run. A session the
/// server forgot is opened again, with its log level and its subscriptions. Without sessions
/// (2026-07-28) a stream that breaks off is a call that is lost, and nothing is asked again. The
/// connection ends when it is closed or dropped, or when no new session can be had.
///
/// # Cancel safety
/// Dropping a call cancels it on the http. Dropping the connection ends the session in the
/// background, if the runtime still runs.
///
/// [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
#[must_use = "nothing is sent before the transport is started"]
pub struct Http {
    endpoint: ServerUrl,
    headers: HeaderMap,
    authorize: Option<Arc<dyn Authorize>>,
    options: Options,
    service: Option<Box<dyn HttpService>>,
}

/// Headers whose values are the transport's to choose.
const OWN: [HeaderName; 10] = [
    header::ACCEPT,
    header::CONTENT_TYPE,
    header::CONTENT_LENGTH,
    header::CONNECTION,
    header::TRANSFER_ENCODING,
    SESSION_ID,
    PROTOCOL_VERSION,
    LAST_EVENT_ID,
    METHOD,
    NAME,
];

impl Http {
    /// The server at this URL, the one endpoint it has for MCP.
    ///
    /// # Errors
    /// It is no `http` or `https` URL, or has credentials in it.
    pub fn new(url: impl AsRef<str>) -> Result<Self, TransportError> {
        Ok(Self {
            endpoint: ServerUrl::parse(url.as_ref())?,
            headers: HeaderMap::new(),
            authorize: None,
            options: Options::default(),
            service: None,
        })
    }

    /// Puts a header on every message. Its value is treated as a secret.
    ///
    /// # Errors
    /// The name or the value may not stand in a header, or the header is one that the protocol
    /// needs for itself.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, TransportError> {
        let header = name.parse::<HeaderName>().map_err(|error| {
            TransportError::new(format!("{name:?} is no name of a header")).with_source(error)
        })?;
        if OWN.contains(&header) || header.as_str().starts_with(PARAM_PREFIX) {
            return Err(TransportError::new(format!(
                "the header {header} belongs to the protocol and cannot be set"
            )));
        }
        // `HeaderValue` alone would let bytes beyond ASCII pass.
        let plain = value
            .bytes()
            .all(|byte| byte.is_ascii_graphic() || byte == b' ');
        let mut value = match HeaderValue::from_str(value) {
            Ok(value) if plain => value,
            _ => {
                return Err(TransportError::new(format!(
                    "the value of header {header} has characters other than visible ASCII and \
                     spaces"
                )));
            }
        };
        value.set_sensitive(true);
        self.headers.insert(header, value);
        Ok(self)
    }

    /// Authorizes every message with this token, which is never printed.
    ///
    /// # Errors
    /// The token has characters that may not stand in a header.
    pub fn bearer(mut self, token: impl AsRef<str>) -> Result<Self, TransportError> {
        let value = bearer(token.as_ref())?;
        self.headers.insert(header::AUTHORIZATION, value);
        Ok(self)
    }

    /// Has every message authorized by `authorizer`.
    pub fn authorize(mut self, authorizer: impl Authorize) -> Self {
        self.authorize = Some(Arc::new(authorizer));
        self
    }

    /// Sets limits and timeouts.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sends requests with this service instead of the HTTP client of this crate: one with a
    /// proxy, client certificates, a recorder, or none of HTTP at all. It gets absolute URLs, and
    /// shall not follow redirects.
    pub fn service<S, B>(mut self, service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: Send,
        B: Body + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.service = Some(Box::new(TowerService::new(service)));
        self
    }

    fn into_connection(self) -> Result<(HttpConnection, Options), TransportError> {
        let bears_token = self.authorize.is_some() || !self.headers.is_empty();
        if bears_token && !self.endpoint.is_secure() && !self.endpoint.is_local() {
            tracing::warn!(
                endpoint = %self.endpoint,
                "credentials are sent without encryption; use https"
            );
        }
        let service = match self.service {
            Some(service) => service,
            None => connect::default_service(&self.endpoint, &self.options)?,
        };
        let http = HttpConnection {
            endpoint: self.endpoint,
            headers: self.headers,
            authorize: self.authorize,
            service,
            redirects: self.options.redirects,
        };
        Ok((http, self.options))
    }
}

impl Transport for Http {
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

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("Http")
            .field("endpoint", &self.endpoint)
            .field("headers", &headers)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
