//! Chooses the connection for a request.

use std::future::{IntoFuture as _, pending};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use mcp_client::{Error, Revision};
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Owner, Principal, RequestContext, Session, Transport, lock};
use mcp_types::v2026_07_28::TASKS_EXTENSION;
use mcp_types::{ClientCapabilities, Implementation, SubscribeRequest, SubscribeRequestParams};
use tokio::sync::OwnedMutexGuard;
use tokio::time::{Instant, sleep, timeout};

use super::Core;
use crate::caller::Routes;
use crate::changes::{LISTS, announce_lists};
use crate::connection::{Identity, InUse, OnChange, UpstreamConnection};
use crate::pool::{ChosenLevel, Key, LatestConnection, Lease, Permit};
use crate::upstream::unavailable;

/// Maximum delay before the gateway restores the subscriptions of a connection that was closed to make room for other clients.
const MAX_DELAY_FOR_OTHERS: Duration = Duration::from_secs(2);
/// Maximum number of simultaneous `resources/subscribe` requests that restore the subscriptions of a session on a new connection.
const MAX_SUBSCRIBING: usize = 8;
/// Maximum time to restore all subscriptions of a session.
const MAX_RESTORE_WAIT: Duration = Duration::from_secs(60);
/// Maximum time for which a connection is protected from being closed to make room, while its subscriptions are restored.
const MAX_RESTORE_HOLD: Duration = Duration::from_millis(500);
/// Maximum time to wait for the response to one `resources/subscribe`, while subscriptions are restored. Other resources wait for
/// this response.
const MAX_SUBSCRIBE_WAIT: Duration = Duration::from_secs(10);

/// Returns the information and capabilities of a session's client, which the gateway declares to an upstream server. The
/// capability for tasks is omitted, because tasks belong to one connection.
fn identity_of(session: &Session) -> Identity {
    let info = session.client().cloned();
    let info = info.unwrap_or_else(|| Implementation::new("unknown", "unknown"));
    let mut capabilities = session.client_capabilities().cloned().unwrap_or_default();
    capabilities.tasks = None;
    if let Some(extensions) = &mut capabilities.extensions {
        extensions.remove(TASKS_EXTENSION);
    }
    (info, capabilities)
}

/// Returns whether a server may send requests to a client with these capabilities.
fn accepts_requests(capabilities: &ClientCapabilities) -> bool {
    capabilities.elicitation.is_some()
        || capabilities.sampling.is_some()
        || capabilities.roots.is_some()
}

/// Restores the subscriptions of a session's previous connection on a new connection, after a delay. After each new subscription,
/// notifies the session of a change of the resource. When the connection ends, notifies the session of changes of all resources,
/// because the resources may change while there is no subscription. The next request of the session opens another connection.
fn resubscribe(connection: &Arc<UpstreamConnection>, subscribed: Vec<String>, delay: Duration) {
    let (connection, routes, ended) = (
        Arc::downgrade(connection),
        Arc::clone(connection.routes()),
        connection.ended(),
    );
    tokio::spawn(async move {
        let again = async {
            sleep(delay).await;
            let connection = connection.upgrade().filter(|_| !subscribed.is_empty());
            if let Some(connection) = connection {
                subscribe_all(&connection, subscribed).await;
            }
        };
        let mut ended = std::pin::pin!(ended);
        tokio::select! {
            () = again => ended.await,
            () = &mut ended => {}
        }
        routes.update_all();
    });
}

/// Subscribes to resources, and notifies the session of a change of each resource. Several requests run at the same time, so that
/// a request without a response does not delay the other resources.
async fn subscribe_all(connection: &Arc<UpstreamConnection>, uris: Vec<String>) {
    let Some(in_use) = connection.in_use() else {
        return;
    };
    let routes = connection.routes();
    let uris = &Mutex::new(uris.into_iter());
    let subscribe_some = async || {
        while let Some(uri) = { lock(uris).next() } {
            let known = routes.subscribed.as_ref();
            if !known.is_some_and(|known| known.contains(&uri)) {
                // The client has unsubscribed meanwhile.
                continue;
            }
            let params = SubscribeRequestParams::new(uri.clone());
            let call = connection.client.request::<SubscribeRequest>(&params);
            let subscribed = timeout(MAX_SUBSCRIBE_WAIT, call.into_future()).await;
            // The resource may have changed, and the client reads the resource after this notification. If the new subscription
            // has failed, the read returns the error, or the client can subscribe again.
            routes.notify_changed(&uri);
            let reason = match subscribed {
                Ok(Ok(_)) => continue,
                Ok(Err(error)) => {
                    if let (Error::Rejected(_), Some(known)) = (&error, known) {
                        known.remove(&uri);
                    }
                    error.to_string()
                }
                Err(_) => "the server does not respond".to_owned(),
            };
            tracing::debug!(
                reason,
                ?uri,
                "the next connection of a session does not watch a resource"
            );
        }
    };
    let all = join_all((0..MAX_SUBSCRIBING).map(|_| subscribe_some()));
    let release = async {
        sleep(MAX_RESTORE_HOLD).await;
        drop(in_use);
        pending::<()>().await;
    };
    let all = async {
        tokio::select! {
            _ = all => {}
            () = release => {}
        }
    };
    if timeout(MAX_RESTORE_WAIT, all).await.is_err() {
        // The session is also notified of the resources that the gateway could not subscribe to in time.
        routes.update_all();
    }
}

