//! Open subscriptions to change notifications.
//!
//! Specification: [subscriptions][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::{ErrorObject, RequestId, text_of};
use mcp_protocol::{
    Budget, BudgetPermit, Delivery, Exchange, Link, Outcome, Payload, Principal, RequestContext,
    lock,
};
use mcp_types::v2026_07_28::{
    SubscriptionFilter, SubscriptionsListenResult, SubscriptionsListenResultMeta,
};
use mcp_types::{JsonObject, SUBSCRIPTION_ID_KEY, method};
use serde_json::{Value, json};

/// A change that clients can subscribe to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Change {
    /// The tool list changed.
    Tools,
    /// The prompt list changed.
    Prompts,
    /// The resource list changed.
    Resources,
    /// The resource with this URI changed.
    Resource(String),
    /// A change whose notification only the clients of one user receive, see
    /// [`only_for`](Self::only_for).
    ForUser {
        /// The [key of the user](mcp_protocol::Principal::user).
        user: String,
        /// The change.
        change: Box<Self>,
    },
}

impl Change {
    /// Restricts the notification to the clients of one user, so that other users do not learn that
    /// there was a change. `user` is the key of the user, from
    /// [`Principal::user`](mcp_protocol::Principal::user) or `Identity::user` of `mcp-auth`. Clients
    /// without a principal, such as the client of a server over stdio, are not notified.
    ///
    /// ```
    /// use mcp_server::{Change, Ctx, Tool};
    ///
    /// let add = Tool::<()>::new("add", |cx: Ctx| {
    ///     // .. adds a resource that only this user sees
    ///     match cx.principal() {
    ///         Some(principal) => cx.changed(Change::Resources.only_for(principal.user())),
    ///         None => cx.changed(Change::Resources),
    ///     }
    /// });
    /// # let _ = add;
    /// ```
    #[must_use]
    pub fn only_for(self, user: impl Into<String>) -> Self {
        let change = match self {
            Self::ForUser { change, .. } => change,
            change => Box::new(change),
        };
        let user = user.into();
        Self::ForUser { user, change }
    }

    /// Returns the change without its restriction, and the user if the notification is restricted to one user.
    pub(crate) fn addressee(&self) -> (&Self, Option<&str>) {
        match self {
            Self::ForUser { user, change } => (change, Some(user)),
            change => (change, None),
        }
    }

    /// Returns the method of the change notification.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Tools => method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
            Self::Prompts => method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
            Self::Resources => method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
            Self::Resource(_) => method::NOTIFICATIONS_RESOURCES_UPDATED,
            Self::ForUser { change, .. } => change.method(),
        }
    }
}

/// A bus that distributes change notifications to all processes of a server.
///
/// Without a bus, only clients of the process that made the change are notified. With a bus, the
/// server calls [`publish`](Self::publish), and every process, including this one, must call
/// [`Server::deliver`](crate::Server::deliver) with each change it receives.
pub trait ChangeBus: Send + Sync + 'static {
    /// Publishes a change. Must not block; a change that cannot be sent is dropped.
    fn publish(&self, change: Change);
}

impl<F: Fn(Change) + Send + Sync + 'static> ChangeBus for F {
    fn publish(&self, change: Change) {
        self(change);
    }
}

/// Maximum number of open subscriptions of a server.
const MAX_SUBSCRIPTIONS: usize = 10_000;

/// Maximum memory, in bytes, that a server uses for the URIs and task ids of all subscriptions and for cached roots.
const MAX_BYTES: usize = 16 << 20;
/// Memory per URI or task id in addition to its text, in bytes: its entry in the set, and the overhead of the allocation.
const TEXT_OVERHEAD: usize = 128;

/// The open subscriptions.
pub(crate) struct Subscriptions {
    open: Mutex<Vec<Arc<Subscription>>>,
    budget: Budget,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            budget: Budget::new("subscriptions", MAX_BYTES),
        }
    }
}

struct Subscription {
    exchange: Exchange,
    link: Arc<dyn Link>,
    filter: Filter,
    principal: Option<Principal>,
    end: Mutex<End>,
    /// The permit for the memory that the URIs and task ids of the filter use.
    _permit: BudgetPermit,
}

#[derive(Default)]
struct End {
    ended: bool,
    waker: Option<Waker>,
}

/// The changes that a subscription includes.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) uris: HashSet<String>,
    /// Ids of tasks; the subscriber has access to each of them.
    pub(crate) tasks: HashSet<String>,
}

impl Filter {
    fn matches(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(uri) => self.uris.contains(uri),
            Change::ForUser { change, .. } => self.matches(change),
        }
    }

    /// Returns the filter for the acknowledgement.
    fn acknowledged(&self) -> SubscriptionFilter {
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = self.tools.then_some(true);
        filter.prompts_list_changed = self.prompts.then_some(true);
        filter.resources_list_changed = self.resources.then_some(true);
        if !self.uris.is_empty() {
            let mut uris: Vec<String> = self.uris.iter().cloned().collect();
            uris.sort_unstable();
            filter.resource_subscriptions = Some(uris);
        }
        if !self.tasks.is_empty() {
            let mut ids: Vec<String> = self.tasks.iter().cloned().collect();
            ids.sort_unstable();
            filter = filter.with_task_ids(ids);
        }
        filter
    }
}

