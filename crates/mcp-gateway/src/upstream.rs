//! The settings of a server behind a gateway.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mcp_client::{Client, ClientBuilder, Error, Negotiation, Revision};
use mcp_host::{Connector, StderrLog};
use mcp_jsonrpc::{ErrorCode, ErrorObject, quote};
use mcp_protocol::{LogLimit, Owner, Principal, REQUIRED_SCOPES, Transport};
use serde_json::Value;

use crate::parked::Cluster;

/// Maximum length of an error of a server in the log, in characters.
const MAX_LOGGED: usize = 100;

/// Creates the error for an upstream server that cannot be used.
pub(crate) fn unavailable(server: &str, text: String) -> ErrorObject {
    ErrorObject::internal(text).with_data(serde_json::json!({ UPSTREAM: server }))
}

/// Member of an error's data that names the server which cannot be used.
const UPSTREAM: &str = "upstream";
/// Member of an error's data that says that the request is forwarded to another process of the gateway.
pub(crate) const FORWARDED_MEMBER: &str = "forwarded";

/// Returns whether the error was created by [`unavailable`]. Servers and clients cannot forge such an error, because [`of_peer`]
/// removes the member `upstream` from their errors.
pub(crate) fn is_unavailable(error: &ErrorObject) -> bool {
    error.code == ErrorCode::INTERNAL_ERROR
        && (error.data.as_ref()).is_some_and(|data| data.get(UPSTREAM).is_some())
}

/// Removes the members of an error that only the gateway may write. The error is from a server, or from a client that responds to
/// an input request. With these members, the peer could pretend that a server cannot be reached, or keep its call out of the
/// audit log.
pub(crate) fn of_peer(mut error: ErrorObject) -> ErrorObject {
    if let Some(Value::Object(data)) = &mut error.data {
        data.shift_remove(UPSTREAM);
        data.shift_remove(FORWARDED_MEMBER);
    }
    error
}

/// Returns the error that a client gets for an error of a server. If the account of the gateway at the server lacks a scope, the
/// error names this scope. The client must not take it for a scope of its own access token.
pub(crate) fn of_server(error: ErrorObject, server: &str, log: &LogLimit) -> ErrorObject {
    let mut error = of_peer(error);
    let data = error.data.as_mut().and_then(Value::as_object_mut);
    if data.is_none_or(|data| data.shift_remove(REQUIRED_SCOPES).is_none()) {
        return error;
    }
    if let Some(omitted) = log.admit(Instant::now()) {
        let problem = quote(&error.message, MAX_LOGGED);
        tracing::warn!(server, %problem, omitted, "the account at the server lacks a scope");
    }
    error.message = format!(
        "{}; the gateway's account at the server {server:?} lacks this scope, not the client's token: ask the person who runs the gateway",
        error.message
    )
    .into();
    error
}

/// A function that creates the transport of a connection for one user.
type UserConnector =
    dyn Fn(&Principal, &StderrLog) -> Result<Box<dyn Transport>, Error> + Send + Sync;

/// Default for the maximum time of a request at a server.
pub(crate) const DEFAULT_CALL_TIMEOUT: Duration = Duration::from_secs(600);

/// A server behind a gateway: how the gateway reaches it, and which clients share a connection to it.
pub struct Upstream {
    pub(crate) name: Arc<str>,
    connector: Box<dyn Connector>,
    user_connector: Option<Box<UserConnector>>,
    pub(crate) stderr: StderrLog,
    pub(crate) client: ClientBuilder,
    pub(crate) newest: Revision,
    pub(crate) negotiation: Negotiation,
    sharing: Sharing,
    /// The maximum time of a request in milliseconds. It can change while the gateway runs.
    call_timeout: AtomicU64,
    pub(crate) max_connections: usize,
    pub(crate) max_connections_per_client: usize,
    pub(crate) parking: ParkingLimits,
    pub(crate) cluster: Option<Cluster>,
}

/// The rule for which requests of stateless clients share a connection to a session-based server. The server may keep state for
/// each connection. A session of a session-based client always has a separate connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Sharing {
    /// The requests of one verified principal share a connection. A request without a principal has a separate connection.
    #[default]
    Principal,
    /// All requests share a connection. For servers without state, and for gateways that one person uses.
    All,
}

