//! One connection to the upstream server, and the calls that run on it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_client::{
    Call as ClientCall, ChangedList, Client, Error, Negotiation, Revision, TransportError,
};
use mcp_host::without_setting_names;
use mcp_jsonrpc::{ErrorObject, Notification, Request};
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::{
    BoxFuture, Call, CallError, Closed, Connection, Delivery, Exchange, Extras, ForwardInbound,
    Inbound, Link, MethodName, READINESS_META, Reply, StatelessRequest, Transport, gate,
    http_headers, lock,
};
use mcp_types::{
    ClientCapabilities, Implementation, LoggingLevel, Meta, PingRequest, RequestParams, method,
};
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::caller::Routes;
use crate::pool::Permit;
use crate::upstream::{Upstream, unavailable};
use mcp_protocol::LogLimit;

/// The client information and capabilities that a connection declares to the upstream server.
pub(crate) type Identity = (Implementation, ClientCapabilities);

/// The tool parameters that are echoed in HTTP headers, by the names of the tools.
pub(crate) type KnownParams = HashMap<String, Arc<HeaderParams>>;

/// A callback that receives the list that has changed at the server.
pub(crate) type OnChange = Box<dyn Fn(ChangedList) + Send + Sync>;

/// Maximum size of the params of a notification that is passed to the server, in bytes.
const MAX_NOTIFICATION_BYTES: usize = 64 << 10;

/// Maximum total size of the messages that wait at a connection, in bytes, if no client is charged for the connection.
const MAX_QUEUED_BYTES: usize = 128 << 10;
/// Maximum time that calls on a new connection wait for the response to `logging/setLevel`.
const MAX_LEVEL_WAIT: Duration = Duration::from_secs(3);

/// An open connection.
pub(crate) struct UpstreamConnection {
    pub(crate) client: Client,
    link: Arc<dyn Link>,
    routes: Arc<Routes>,
    is_open: Arc<watch::Sender<bool>>,
    was_closed_for_others: AtomicBool,
    /// The last log level that was set.
    level: tokio::sync::Mutex<Option<LoggingLevel>>,
    usage: Mutex<Usage>,
    /// The tool parameters that are echoed in HTTP headers, if all calls of this connection are from one user.
    header_params: Mutex<Arc<KnownParams>>,
    permit: Arc<Permit>,
}

impl Drop for UpstreamConnection {
    /// Closes the connection in the background, and keeps the permit until the process has ended.
    fn drop(&mut self) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let (client, permit) = (self.client.clone(), Arc::clone(&self.permit));
        runtime.spawn(async move {
            if let Err(error) = client.close().await {
                tracing::debug!(%error, "a connection did not close");
            }
            drop(permit);
        });
    }
}

/// The number of requests that use a connection, and the time of its last use.
struct Usage {
    running: usize,
    last: Instant,
}

/// A guard for a connection in use. Until the guard is dropped, the connection is not closed to make room for another connection.
pub(crate) struct InUse(Arc<UpstreamConnection>);

impl Deref for InUse {
    type Target = Arc<UpstreamConnection>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        let mut usage = lock(&self.0.usage);
        usage.running -= 1;
        usage.last = Instant::now();
    }
}

impl UpstreamConnection {
    /// Connects as `client`, or as the gateway itself. `on_change` is called with changed lists. If the returned future is
    /// dropped, or if the connection must make room for another client, the server is stopped. The limits on connections count
    /// the process of the server until the process has ended.
    pub(crate) async fn open(
        upstream: &Upstream,
        transport: Box<dyn Transport>,
        client: Option<Identity>,
        version: (Revision, Negotiation),
        routes: Arc<Routes>,
        on_change: Option<OnChange>,
        permit: Permit,
    ) -> Result<InUse, Error> {
        // The time limit of connecting begins after the wait.
        permit.wait_for_turn().await;
        let permit = Arc::new(permit);
        let is_open = Arc::new(watch::Sender::new(true));
        let transport = RelayTransport {
            inner: transport,
            routes: Arc::clone(&routes),
            is_open: Arc::clone(&is_open),
            server: Arc::clone(&upstream.name),
            permit: Arc::clone(&permit),
        };
        let mut builder = upstream
            .client
            .clone()
            .revision(version.0)
            .negotiation(version.1);
        if let Some((info, capabilities)) = client {
            builder = builder.relay(info, capabilities);
        }
        if let Some(on_change) = on_change {
            builder = builder.on_change(on_change);
        }
        let (caller, left) = oneshot::channel();
        let stopped = stopped(&upstream.name);
        let opening = async move {
            let connecting = permit.connect_in_turn(builder.connect(transport), left);
            let client = connecting.await.ok_or(stopped)??;
            let connection = Arc::new(Self {
                link: client.connection().link(),
                client,
                routes,
                is_open,
                was_closed_for_others: AtomicBool::new(false),
                level: tokio::sync::Mutex::default(),
                usage: Mutex::new(Usage {
                    running: 1,
                    last: Instant::now(),
                }),
                header_params: Mutex::default(),
                permit,
            });
            connection.permit.set_connection(&connection);
            Ok(InUse(connection))
        };
        let opened = tokio::spawn(opening.in_current_span()).await;
        drop(caller);
        // The task can fail only if it panics or the runtime shuts down.
        opened
            .unwrap_or_else(|error| Err(Error::Rejected(ErrorObject::internal(error.to_string()))))
    }

