//! Subscriptions to resources: on the shared connection and the connections of the pool, or on the separate connection of a
//! principal.
//!
//! Each connection to a program on stdio is a separate process. With subscriptions on the connections of the pool, a client is
//! also notified of changes that its calls cause in other processes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_client::{Error, Subscription};
use mcp_host::without_setting_names;
use mcp_jsonrpc::{ErrorObject, quote};
use mcp_protocol::{Owner, Principal, lock};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::Core;
use super::listen::MAX_LOGGED_URI;
use crate::caller::MayNotify;
use crate::connection::{UpstreamConnection, unreachable};
use crate::pool::Key;
use crate::resubscribe::ResubscribeDelay;
use crate::shared::MAX_RECONNECT_WAIT;

/// Maximum number of resources to which a connection of the pool subscribes when it is opened.
const MAX_POOLED: usize = 256;
/// Maximum wait before the next subscription to a resource that the server left out of the last one.
const MAX_REFUSED_WAIT: Duration = Duration::from_secs(60);

/// The resources that clients of the gateway watch.
#[derive(Default)]
pub(super) struct ResourceSubscriptions(Mutex<SubscriptionTable>);

#[derive(Default)]
struct SubscriptionTable {
    last: u64,
    by_number: BTreeMap<u64, Arc<ResourceSubscription>>,
    /// The client that made the first subscription.
    first: Option<Owner>,
    /// Whether several clients have subscribed. This stays `true` after a client has disconnected, because the server can keep
    /// its subscription.
    has_several_clients: bool,
}

/// A callback that delivers the URI of a changed resource. [`Updates`] says which clients' subscriptions caused the update.
type Deliver = Box<dyn Fn(&str, Updates) + Send + Sync>;

/// A resource that a client watches.
struct ResourceSubscription {
    uri: Arc<str>,
    /// The principal of the client, if connections of the pool belong to principals.
    principal: Option<Principal>,
    deliver: Deliver,
    /// The subscriptions on the connections of the pool.
    pooled: Mutex<JoinSet<()>>,
}

/// The clients whose subscriptions cause the updates that the server sends on a connection.
#[derive(Clone, Copy, PartialEq)]
enum Updates {
    OfThisClient,
    OfAllClients,
}

impl Updates {
    /// Returns the clients of a connection. `is_for_principal` says whether the connection belongs to one principal.
    fn of(is_for_principal: bool) -> Self {
        match is_for_principal {
            true => Self::OfThisClient,
            false => Self::OfAllClients,
        }
    }
}

impl ResourceSubscription {
    /// Also delivers the changes from `subscription`: another subscription to the same resource.
    fn add(self: &Arc<Self>, mut subscription: Subscription) {
        let watch = Arc::downgrade(self);
        let updates = Updates::of(self.principal.is_some());
        let mut pooled = lock(&self.pooled);
        // Removes the subscriptions whose connection has ended.
        while pooled.try_join_next().is_some() {}
        pooled.spawn(async move {
            while let Some(changed) = subscription.next().await {
                let Some(watch) = watch.upgrade() else { return };
                (watch.deliver)(&changed, updates);
            }
        });
    }
}

/// A guard for the entry of a watched resource. Dropping the guard removes the entry and ends its subscriptions.
struct SubscriptionEntry {
    core: Weak<Core>,
    number: u64,
}

impl Drop for SubscriptionEntry {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            lock(&core.watches.0).by_number.remove(&self.number);
        }
    }
}

/// The locks that let the subscriptions of one request of a client run one after another at each server. A server that does not
/// respond does not delay the subscriptions at other servers. The keys are the addresses of the [`Core`]s in memory.
#[derive(Default)]
pub(crate) struct SubscribeLocks(Mutex<HashMap<usize, Arc<tokio::sync::Mutex<()>>>>);

impl SubscribeLocks {
    fn of(&self, server: &Arc<Core>) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(lock(&self.0).entry(Arc::as_ptr(server).addr()).or_default())
    }
}