/// Limits on parked calls: calls on a session-based server that wait until their stateless client answers a server request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParkingLimits {
    /// Maximum time that a call waits for its client. After this time, the gateway cancels the call at the server. Default 5 min.
    pub lifetime: Duration,
    /// Maximum number of waiting calls. Default 1,024.
    pub max_calls: usize,
    /// Maximum number of waiting calls of one client: a verified principal or, without authentication, a network address.
    /// Default: 16. For clients over stdio, only `max_calls` applies.
    pub max_calls_per_client: usize,
    /// Maximum size of the params of all waiting calls and their server requests, in bytes of JSON. One client can use an eighth
    /// of this size. Default 32 MiB.
    pub max_bytes: usize,
}

impl Default for ParkingLimits {
    fn default() -> Self {
        Self {
            lifetime: Duration::from_secs(300),
            max_calls: 1_024,
            max_calls_per_client: 16,
            max_bytes: 32 << 20,
        }
    }
}

impl ParkingLimits {
    /// Sets the maximum time that a call waits for its client.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Sets the maximum number of waiting calls.
    #[must_use]
    pub fn with_max_calls(mut self, calls: usize) -> Self {
        self.max_calls = calls;
        self
    }

    /// Sets the maximum number of waiting calls of one client.
    #[must_use]
    pub fn with_max_calls_per_client(mut self, calls: usize) -> Self {
        self.max_calls_per_client = calls;
        self
    }

    /// Sets the maximum size of the params of all waiting calls and their server requests.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }
}

impl Upstream {
    /// Creates the settings. `name` appears in errors and logs. The connector is, for example, a
    /// [`ServerConfig`](mcp_host::ServerConfig), or a closure that returns a transport.
    pub fn new(name: impl Into<Arc<str>>, connector: impl Connector) -> Self {
        Self {
            name: name.into(),
            connector: Box::new(connector),
            user_connector: None,
            stderr: StderrLog::default(),
            client: Client::builder("mcp-gateway", env!("CARGO_PKG_VERSION")),
            newest: Revision::LATEST,
            negotiation: Negotiation::Auto,
            sharing: Sharing::default(),
            call_timeout: AtomicU64::new(0),
            max_connections: 256,
            max_connections_per_client: 32,
            parking: ParkingLimits::default(),
            cluster: None,
        }
        .call_timeout(DEFAULT_CALL_TIMEOUT)
    }

    /// Sets the newest revision to use with the server, and the method to find out the server's revision. Default: the newest
    /// supported revision, and a probe.
    #[must_use]
    pub fn negotiation(mut self, newest: Revision, negotiation: Negotiation) -> Self {
        (self.newest, self.negotiation) = (newest, negotiation);
        self
    }