    /// Pings the server. If the server is a proxy or a gateway of this crate, it answers only after it has checked its own server
    /// or its required servers.
    pub(crate) fn check(&self) -> ClientCall<PingRequest> {
        let meta = Meta::new().with(READINESS_META, true);
        self.client.request(&RequestParams::new().with_meta(meta))
    }

    /// Returns the tool parameters that are echoed in HTTP headers, by the names of the tools, as far as this connection has
    /// learned them.
    pub(crate) fn header_params(&self) -> Arc<KnownParams> {
        Arc::clone(&lock(&self.header_params))
    }

    pub(crate) fn set_header_params(&self, params: KnownParams) {
        *lock(&self.header_params) = Arc::new(params);
    }

    /// Marks the connection as in use. Returns `None` if it has ended.
    pub(crate) fn in_use(self: &Arc<Self>) -> Option<InUse> {
        let mut usage = lock(&self.usage);
        if !self.is_open() {
            return None;
        }
        usage.running += 1;
        Some(InUse(Arc::clone(self)))
    }

    /// Marks the connection as ended if no request uses it. Returns `true` if the connection was marked; the caller must then
    /// close it.
    pub(crate) fn retire_unused(&self) -> bool {
        let usage = lock(&self.usage);
        let is_unused = usage.running == 0 && !self.routes.has_calls();
        if is_unused {
            self.is_open.send_replace(false);
        }
        is_unused
    }

    /// Returns `None` if a request uses the connection. Otherwise, returns whether the session of the connection has subscribed
    /// to resources, and the time of the last use.
    pub(crate) fn unused_since(&self) -> Option<(bool, Instant)> {
        let usage = lock(&self.usage);
        let is_unused = usage.running == 0 && !self.routes.has_calls();
        is_unused.then(|| (!self.routes.subscriptions().is_empty(), usage.last))
    }

    /// Records that the gateway closes the connection because all clients together have reached the limit of connections.
    pub(crate) fn set_closed_for_others(&self) {
        self.was_closed_for_others.store(true, Ordering::Release);
    }

    /// Returns whether the connection was closed because all clients together had reached the limit of connections.
    pub(crate) fn was_closed_for_others(&self) -> bool {
        self.was_closed_for_others.load(Ordering::Acquire)
    }

    /// Closes the connection. The next request of its session opens another connection.
    pub(crate) async fn evict(&self) {
        self.is_open.send_replace(false);
        if let Err(error) = self.client.close().await {
            tracing::debug!(%error, "a connection did not close");
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        *self.is_open.borrow()
    }

    /// Completes when the connection has ended.
    pub(crate) fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut is_open = self.is_open.subscribe();
        async move {
            // An error means that the connection, which has the sender, was dropped.
            let _ = is_open.wait_for(|is_open| !is_open).await;
        }
    }

    pub(crate) fn routes(&self) -> &Arc<Routes> {
        &self.routes
    }

    /// Returns whether the connection uses the stateless revision.
    pub(crate) fn is_stateless(&self) -> bool {
        self.client.revision().is_stateless()
    }

    /// Returns whether requests on this connection echo params in HTTP headers.
    pub(crate) fn has_headers(&self) -> bool {
        self.is_stateless() && self.client.connection().has_headers()
    }

