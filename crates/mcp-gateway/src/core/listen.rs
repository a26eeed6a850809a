//! Subscriptions to changes, for session-based and stateless clients.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{join_all, select_all};
use mcp_client::ChangedList;
use mcp_jsonrpc::{ErrorObject, quote};
use mcp_protocol::{BoxFuture, Delivery, Outcome, Owner, Payload, RequestContext, Session, lock};
use mcp_types::v2026_07_28::{
    SubscriptionFilter, SubscriptionsListenResult, SubscriptionsListenResultMeta,
};
use mcp_types::{JsonObject, method};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Core, SubscribeLocks};
use crate::changes::{ChangeSubscription, Changes, notification};
use crate::watched::WatchPermit;

/// Maximum number of resources of one subscription or session.
const MAX_RESOURCES: usize = 64;
/// Maximum time for subscribing to the resources of a `subscriptions/listen` request. Resources that are not subscribed by then
/// are left out, and the request is acknowledged without them.
const MAX_SUBSCRIBE_TIME: Duration = Duration::from_secs(20);
/// Maximum number of characters of a URI in the log.
pub(super) const MAX_LOGGED_URI: usize = 200;
/// Maximum size of the URI of a resource, in bytes.
const MAX_URI_BYTES: usize = 8 << 10;

/// The source of changes: one server, or all servers of a gateway.
pub(crate) trait ChangeSource: Send + Sync {
    /// Returns the clients that are notified of changes.
    fn changes(&self) -> &Changes;

    /// Connects to the servers for a client, so that changes of lists are received. Each returned future keeps a connection open
    /// until the future is dropped. The future completes when the server is removed or replaced.
    fn prepare(
        &self,
        client: &Owner,
    ) -> impl Future<Output = Result<Vec<BoxFuture<'static, ()>>, ErrorObject>> + Send;

    /// Subscribes to a resource for the client of a request. All subscriptions of the request share `locks`. The
    /// returned future calls `deliver` with each change. The future completes when no server has the resource any more.
    fn watch(
        &self,
        uri: Arc<str>,
        context: &RequestContext,
        locks: &Arc<SubscribeLocks>,
        deliver: impl Fn(&str) + Send + Sync + 'static,
    ) -> impl Future<Output = Result<BoxFuture<'static, ()>, ErrorObject>> + Send;

    /// Completes when the first attempt to connect to each server has ended.
    fn settled(&self) -> impl Future<Output = ()> + Send;

    /// Completes when the gateway closes.
    fn closed(&self) -> impl Future<Output = ()> + Send;
}

impl ChangeSource for Arc<Core> {
    fn changes(&self) -> &Changes {
        &self.changes
    }

    async fn prepare(&self, client: &Owner) -> Result<Vec<BoxFuture<'static, ()>>, ErrorObject> {
        if self.upstream.has_accounts() {
            let lease = self.lease_for(client).await?;
            let connection = Arc::clone(&lease.connection);
            let mut closing = self.closing.subscribe();
            return Ok(vec![Box::pin(async move {
                // The connection is dropped when the server is removed. Otherwise, a removed account would stay in use.
                let _ = closing.wait_for(|is_closing| *is_closing).await;
                drop(connection);
            })]);
        }
        self.shared().await.map(|_| Vec::new())
    }

    async fn watch(
        &self,
        uri: Arc<str>,
        context: &RequestContext,
        locks: &Arc<SubscribeLocks>,
        deliver: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<BoxFuture<'static, ()>, ErrorObject> {
        let (principal, client) = (context.principal().cloned(), context.owner());
        let watch = Core::watch(self, uri, principal, client, locks, deliver).await?;
        Ok(Box::pin(watch))
    }

    async fn settled(&self) {}

    async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // The wait cannot fail, because `self` contains the sender.
        let _ = closing.wait_for(|is_closing| *is_closing).await;
    }
}

/// Serves `subscriptions/listen`: accepts the subscriptions that the source supports, and completes when the gateway closes.
pub(crate) fn listen(
    source: impl ChangeSource,
    requested: SubscriptionFilter,
    context: RequestContext,
) -> impl Future<Output = Outcome> + Send {
    context.exchange().set_subscribing();
    run_subscription(source, requested, context)
}