impl Core {
    /// Subscribes to a resource for a client with this principal. The returned future calls `deliver` with each change. After the
    /// connection has ended, the future subscribes again as soon as the server can be reached. The future completes when the
    /// server is removed from the gateway. A stateless server receives all resources in one request. A session-based server
    /// receives one request for each resource. The locks let the requests run one after another, so that other clients
    /// can send requests in between.
    ///
    /// # Errors
    /// The server rejects the subscription.
    pub(crate) async fn watch(
        self: &Arc<Self>,
        uri: Arc<str>,
        principal: Option<Principal>,
        client: Owner,
        locks: &SubscribeLocks,
        deliver: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<impl Future<Output = ()> + Send + 'static, ErrorObject> {
        let (may_notify, subscribed) = (self.may_notify(), Arc::clone(&uri));
        let core = Arc::downgrade(self);
        // The separate connection to a stateless server receives all updates.
        let own = self.separate_key(&client);
        let is_stateless = self.shared.known().revision.is_stateless();
        let principal = principal.filter(|_| own.is_none() || !is_stateless);
        let updates = Updates::of(own.is_some());
        let watch = Arc::new(ResourceSubscription {
            uri,
            principal: self.pool_principal(principal),
            deliver: Box::new(move |changed, updates| {
                let shows_part = || {
                    let core = core.upgrade();
                    core.is_some_and(|core| core.shows_part(changed))
                };
                let is_own = *subscribed == *changed || updates == Updates::OfThisClient;
                if (is_own || shows_part()) && may_notify(&subscribed, changed) {
                    deliver(changed);
                }
            }),
            pooled: Mutex::default(),
        });
        // The entry is added before the server can send an update, and is removed if the request is cancelled.
        let entry = self.register(&watch, &client);
        let mut subscription = self.first_subscription(&watch, &client, locks).await?;
        let (core, mut closing) = (Arc::downgrade(self), self.closing.subscribe());
        let watching = async move {
            let _entry = entry;
            let mut delay = ResubscribeDelay::default();
            loop {
                while let Some(changed) = subscription.next().await {
                    (watch.deliver)(&changed, updates);
                }
                let (uri, own, wait) = (&watch.uri, own.as_ref(), delay.after_loss());
                let again = Self::subscribed_again(&core, uri, own, &client, wait);
                let again = again.await;
                // The resource may have changed while it was not watched. If the server no longer accepts the subscription, the client receives the error when it
                // reads the resource after this notification.
                (watch.deliver)(&watch.uri, updates);
                let Some(again) = again else { return };
                delay.record_subscribed(Instant::now());
                subscription = again;
            }
        };
        Ok(async move {
            tokio::select! {
                () = watching => {}
                _ = closing.wait_for(|is_closing| *is_closing) => {}
            }
        })
    }

    /// Subscribes for a client, on the connection for the client's requests and on the connections of the pool.
    async fn first_subscription(
        self: &Arc<Self>,
        watch: &Arc<ResourceSubscription>,
        client: &Owner,
        locks: &SubscribeLocks,
    ) -> Result<Subscription, ErrorObject> {
        let lease = self.lease_for(client).await?;
        let connection = &lease.connection;
        let lock = locks.of(self);
        let _subscribing = match connection.client.revision().is_stateless() {
            true => None,
            false => Some(lock.lock().await),
        };
        let first = connection.client.subscribe(Arc::clone(&watch.uri)).await;
        drop(lease);
        let subscription = first.map_err(|error| {
            self.log_unwatched(&watch.uri, &error);
            self.not_watched(&error)
        })?;
        self.watch_pooled(watch).await;
        Ok(subscription)
    }

    /// Subscribes after `wait`. After each failure, waits at least [`MAX_RECONNECT_WAIT`] and tries again. If a server leaves the
    /// resource out of a subscription, each wait is longer, up to [`MAX_REFUSED_WAIT`]. Returns `None` if the
    /// server rejects the subscription, or if the gateway was closed. Does not close another connection to open a separate
    /// connection. Otherwise, the client of the closed connection would also subscribe again and close this connection.
    async fn subscribed_again(
        core: &Weak<Self>,
        uri: &Arc<str>,
        own: Option<&Key>,
        client: &Owner,
        mut wait: Duration,
    ) -> Option<Subscription> {
        loop {
            sleep(wait).await;
            wait = wait.max(MAX_RECONNECT_WAIT);
            let core = core.upgrade()?;
            if own.is_some_and(|key| !core.can_open(key)) {
                continue;
            }
            let Ok(lease) = core.lease_for(client).await else {
                continue;
            };
            match lease.connection.client.subscribe(Arc::clone(uri)).await {
                Ok(again) => return Some(again),
                Err(error @ (Error::Rejected(_) | Error::Unsupported { .. })) => {
                    core.log_unwatched(uri, &error);
                    return None;
                }
                Err(error) => {
                    if matches!(error, Error::NotSubscribed { .. }) {
                        // For example, the resource was removed.
                        wait = (2 * wait).min(MAX_REFUSED_WAIT);
                    }
                    let uri = quote(uri, MAX_LOGGED_URI);
                    tracing::debug!(%error, %uri, "a resource is not watched yet");
                }
            }
        }
    }