    /// Creates a request. It is sent when the returned value is first polled. Dropping the value cancels the request at the
    /// server. The client is charged for the memory of the request until the request is written. If the server does not read,
    /// this also applies to cancelled requests, because they stay in the pipe.
    ///
    /// # Errors
    /// The server does not read, and the unread requests of the client or of all clients have reached a limit.
    pub(crate) fn send(
        &self,
        method: &MethodName,
        params: Option<String>,
        name: Option<String>,
        headers: Vec<(String, String)>,
    ) -> Result<Call, ErrorObject> {
        let mut extras = Extras::of_headers(headers);
        let bytes = params.as_ref().map_or(0, String::len);
        if self.link.queued_bytes() + bytes > MAX_QUEUED_BYTES {
            extras.kept = Some(Box::new(self.permit.charge(bytes)?));
        }
        if self.is_stateless() {
            let revision = self.client.revision().as_str();
            extras.stateless = Some(StatelessRequest::new(revision, name));
        }
        let params = params.map(String::into_bytes);
        Ok(self.link.request_with(method.clone(), params, extras))
    }

    /// Returns the value of the `Mcp-Name` header for a request with these params.
    pub(crate) fn name_header(&self, method: &str, params: Option<&str>) -> Option<String> {
        if !self.has_headers() {
            return None;
        }
        let value = crate::text::member(params?, http_headers::name_member(method)?)?;
        mcp_jsonrpc::decode(value).ok()
    }

    /// Passes a notification of a client to the server. Drops a large notification, because a client can have many connections.
    /// Also drops the notification if the server does not read.
    pub(crate) fn notify(&self, method: &str, params: Option<&str>) {
        let bytes = params.map_or(0, str::len);
        if bytes > MAX_NOTIFICATION_BYTES || self.link.queued_bytes() + bytes > MAX_QUEUED_BYTES {
            tracing::debug!(method, bytes, "a notification was not passed to the server");
            return;
        }
        let params = params.map(str::as_bytes);
        let sent = self.link.notify(method, params, Delivery::Lossy);
        if let Err(error) = sent {
            tracing::debug!(method, %error, "a notification was not passed to the server");
        }
    }

    /// Sets the log level of the session at the server, unless the level is set already.
    pub(crate) async fn set_level(&self, level: LoggingLevel) {
        if self.client.capabilities().logging.is_none() {
            return;
        }
        let mut current = self.level.lock().await;
        if *current == Some(level) {
            return;
        }
        // Calls wait for the response, so that their first log messages already have the level.
        match timeout(MAX_LEVEL_WAIT, self.client.set_log_level(level)).await {
            Ok(Ok(_)) => *current = Some(level),
            Ok(Err(error)) => tracing::debug!(%error, "the log level of the server was not set"),
            Err(_) => tracing::debug!("the server did not respond to `logging/setLevel` in time"),
        }
    }
}

impl fmt::Debug for UpstreamConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.client.fmt(f)
    }
}

/// Creates the error for a call without a response, for a gateway with several servers. `error` is the reason, and it can contain
/// the URL of the server and paths of this machine. The reason is therefore only logged, for the operator.
pub(crate) fn hidden_response(server: &str, error: &CallError, log: &LogLimit) -> ErrorObject {
    let outcome = match error {
        CallError::Closed(_) => "has ended the connection, and the call may have run",
        CallError::Failed(error) if error.is_possibly_executed() => {
            "did not respond, and the call may have run"
        }
        CallError::Failed(error) if error.is_session_replaced() => {
            "had lost the session, and a new session is open, so call again"
        }
        CallError::Failed(error) if error.is_temporary() => "did not respond",
        // For example, the server has refused the token.
        CallError::Failed(_) => "did not accept the request",
        error => return no_response(server, error),
    };
    if let Some(omitted) = log.admit(std::time::Instant::now()) {
        tracing::warn!(server, %error, omitted, "a call failed");
    }
    let text = format!("the server {server:?} {outcome}; the log of the gateway has the reason");
    unavailable(server, text)
}

/// Creates the error for a call without a response. `error` is the reason.
pub(crate) fn no_response(server: &str, error: &CallError) -> ErrorObject {
    let text = match error {
        CallError::Closed(reason) => format!(
            "the connection to the server {server:?} has ended, and the call may have run: {reason}"
        ),
        error => format!("the server {server:?} did not respond: {error}"),
    };
    unavailable(server, without_setting_names(&text))
}