impl Subscriptions {
    /// Returns the memory budget for the URIs of subscriptions, including subscriptions in sessions.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Acknowledges and opens a subscription; the future completes when the subscription ends.
    pub(crate) fn open(
        self: &Arc<Self>,
        context: &RequestContext,
        filter: Filter,
    ) -> Result<OpenSubscription, ErrorObject> {
        let texts = filter.uris.iter().chain(&filter.tasks);
        let charge = texts.map(|text| TEXT_OVERHEAD + text.len()).sum();
        let owner = context.owner();
        let permit = self.budget.acquire(&owner, charge);
        let permit = permit.map_err(|error| ErrorObject::internal(error.to_string()))?;
        let subscription = Arc::new(Subscription {
            exchange: context.exchange().clone(),
            link: context.link(),
            filter,
            principal: context.principal().cloned(),
            end: Mutex::default(),
            _permit: permit,
        });
        let mut open = lock(&self.open);
        if open.len() >= MAX_SUBSCRIPTIONS {
            return Err(ErrorObject::internal(format!(
                "{MAX_SUBSCRIPTIONS} subscriptions are open, which is the limit; try again later"
            )));
        }
        subscription.exchange.set_endless();
        // The acknowledgement is sent under the lock, so that no notification precedes it and no
        // later notification is missed.
        let mut params = JsonObject::new();
        params.insert(
            "notifications".into(),
            json!(subscription.filter.acknowledged()),
        );
        subscription.notify(method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED, params);
        open.push(Arc::clone(&subscription));
        Ok(OpenSubscription {
            subscription,
            subscriptions: Arc::downgrade(self),
        })
    }

    /// Notifies the subscribers of a change. If `user` is set, notifies only the subscribers of this user.
    pub(crate) fn deliver(&self, change: &Change, user: Option<&str>) {
        for subscription in lock(&self.open).iter() {
            if subscription.filter.matches(change)
                && is_addressed(user, subscription.principal.as_ref())
            {
                let mut params = JsonObject::new();
                if let Change::Resource(uri) = change {
                    params.insert("uri".into(), json!(uri));
                }
                subscription.notify(change.method(), params);
            }
        }
    }

    /// Notifies the subscribers of the state of a task.
    #[cfg(feature = "tasks")]
    pub(crate) fn deliver_task(&self, task: &mcp_protocol::task::Task) {
        for subscription in lock(&self.open).iter() {
            if subscription.filter.tasks.contains(task.id()) {
                subscription.notify_task(task);
            }
        }
    }

    /// Ends all subscriptions gracefully, each with a result.
    pub(crate) fn end(&self) {
        let open: Vec<_> = lock(&self.open).drain(..).collect();
        for subscription in open {
            let mut end = lock(&subscription.end);
            end.ended = true;
            let waker = end.waker.take();
            drop(end);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.open).len()
    }
}

/// Returns whether clients with this principal receive a notification. `user` is the only user that may receive it; `None` means
/// every client.
pub(crate) fn is_addressed(user: Option<&str>, principal: Option<&Principal>) -> bool {
    user.is_none_or(|user| principal.is_some_and(|principal| principal.user() == user))
}

impl Subscription {
    fn id(&self) -> &RequestId {
        self.exchange.id()
    }

    /// Sends the full state of a task, as `tasks/get` returns it.
    #[cfg(feature = "tasks")]
    fn notify_task(&self, task: &mcp_protocol::task::Task) {
        if let Ok(params) = serde_json::from_str(&task.to_detailed()) {
            self.notify(method::NOTIFICATIONS_TASKS, params);
        }
    }

    fn notify(&self, method: &str, mut params: JsonObject) {
        params.insert("_meta".into(), json!({ SUBSCRIPTION_ID_KEY: self.id() }));
        let params = text_of(&Value::Object(params));
        let link = &self.link;
        if link
            .notify(method, Some(params.as_bytes()), Delivery::Always)
            .is_err()
        {
            tracing::debug!(id = %self.id(), "cannot notify a subscription: its client is gone");
        }
    }
}

/// An open subscription; closes when dropped.
pub(crate) struct OpenSubscription {
    subscription: Arc<Subscription>,
    subscriptions: Weak<Subscriptions>,
}

#[cfg(feature = "tasks")]
impl OpenSubscription {
    /// Notifies this subscriber of the state of a task.
    pub(crate) fn notify_task(&self, task: &mcp_protocol::task::Task) {
        self.subscription.notify_task(task);
    }
}

impl Future for OpenSubscription {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let mut end = lock(&self.subscription.end);
        if !end.ended {
            end.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let meta = SubscriptionsListenResultMeta::new(self.subscription.id().clone());
        Poll::Ready(Ok(Payload::of(SubscriptionsListenResult::new(meta))))
    }
}

impl Drop for OpenSubscription {
    fn drop(&mut self) {
        if let Some(subscriptions) = self.subscriptions.upgrade() {
            lock(&subscriptions.open).retain(|open| !Arc::ptr_eq(open, &self.subscription));
        }
    }
}