    /// Creates the error for a resource that cannot be watched. `error` is the reason.
    fn not_watched(&self, error: &Error) -> ErrorObject {
        let has_no_address = matches!(
            error,
            Error::Unsupported { .. } | Error::NotSubscribed { .. }
        );
        match error.rejection() {
            Some(rejection) => rejection.clone(),
            None if has_no_address || self.catalog.is_none() => {
                ErrorObject::internal(without_setting_names(&error.to_string()))
            }
            None => unreachable(&self.upstream.name, error, &self.failures),
        }
    }

    /// Returns the filter that decides whether a client may be notified of a changed resource. On a gateway with several servers,
    /// the filter applies the access rules. Otherwise, it allows all changes.
    pub(super) fn may_notify(&self) -> MayNotify {
        let (changes, catalog) = (Arc::clone(&self.changes), self.catalog.clone());
        Arc::new(move |subscribed, changed| {
            let mount = catalog.as_deref();
            mount.is_none_or(|mount| changes.admits_update(mount.namespace(), subscribed, changed))
        })
    }

    /// Logs the reason why the server does not send updates of a resource.
    fn log_unwatched(&self, uri: &str, error: &Error) {
        if let Some(omitted) = self.changes.unwatched.admit(std::time::Instant::now()) {
            let (server, uri) = (&self.upstream.name, quote(uri, MAX_LOGGED_URI));
            tracing::warn!(?server, %uri, %error, omitted, "a resource cannot be watched");
        }
    }

    /// Returns the principal that a client's connections in the pool belong to; `None` if all clients share the pool.
    pub(super) fn pool_principal(&self, principal: Option<Principal>) -> Option<Principal> {
        principal.filter(|_| !self.upstream.is_shared())
    }

    /// Returns whether a client of a shared connection may be notified of a change of `part`. The client has subscribed to a
    /// resource that contains this part. If several clients have subscribed, the server may have sent the update for another
    /// client, whose URIs are secret. The update is therefore delivered only if the list of resources, which all clients see,
    /// contains the part.
    fn shows_part(&self, part: &str) -> bool {
        let catalog = self.catalog.as_deref();
        !lock(&self.watches.0).has_several_clients
            || catalog.is_some_and(|catalog| catalog.lists_resource(part))
    }

    /// Adds a watched resource to the table.
    fn register(
        self: &Arc<Self>,
        watch: &Arc<ResourceSubscription>,
        client: &Owner,
    ) -> SubscriptionEntry {
        let mut watches = lock(&self.watches.0);
        let first = watches.first.get_or_insert_with(|| client.clone());
        let is_another = *first != *client;
        watches.has_several_clients |= is_another;
        watches.last += 1;
        let number = watches.last;
        watches.by_number.insert(number, Arc::clone(watch));
        let core = Arc::downgrade(self);
        SubscriptionEntry { core, number }
    }

    /// Subscribes to a watched resource on the open connections of the pool.
    async fn watch_pooled(&self, watch: &Arc<ResourceSubscription>) {
        let mut subscribing = JoinSet::new();
        for connection in self.pool.open_of(watch.principal.as_ref()) {
            subscribing.spawn(subscribe(connection, Arc::clone(watch)));
        }
        subscribing.join_all().await;
    }

    /// Subscribes on a new connection of the pool to the resources that its clients watch.
    pub(super) async fn watch_on(
        &self,
        connection: &Arc<UpstreamConnection>,
        principal: Option<&Principal>,
    ) {
        let mut subscribing = JoinSet::new();
        {
            let watches = lock(&self.watches.0);
            let watches = watches.by_number.values();
            for watch in watches
                .filter(|watch| watch.principal.as_ref() == principal)
                .take(MAX_POOLED)
            {
                subscribing.spawn(subscribe(Arc::clone(connection), Arc::clone(watch)));
            }
        }
        subscribing.join_all().await;
    }
}

async fn subscribe(connection: Arc<UpstreamConnection>, watch: Arc<ResourceSubscription>) {
    match connection.client.subscribe(Arc::clone(&watch.uri)).await {
        Ok(subscription) => watch.add(subscription),
        Err(error) => tracing::debug!(%error, uri = ?watch.uri, "a resource cannot be watched"),
    }
}