async fn run_subscription(
    source: impl ChangeSource,
    requested: SubscriptionFilter,
    context: RequestContext,
) -> Outcome {
    let session = context.session();
    let mut accepted = SubscriptionFilter::new();
    let mut lists = HashSet::new();
    let mut accept = |requested: Option<bool>, list: ChangedList| -> Option<bool> {
        let name = notification(list)?;
        (requested == Some(true) && session.announces(name) && lists.insert(name)).then_some(true)
    };
    accepted.tools_list_changed = accept(requested.tools_list_changed, ChangedList::Tools);
    accepted.prompts_list_changed = accept(requested.prompts_list_changed, ChangedList::Prompts);
    accepted.resources_list_changed =
        accept(requested.resources_list_changed, ChangedList::Resources);
    let subscription = Arc::new(ChangeSubscription::new(&context, lists));
    let uris = requested.resource_subscriptions.unwrap_or_default();
    check_uris(&uris)?;
    let uris: Vec<Arc<str>> = uris.into_iter().map(Arc::from).collect();
    let open = source.changes().open(&subscription)?;
    let counted = source.changes().watched.reserve(&context.owner(), &uris)?;
    // Changes of lists arrive on the shared connection, or on the connection of the user.
    let client = context.owner();
    let connections = source.prepare(&client).await?;
    let (_watches, watched) = watch_all(&source, uris, &context, &subscription).await;
    if !watched.is_empty() {
        let watched = watched.iter().map(|uri| uri.to_string());
        accepted.resource_subscriptions = Some(watched.collect());
    }
    drop(watched);
    context.exchange().set_endless();
    let mut params = JsonObject::new();
    params.insert("notifications".to_owned(), json!(accepted));
    drop(accepted);
    subscription.acknowledge(params);
    tokio::select! {
        () = source.closed() => {}
        never = keep_connected(&source, &client, connections) => match never {},
    }
    drop((open, counted));
    let meta = SubscriptionsListenResultMeta::new(context.exchange().id().clone());
    Ok(Payload::of(SubscriptionsListenResult::new(meta)))
}

/// Keeps connections open for a client. If a server is replaced, connects to the new server.
async fn keep_connected(
    source: &impl ChangeSource,
    client: &Owner,
    mut connections: Vec<BoxFuture<'static, ()>>,
) -> Infallible {
    while !connections.is_empty() {
        let ((), _, others) = select_all(connections).await;
        source.settled().await;
        // `prepare` also returns the connections that are still open.
        connections = source.prepare(client).await.unwrap_or(others);
    }
    pending().await
}

/// Subscribes to resources for a client. Returns the running subscriptions, and the URIs of their resources.
async fn watch_all(
    source: &impl ChangeSource,
    uris: Vec<Arc<str>>,
    context: &RequestContext,
    subscription: &Arc<ChangeSubscription>,
) -> (JoinSet<()>, Vec<Arc<str>>) {
    let locks = Arc::default();
    let attempts = uris.iter().map(|uri| {
        let (target, subscribed) = (Arc::clone(subscription), Arc::clone(uri));
        let deliver = move |changed: &str| target.notify_resource(&subscribed, changed);
        source.watch(Arc::clone(uri), context, &locks, deliver)
    });
    let attempts = attempts.map(|attempt| timeout(MAX_SUBSCRIBE_TIME, attempt));
    let outcomes = join_all(attempts).await;
    let (mut watches, mut watched) = (JoinSet::new(), Vec::new());
    for (uri, outcome) in uris.into_iter().zip(outcomes) {
        match outcome {
            Ok(Ok(watch)) => {
                watches.spawn(watch);
                watched.push(uri);
            }
            Ok(Err(error)) => {
                let uri = quote(&uri, MAX_LOGGED_URI);
                tracing::debug!(%error, %uri, "a resource is left out of a subscription");
            }
            Err(_) => {
                let log = &source.changes().unwatched;
                if let Some(omitted) = log.admit(std::time::Instant::now()) {
                    let uri = quote(&uri, MAX_LOGGED_URI);
                    tracing::warn!(%uri, limit = ?MAX_SUBSCRIBE_TIME, omitted, "a resource is left out of a subscription, because it was not subscribed in time");
                }
            }
        }
    }
    (watches, watched)
}