impl Core {
    /// Returns the connection of a session of a session-based client.
    ///
    /// # Errors
    /// The server cannot be reached, or there are too many connections.
    pub(crate) async fn session_connection(
        self: &Arc<Self>,
        context: &RequestContext,
    ) -> Result<InUse, ErrorObject> {
        let own = self.connection_of(context.session());
        let latest = Arc::clone(&own.latest).lock_owned().await;
        let connection = latest.connection.as_ref();
        if let Some(open) = connection.and_then(UpstreamConnection::in_use) {
            return Ok(open);
        }
        let client = context.owner();
        let transport = self.transport_for(&client)?;
        // Boxed because a connection is rarely opened. A request that ends while it waits for its permit opens no connection.
        let permit = Box::pin(async {
            self.release_shared().await;
            let may_end_calls = self.may_end_calls(&client);
            let permit = (self.connections).permit(&self.upstream, Some(&client), may_end_calls);
            permit.await
        });
        let connecting = Connecting {
            permit: permit.await?,
            client,
            transport,
        };
        let (core, context) = (Arc::clone(self), context.clone());
        let session = Arc::clone(context.session());
        let opening = async move { core.replace_latest(latest, &context, connecting).await };
        // A list that ended at its deadline lacks the items of the server.
        let on_late = move || announce_lists(&session);
        Box::pin(self.detached(opening, own.ended(), on_late)).await
    }

    /// Opens the next connection of a session.
    async fn replace_latest(
        self: &Arc<Self>,
        mut latest: OwnedMutexGuard<LatestConnection>,
        context: &RequestContext,
        connecting: Connecting,
    ) -> Result<InUse, ErrorObject> {
        let connection = latest.connection.as_ref();
        // The ended connection is kept until the next connection is open, because the ended connection has the subscriptions.
        let subscribed = connection.map(|ended| ended.routes().subscriptions());
        let subscribed = subscribed.unwrap_or_default();
        let was_closed_for_others = connection.is_some_and(|ended| ended.was_closed_for_others());
        let opened = self
            .open_for_session(context, &subscribed, connecting)
            .await?;
        let delay = match latest.connection.replace(Arc::clone(&opened)) {
            Some(_) => latest.resubscribe_delay.after_loss(),
            None => Duration::ZERO,
        };
        // Other clients must not delay the updates of this session for long.
        let delay = match was_closed_for_others {
            true => delay.min(MAX_DELAY_FOR_OTHERS),
            false => delay,
        };
        latest
            .resubscribe_delay
            .record_subscribed(Instant::now() + delay);
        resubscribe(&opened, subscribed, delay);
        Ok(opened)
    }

    /// Opens a connection for a session. `subscribed` lists the resources to which the session had subscribed on its previous
    /// connection.
    async fn open_for_session(
        self: &Arc<Self>,
        context: &RequestContext,
        subscribed: &[String],
        connecting: Connecting,
    ) -> Result<InUse, ErrorObject> {
        let session = context.session();
        let routes = Routes::new(Some((session, self.may_notify())));
        if let Some(known) = &routes.subscribed {
            known.restore(subscribed);
        }
        let newest = session.revision();
        let opened = self
            .open(connecting, Some(identity_of(session)), newest, routes, None)
            .await?;
        if let Some(level) = session.value(ChosenLevel::default).get() {
            opened.set_level(level).await;
        }
        Ok(opened)
    }