/// Creates the error for a server that cannot be reached. The reason can contain paths of this machine and text from the server.
/// It is therefore only logged, for the operator.
pub(crate) fn unreachable(server: &str, error: &Error, log: &LogLimit) -> ErrorObject {
    if let Some(omitted) = log.admit(std::time::Instant::now()) {
        tracing::warn!(server, %error, omitted, "the server cannot be reached");
    }
    let text =
        format!("the server {server:?} cannot be reached; the log of the gateway has the reason");
    unavailable(server, text)
}

/// Waits for the response of a call, at most for the time `limit`.
pub(crate) async fn within<T>(
    server: &str,
    limit: Duration,
    response: impl Future<Output = Result<T, ErrorObject>>,
) -> Result<T, ErrorObject> {
    let response = timeout(limit, response).await;
    response.unwrap_or_else(|_| {
        let text = format!("the server {server:?} did not respond within {limit:?}");
        Err(unavailable(server, text))
    })
}

/// Creates the error for a client whose connection was ended before the connection was open.
fn stopped(server: &str) -> Error {
    Error::Rejected(ErrorObject::internal(format!(
        "the server {server:?} was stopped before it answered, to make room for a client with fewer connections; the limit \
         \"maxConnections\" is reached; try again later"
    )))
}

/// A transport that passes server requests and notifications to the clients of the gateway.
struct RelayTransport {
    inner: Box<dyn Transport>,
    routes: Arc<Routes>,
    is_open: Arc<watch::Sender<bool>>,
    server: Arc<str>,
    permit: Arc<Permit>,
}

impl Transport for RelayTransport {
    fn start(
        self: Box<Self>,
        inbound: Arc<dyn Inbound>,
    ) -> BoxFuture<'static, Result<Arc<dyn Connection>, TransportError>> {
        let relay = RelayInbound {
            inner: inbound,
            routes: self.routes,
            is_open: self.is_open,
            server: self.server,
            permit: Arc::downgrade(&self.permit),
        };
        let starting = self.inner.start(Arc::new(relay));
        let permit = self.permit;
        Box::pin(async move {
            let connection = starting.await?;
            permit.started(&connection);
            Ok(connection)
        })
    }

    fn reconnect(&self) -> Option<Box<dyn Transport>> {
        let inner = self.inner.reconnect()?;
        let routes = Arc::clone(&self.routes);
        let is_open = Arc::clone(&self.is_open);
        let server = Arc::clone(&self.server);
        let permit = Arc::clone(&self.permit);
        Some(Box::new(Self {
            inner,
            routes,
            is_open,
            server,
            permit,
        }))
    }
}

/// The part of the gateway that receives the messages of an upstream server before `inner`, the client of the connection,
/// receives them.
struct RelayInbound {
    inner: Arc<dyn Inbound>,
    routes: Arc<Routes>,
    is_open: Arc<watch::Sender<bool>>,
    server: Arc<str>,
    permit: Weak<Permit>,
}

impl ForwardInbound for RelayInbound {
    fn inner(&self) -> &dyn Inbound {
        &*self.inner
    }

    fn opened(&self, link: Weak<dyn Link>) {
        self.is_open.send_replace(true);
        self.inner.opened(link);
    }

    fn request(&self, request: &Request<'_>, exchange: Exchange) -> Reply {
        match gate::core_method(&request.method) {
            Some(
                name @ (method::ROOTS_LIST
                | method::SAMPLING_CREATE_MESSAGE
                | method::ELICITATION_CREATE),
            ) => self.routes.ask(name, request.params),
            _ => self.inner.request(request, exchange),
        }
    }

    fn notification(&self, notification: &Notification<'_>) {
        self.routes.notify(notification);
        self.inner.notification(notification);
    }

    fn closed(&self, reason: &Closed) {
        self.is_open.send_replace(false);
        // A failure before the connection is established is returned by `UpstreamConnection::open`.
        if !reason.is_local()
            && let Some(permit) = self.permit.upgrade()
            && let Some(omitted) = permit.admit_log_of_end()
        {
            tracing::warn!(server = %self.server, %reason, omitted, "the connection to the server has ended");
        }
        self.inner.closed(reason);
    }
}