    /// Sets the maximum time for opening a connection to the server. Default 30 s.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.client = self.client.connect_timeout(timeout);
        self
    }

    /// Sets the maximum time of a request at the server. The time during which the request waits for its client is not counted.
    /// Default: 10 min.
    #[must_use]
    pub fn call_timeout(self, timeout: Duration) -> Self {
        self.set_call_timeout(timeout);
        self
    }

    pub(crate) fn set_call_timeout(&self, timeout: Duration) {
        let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        self.call_timeout.store(millis, Ordering::Relaxed);
    }

    pub(crate) fn max_call_time(&self) -> Duration {
        Duration::from_millis(self.call_timeout.load(Ordering::Relaxed))
    }

    /// Sets the function that creates the transport of each connection for a verified principal, for servers that have data of
    /// several users. The function adds the credentials of this user. [`Principal::user`] is the key of the user: with
    /// `mcp-auth`, it is `Identity::user`. No request of a client uses a connection with other credentials. A request without a
    /// principal is therefore refused, and [`sharing`](Self::sharing) has no effect. The gateway itself still uses the connector
    /// of [`new`](Self::new): to find out the server's capabilities, to check whether the server responds, and to receive change
    /// notifications.
    ///
    /// If the server is a program, pass the [`StderrLog`] to the child process. Errors of the connection then contain the last
    /// lines of its stderr.
    ///
    /// The function is called for each connection, which can remain open for as long as it is used. If credentials expire, create
    /// an `HttpTransport` with an `Authorize`, which provides the credentials for each request. To send an error to the client,
    /// for example because the user has no account, the function returns [`Error::Rejected`]. Other errors are logged, and the
    /// client does not see them.
    #[must_use]
    pub fn user_connector<F>(mut self, connect: F) -> Self
    where
        F: Fn(&Principal, &StderrLog) -> Result<Box<dyn Transport>, Error> + Send + Sync + 'static,
    {
        self.user_connector = Some(Box::new(connect));
        self
    }

    /// Returns whether each connection for a client has the credentials of its user.
    pub(crate) fn has_accounts(&self) -> bool {
        self.user_connector.is_some()
    }

    /// Returns whether requests of several clients can use one connection.
    pub(crate) fn is_shared(&self) -> bool {
        self.sharing == Sharing::All && !self.has_accounts()
    }

    /// Creates the transport of a connection for a client, or for the gateway itself.
    ///
    /// # Errors
    /// The configuration is invalid, or the user is unknown or has no account.
    pub(crate) fn transport(&self, client: Option<&Owner>) -> Result<Box<dyn Transport>, Error> {
        match (&self.user_connector, client) {
            (Some(connect), Some(client)) => {
                let user = client.principal.as_ref();
                let user = user.ok_or_else(|| Error::Rejected(self.unknown_user()))?;
                // Each connection has a separate log, because errors contain the last lines of stderr.
                connect(user, &StderrLog::default())
            }
            _ => Ok(self.connector.transport(&self.stderr)?),
        }
    }

    /// Creates the error for a request without a user.
    pub(crate) fn unknown_user(&self) -> ErrorObject {
        let name = &*self.name;
        let text = format!(
            "the server {name:?} has an account for each user; send the request over HTTP with an access token"
        );
        unavailable(name, text)
    }

    /// Sets which requests of stateless clients share a connection. Default: the requests of one principal.
    #[must_use]
    pub fn sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = sharing;
        self
    }

    /// Sets the maximum number of open connections to the server. Default 256. At the limit, the connection that has been unused
    /// for the longest time is closed. If all connections are in use, the gateway compares the client of the new request with the
    /// client that has the most connections. If the client with the most connections has at least two more, its oldest connection
    /// is closed, and the calls on this connection fail. Otherwise, the new request fails if no connection becomes unused within
    /// 2 s, or within 6 s while a connection is being closed for any client. If the client of the new request uses all
    /// connections that one client may open, the request waits up to 30 s.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections;
        self
    }

    /// Sets the maximum number of open connections of one client: a verified principal or, without authentication, a network
    /// address. Default: 32. At the limit, the connection of this client that has been unused for the longest time is closed. If
    /// all connections of this client are in use, the request fails unless a connection becomes unused within 30 s. The limit
    /// does not apply to clients over stdio. Behind a proxy, all clients without tokens have one address.
    #[must_use]
    pub fn max_connections_per_client(mut self, connections: usize) -> Self {
        self.max_connections_per_client = connections;
        self
    }

    /// Sets the limits for calls that wait for input of a stateless client.
    #[must_use]
    pub fn parking(mut self, limits: ParkingLimits) -> Self {
        self.parking = limits;
        self
    }

    /// Sets the cluster of this process, so that a client can continue a parked call at any process of the gateway. Default: the
    /// cluster of [`GatewayBuilder::cluster`](crate::GatewayBuilder::cluster). Without a cluster, a parked call can be continued
    /// only at the process that runs it.
    #[must_use]
    pub fn cluster(mut self, cluster: Cluster) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Returns the last stderr lines of the server, if it is a child process.
    pub fn stderr(&self) -> &StderrLog {
        &self.stderr
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream")
            .field("name", &self.name)
            .field("sharing", &self.sharing)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setter_changes_only_its_limit() {
        let limits = ParkingLimits::default()
            .with_lifetime(Duration::from_secs(1))
            .with_max_calls(2)
            .with_max_calls_per_client(3)
            .with_max_bytes(4);
        assert_eq!(limits.lifetime, Duration::from_secs(1));
        assert_eq!((limits.max_calls, limits.max_calls_per_client), (2, 3));
        assert_eq!(limits.max_bytes, 4);
    }
}