    /// Returns a connection for one request of a stateless client. The server receives the capabilities of the client, because
    /// the tools that a server lists can depend on them. `may_require_input` says whether the server may send server requests
    /// before it responds.
    ///
    /// # Errors
    /// The server cannot be reached, or there are too many connections.
    pub(crate) async fn lease(
        self: &Arc<Self>,
        context: &RequestContext,
        may_require_input: bool,
    ) -> Result<Lease, ErrorObject> {
        let (info, mut capabilities) = identity_of(context.session());
        // A stateless client does not announce changes, so the server must ask for the roots each time.
        if let Some(roots) = &mut capabilities.roots {
            roots.list_changed = None;
        }
        let accepts_requests = accepts_requests(&capabilities);
        // The server may send messages that do not name their call.
        let sends_messages = accepts_requests || context.session().log_level().is_some();
        let is_exclusive = may_require_input && sends_messages;
        let is_shared = self.upstream.is_shared();
        let principal = self.pool_principal(context.principal().cloned());
        let key = (is_shared || principal.is_some()).then(|| Key {
            principal,
            owner: sends_messages.then(|| context.owner()),
            identity: Some(serde_json::json!([info, capabilities]).to_string()),
        });
        // A list uses the shared connection if no other request could use a new connection.
        if (is_shared && !accepts_requests && !is_exclusive)
            || (key.is_none() && !may_require_input)
        {
            return self.shared_lease().await;
        }
        let key = match key.map(|key| self.pool.take(key, is_exclusive)) {
            Some(Ok(lease)) => return Ok(lease),
            Some(Err(key)) => Some(key),
            None => None,
        };
        // Boxed because a connection is rarely opened.
        let (client, identity) = (context.owner(), (info, capabilities));
        Box::pin(self.open_for_pool(&client, Some(identity), key, is_exclusive)).await
    }

    /// Returns a connection to a stateless server for one request: the connection of the client's principal if each principal has
    /// a connection, otherwise the shared connection.
    ///
    /// # Errors
    /// The server cannot be reached, or there are too many connections.
    pub(crate) async fn stateless_lease(
        self: &Arc<Self>,
        context: &RequestContext,
    ) -> Result<Lease, ErrorObject> {
        match context.principal().is_some() && self.has_separate_connections() {
            // Boxed because the future of a request is as large as its largest branch.
            true => Box::pin(self.lease_for(&context.owner())).await,
            false => self.shared_lease().await,
        }
    }

    /// Returns the connection for requests that need no session: the connection of the client's principal if each principal has a
    /// connection, otherwise the shared connection.
    pub(super) async fn lease_for(self: &Arc<Self>, client: &Owner) -> Result<Lease, ErrorObject> {
        let Some(key) = self.separate_key(client) else {
            return self.shared_lease().await;
        };
        let key = match self.pool.take(key, false) {
            Ok(lease) => return Ok(lease),
            Err(key) => key,
        };
        let opening = self.pool.opening(&key);
        let opening = opening.lock_owned().await;
        let key = match self.pool.take(key, false) {
            Ok(lease) => return Ok(lease),
            Err(key) => key,
        };
        let (core, client) = (Arc::clone(self), client.clone());
        let (changes, user) = (Arc::clone(&self.changes), client.principal.clone());
        let on_late = move || {
            if let Some(user) = user {
                for list in LISTS {
                    changes.deliver_list(list, Some(&user));
                }
            }
        };
        let opening = async move {
            let _opening = opening;
            core.open_for_pool(&client, None, Some(key), false).await
        };
        self.detached(opening, pending(), on_late).await
    }

    /// Returns whether each principal has a separate connection for requests that need no session. This is the case if the
    /// connections have different credentials. It is also the case if the server is a stateless program: the protocol keeps no
    /// state for a connection, but the program can keep state in its memory.
    fn has_separate_connections(&self) -> bool {
        let known = self.shared.known();
        let is_separate_program = known.is_program && known.revision.is_stateless();
        self.upstream.has_accounts() || (is_separate_program && !self.upstream.is_shared())
    }

    /// Returns the key of the separate connection of the client's principal; `None` if clients share a connection.
    pub(super) fn separate_key(&self, client: &Owner) -> Option<Key> {
        let principal = client.principal.clone()?;
        self.has_separate_connections().then_some(Key {
            principal: Some(principal),
            owner: None,
            identity: None,
        })
    }

    /// Returns whether a principal has a connection, or can have a connection without ending another connection.
    pub(super) fn can_open(&self, key: &Key) -> bool {
        self.pool.has_open(key) || self.connections.has_room(&self.upstream)
    }

    async fn shared_lease(self: &Arc<Self>) -> Result<Lease, ErrorObject> {
        if self.upstream.has_accounts() {
            // The shared connection has the credentials of the gateway.
            return Err(self.upstream.unknown_user());
        }
        Ok(Lease {
            connection: self.shared().await?,
            home: None,
        })
    }