/// Checks the number and the sizes of the URIs of a subscription. The check is fast. Run it before any work that takes time for
/// each URI.
pub(crate) fn check_uris(uris: &[String]) -> Result<(), ErrorObject> {
    if uris.len() > MAX_RESOURCES {
        return Err(ErrorObject::invalid_params(format!(
            "a subscription may name at most {MAX_RESOURCES} resources, not {}",
            uris.len()
        )));
    }
    uris.iter().try_for_each(|uri| check_uri(uri))
}

/// Checks the size of the URI of a resource.
pub(crate) fn check_uri(uri: &str) -> Result<(), ErrorObject> {
    if uri.len() > MAX_URI_BYTES {
        return Err(ErrorObject::invalid_params(format!(
            "the URI of a resource has {} bytes; the limit is {MAX_URI_BYTES}",
            uri.len()
        )));
    }
    Ok(())
}

/// The resource subscriptions of a session-based client on a stateless server.
#[derive(Default)]
pub(crate) struct SessionWatches(Mutex<BTreeMap<Arc<str>, SessionWatch>>);

/// A subscription to one resource. Dropping this value ends the subscription.
struct SessionWatch {
    task: tokio::task::AbortHandle,
    _counted: WatchPermit,
}

impl SessionWatch {
    /// Returns whether the subscription is still active. It ends when no server has the resource any more, as far as the gateway
    /// knows.
    fn is_running(&self) -> bool {
        !self.task.is_finished()
    }
}

impl Drop for SessionWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Core {
    /// Serves `resources/subscribe` of a session-based client on a stateless server.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
        uri: String,
        session: &Arc<Session>,
        client: &Owner,
    ) -> Outcome {
        check_uri(&uri)?;
        let uri: Arc<str> = uri.into();
        let watches = session.value(SessionWatches::default);
        {
            let watches = lock(&watches.0);
            if watches.get(&uri).is_some_and(SessionWatch::is_running) {
                return Ok(Payload::Empty);
            }
            if watches.len() >= MAX_RESOURCES {
                return Err(ErrorObject::internal(format!(
                    "the session has {MAX_RESOURCES} subscriptions, which is the limit; unsubscribe first"
                )));
            }
        }
        let target = Arc::downgrade(session);
        let deliver = Arc::new(move |uri: &str| {
            if let Some(session) = target.upgrade() {
                let params = json!({ "uri": uri }).to_string();
                let name = method::NOTIFICATIONS_RESOURCES_UPDATED;
                session.notify(name, Some(params.as_bytes()), Delivery::Always);
            }
        });
        let counted = (self.changes.watched).reserve(client, std::slice::from_ref(&uri))?;
        let locks = SubscribeLocks::default();
        let (watched, client) = (Arc::clone(&uri), client.clone());
        let changed = Arc::clone(&deliver);
        let changed = move |uri: &str| changed(uri);
        let watch = self.watch(Arc::clone(&uri), None, client, &locks, changed);
        let watch = watch.await?;
        let task = tokio::spawn(async move {
            watch.await;
            // The client reads the resource again, and learns whether another server has it.
            deliver(&watched);
        });
        let watch = SessionWatch {
            task: task.abort_handle(),
            _counted: counted,
        };
        let earlier = lock(&watches.0).insert(uri, watch);
        drop(earlier);
        Ok(Payload::Empty)
    }
}

/// Serves `resources/unsubscribe` of a session-based client on a stateless server.
pub(crate) fn unsubscribe(uri: &str, session: &Arc<Session>) {
    let watches = session.value(SessionWatches::default);
    let watch = lock(&watches.0).remove(uri);
    drop(watch);
}