    /// Opens a connection for a client. Adds the connection to the pool if other requests can use it. `identity` is the client
    /// that the connection declares to a session-based server; `None` declares the gateway itself.
    async fn open_for_pool(
        self: &Arc<Self>,
        client: &Owner,
        identity: Option<Identity>,
        key: Option<Key>,
        is_exclusive: bool,
    ) -> Result<Lease, ErrorObject> {
        // A client without an account must not close the connections of others.
        let with_account = match self.upstream.has_accounts() {
            true => Some(self.transport_for(client)?),
            false => None,
        };
        self.release_shared().await;
        let newest = match identity {
            Some(_) => Revision::LATEST_WITH_SESSIONS,
            None => Revision::LATEST,
        };
        let given_back = || self.pool.take(key.clone()?, is_exclusive).ok();
        let permit = (self.connections).permit_or(
            &self.upstream,
            Some(client),
            self.may_end_calls(client),
            given_back,
        );
        let permit = match permit.await? {
            Ok(permit) => permit,
            Err(lease) => return Ok(lease),
        };
        let core = Arc::downgrade(self);
        let on_change = match client.principal.clone() {
            Some(user) if self.upstream.has_accounts() => Self::on_change_for(core, user),
            _ => Self::on_change(core),
        };
        let routes = Routes::new(None);
        let transport = with_account.map_or_else(|| self.transport_for(client), Ok)?;
        let connecting = Connecting {
            client: client.clone(),
            transport,
            permit,
        };
        let connection = self
            .open(connecting, identity, newest, routes, Some(on_change))
            .await?;
        let Some(key) = key else {
            return Ok(Lease {
                connection,
                home: None,
            });
        };
        let (principal, is_separate) = (key.principal.clone(), key.identity.is_none());
        // From here on, the connection is given back when the request is cancelled.
        let lease = self.pool.add(key, connection, is_exclusive);
        if is_separate {
            // On a separate connection, `watch` makes the subscriptions.
            return Ok(lease);
        }
        self.watch_lease(&lease, principal).await;
        Ok(lease)
    }

    /// Subscribes on a new connection to the resources that the clients of a principal watch. If the request that opened the
    /// connection is cancelled, subscribing continues, because other requests use the connection.
    async fn watch_lease(self: &Arc<Self>, lease: &Lease, principal: Option<Principal>) {
        let connection = Arc::clone(&lease.connection);
        let core = Arc::clone(self);
        let watching =
            tokio::spawn(async move { core.watch_on(&connection, principal.as_ref()).await });
        // The task can fail only if it panics or the runtime shuts down.
        let _ = watching.await;
    }

    async fn open(
        self: &Arc<Self>,
        connecting: Connecting,
        identity: Option<Identity>,
        newest: Revision,
        routes: Arc<Routes>,
        on_change: Option<OnChange>,
    ) -> Result<InUse, ErrorObject> {
        let upstream = &self.upstream;
        let version = (newest.min(upstream.newest), self.known_version().1);
        let opened = UpstreamConnection::open(
            upstream,
            connecting.transport,
            identity,
            version,
            routes,
            on_change,
            connecting.permit,
        );
        let mut closing = self.closing.subscribe();
        // The account may have been removed together with the server.
        let is_removed = async {
            match upstream.has_accounts() {
                true => drop(closing.wait_for(|is_closing| *is_closing).await),
                false => pending().await,
            }
        };
        let opened = tokio::select! {
            opened = opened => opened,
            () = is_removed => {
                let server = &*upstream.name;
                let text = format!("the server {server:?} was removed from the gateway");
                Err(Error::Rejected(unavailable(server, text)))
            }
        };
        match upstream.has_accounts() {
            // The gateway itself stopped the server, so the server has not failed.
            _ if matches!(opened, Err(Error::Rejected(_))) => {}
            true => self.record_opened(&connecting.client, opened.is_err()),
            // The server may receive no further requests, so another attempt must follow.
            false
                if self
                    .shared
                    .attempted(opened.as_ref().err().map(ToString::to_string))
                    && self.is_wanted() =>
            {
                self.reconnect_after(std::future::ready(()));
            }
            false => {}
        }
        opened.map_err(|error| self.not_opened(&connecting.client, error))
    }
}

/// A connection that can be opened for a client.
struct Connecting {
    client: Owner,
    /// The transport with the credentials of the client.
    transport: Box<dyn Transport>,
    permit: Permit,
}
