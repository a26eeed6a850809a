//! Notifications about changes, for the clients of the gateway.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use mcp_client::ChangedList;
use mcp_jsonrpc::{ErrorObject, RequestId};
use mcp_protocol::{Delivery, Link, Owner, Principal, RequestContext, Session, lock};
use mcp_types::{JsonObject, SUBSCRIPTION_ID_KEY, method};
use serde_json::{Value, json};

use crate::watched::WatchCounter;
use mcp_protocol::LogLimit;

/// Maximum number of open subscriptions of all clients.
const MAX_SUBSCRIPTIONS: usize = 1_024;
/// Maximum number of open subscriptions of one client.
const MAX_SUBSCRIPTIONS_PER_CLIENT: usize = 128;
/// Minimum number of sessions in the table at which the gateway searches the table for ended sessions and removes them.
const MIN_SWEEP: usize = 64;

/// A function that decides whether a client may be notified of a change. The arguments are the name of the server's mount, the
/// URI to which the client has subscribed, and the URI of the changed resource.
pub(crate) type UpdateFilter = Box<dyn Fn(&str, &str, &str) -> bool + Send + Sync>;

/// The clients that are notified of changes which the shared connection reports.
#[derive(Default)]
pub(crate) struct Changes {
    sessions: Mutex<Sessions>,
    /// Applies the access rules of a gateway.
    update_filter: OnceLock<UpdateFilter>,
    subscriptions: Mutex<ChangeSubscriptions>,
    pub(crate) watched: Arc<WatchCounter>,
    /// Limits the number of log messages about resources that cannot be watched.
    pub(crate) unwatched: LogLimit,
}

#[derive(Default)]
struct Sessions {
    all: Vec<Weak<Session>>,
    sweep_at: usize,
}

#[derive(Default)]
struct ChangeSubscriptions {
    last: u64,
    open: BTreeMap<u64, Arc<ChangeSubscription>>,
}

/// The `subscriptions/listen` request of a client of the stateless revision.
pub(crate) struct ChangeSubscription {
    pub(crate) id: RequestId,
    pub(crate) client: Owner,
    pub(crate) link: Arc<dyn Link>,
    /// The methods of the notifications about changed lists that the subscription includes.
    pub(crate) lists: HashSet<&'static str>,
    /// The changes before the acknowledgement, which must be the first message. `None` after the acknowledgement. Each list and
    /// each subscribed resource is kept once, so a server cannot displace the changes of another server.
    early: Mutex<Option<BTreeSet<EarlyChange>>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EarlyChange {
    /// The method of the notification.
    List(&'static str),
    /// The URI to which the client subscribes. The changed resource can be a part of this resource.
    Resource(Arc<str>),
}

impl ChangeSubscription {
    /// Creates the subscription of a request that is not acknowledged yet.
    pub(crate) fn new(context: &RequestContext, lists: HashSet<&'static str>) -> Self {
        Self {
            id: context.exchange().id().clone(),
            client: context.owner(),
            link: context.link(),
            lists,
            early: Mutex::new(Some(BTreeSet::new())),
        }
    }

    /// Notifies the client of a changed list.
    pub(crate) fn notify_list(&self, method: &'static str) {
        if !self.keep(|| EarlyChange::List(method)) {
            self.send(method, JsonObject::new());
        }
    }

    /// Notifies the client of a change of `changed`, which is the resource `subscribed` or a part of it.
    pub(crate) fn notify_resource(&self, subscribed: &Arc<str>, changed: &str) {
        if !self.keep(|| EarlyChange::Resource(Arc::clone(subscribed))) {
            self.send_resource(changed);
        }
    }

    /// Keeps a change until the acknowledgement. Returns `false` if the subscription is acknowledged.
    fn keep(&self, change: impl FnOnce() -> EarlyChange) -> bool {
        match &mut *lock(&self.early) {
            Some(early) => early.insert(change()),
            None => return false,
        };
        true
    }

    /// Sends the acknowledgement, and then a notification for each change that was kept.
    pub(crate) fn acknowledge(&self, params: JsonObject) {
        let mut early = lock(&self.early);
        self.send(method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED, params);
        for change in early.take().into_iter().flatten() {
            match change {
                EarlyChange::List(method) => self.send(method, JsonObject::new()),
                EarlyChange::Resource(uri) => self.send_resource(&uri),
            }
        }
    }

    fn send_resource(&self, uri: &str) {
        let params = JsonObject::from_iter([("uri".to_owned(), json!(uri))]);
        self.send(method::NOTIFICATIONS_RESOURCES_UPDATED, params);
    }

    fn send(&self, method: &str, mut params: JsonObject) {
        params.insert("_meta".to_owned(), json!({ SUBSCRIPTION_ID_KEY: self.id }));
        let params = Value::Object(params).to_string();
        let params = Some(params.as_bytes());
        if self.link.notify(method, params, Delivery::Always).is_err() {
            tracing::debug!(id = %self.id, "cannot notify a subscription: its client is gone");
        }
    }
}

/// Returns the notification of a changed list.
pub(crate) fn notification(list: ChangedList) -> Option<&'static str> {
    Some(match list {
        ChangedList::Tools => method::NOTIFICATIONS_TOOLS_LIST_CHANGED,
        ChangedList::Prompts => method::NOTIFICATIONS_PROMPTS_LIST_CHANGED,
        ChangedList::Resources => method::NOTIFICATIONS_RESOURCES_LIST_CHANGED,
        _ => return None,
    })
}

/// All lists that can change.
pub(crate) const LISTS: [ChangedList; 3] = [
    ChangedList::Tools,
    ChangedList::Prompts,
    ChangedList::Resources,
];

/// Notifies the client of a session that all lists may have changed.
pub(crate) fn announce_lists(session: &Session) {
    let names = LISTS.into_iter().filter_map(notification);
    for name in names.filter(|name| session.announces(name)) {
        session.notify(name, None, Delivery::Always);
    }
}

impl Changes {
    /// Sets the filter that decides whether a client may be notified of a change. Only the first call has an effect.
    pub(crate) fn set_update_filter(&self, filter: UpdateFilter) {
        let _ = self.update_filter.set(filter);
    }

    /// Returns whether a client that has subscribed to the resource `subscribed` may be notified of a change of `changed`.
    /// `changed` is the same resource or a part of it.
    pub(crate) fn admits_update(&self, mount: &str, subscribed: &str, changed: &str) -> bool {
        let filter = self.update_filter.get();
        filter.is_none_or(|filter| filter(mount, subscribed, changed))
    }

    /// Adds a session, which is notified of changed lists.
    pub(crate) fn add_session(&self, session: &Arc<Session>) {
        let mut sessions = lock(&self.sessions);
        if sessions.all.len() >= sessions.sweep_at.max(MIN_SWEEP) {
            sessions.all.retain(|session| session.strong_count() > 0);
            sessions.sweep_at = 2 * sessions.all.len();
        }
        sessions.all.push(Arc::downgrade(session));
    }

    /// Returns the sessions that have not ended.
    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        let sessions = lock(&self.sessions);
        sessions.all.iter().filter_map(Weak::upgrade).collect()
    }

    /// Adds a subscription. It ends when the returned guard is dropped.
    ///
    /// # Errors
    /// There are too many subscriptions.
    pub(crate) fn open(
        &self,
        subscription: &Arc<ChangeSubscription>,
    ) -> Result<OpenChangeSubscription<'_>, ErrorObject> {
        let mut subscriptions = lock(&self.subscriptions);
        if subscriptions.open.len() >= MAX_SUBSCRIPTIONS {
            return Err(ErrorObject::internal(format!(
                "{MAX_SUBSCRIPTIONS} subscriptions are open, which is the limit; try again later"
            )));
        }
        let client = &subscription.client;
        let own = (subscriptions.open.values()).filter(|other| other.client == *client);
        if client.is_known() && own.count() >= MAX_SUBSCRIPTIONS_PER_CLIENT {
            return Err(ErrorObject::internal(format!(
                "this client has {MAX_SUBSCRIPTIONS_PER_CLIENT} subscriptions, which is the limit; end a subscription first"
            )));
        }
        subscriptions.last += 1;
        let key = subscriptions.last;
        subscriptions.open.insert(key, Arc::clone(subscription));
        Ok(OpenChangeSubscription { changes: self, key })
    }

    pub(crate) fn has_subscriptions(&self) -> bool {
        !lock(&self.subscriptions).open.is_empty()
    }

    /// Notifies the clients of one user, or all clients, of a changed list.
    pub(crate) fn deliver_list(&self, list: ChangedList, user: Option<&Principal>) {
        let Some(name) = notification(list) else {
            return;
        };
        for session in self.sessions() {
            let is_of_user = user.is_none() || session.principal() == user;
            if is_of_user && session.announces(name) {
                session.notify(name, None, Delivery::Always);
            }
        }
        let subscriptions: Vec<_> = lock(&self.subscriptions).open.values().cloned().collect();
        for subscription in subscriptions {
            let is_of_user = user.is_none() || subscription.client.principal.as_ref() == user;
            if is_of_user && subscription.lists.contains(name) {
                subscription.notify_list(name);
            }
        }
    }
}

/// A registered subscription; removed when dropped.
pub(crate) struct OpenChangeSubscription<'a> {
    changes: &'a Changes,
    key: u64,
}

impl Drop for OpenChangeSubscription<'_> {
    fn drop(&mut self) {
        lock(&self.changes.subscriptions).open.remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use mcp_protocol::{Call, CallError, Closed, Extras, MethodName};

    use super::*;

    /// The link of a client that has disconnected.
    #[derive(Debug)]
    struct ClosedLink;

    impl Link for ClosedLink {
        fn notify(&self, _: &str, _: Option<&[u8]>, _: Delivery) -> Result<(), Closed> {
            Err(Closed::local())
        }

        fn request_with(&self, _: MethodName, _: Option<Vec<u8>>, _: Extras) -> Call {
            Call::failed(CallError::Closed(Closed::local()))
        }
    }

    fn subscription(client: Option<usize>) -> Arc<ChangeSubscription> {
        let principal = client.map(|client| Principal::new(client.to_string()));
        Arc::new(ChangeSubscription {
            id: 1.into(),
            client: Owner::new(principal, None),
            link: Arc::new(ClosedLink),
            lists: HashSet::new(),
            early: Mutex::default(),
        })
    }

    #[test]
    fn each_subscribed_resource_is_kept_once_until_the_acknowledgement() {
        let subscription = subscription(None);
        *lock(&subscription.early) = Some(BTreeSet::new());
        let (first, second): (Arc<str>, Arc<str>) = ("bad://a".into(), "good://b".into());
        for number in 0..1_000 {
            subscription.notify_resource(&first, &format!("bad://a/{number}"));
        }
        subscription.notify_resource(&second, &second);
        subscription.notify_list(method::NOTIFICATIONS_TOOLS_LIST_CHANGED);
        let expected = [
            EarlyChange::List(method::NOTIFICATIONS_TOOLS_LIST_CHANGED),
            EarlyChange::Resource(first),
            EarlyChange::Resource(second),
        ];
        assert_eq!(*lock(&subscription.early), Some(BTreeSet::from(expected)));
    }

    #[test]
    fn subscriptions_are_limited_in_total_and_for_each_client() {
        let changes = Changes::default();
        let open = |client| changes.open(&subscription(client));
        let mut opened: Vec<_> = (0..MAX_SUBSCRIPTIONS_PER_CLIENT)
            .map(|_| open(Some(0)).unwrap())
            .collect();
        let refused = open(Some(0)).err().unwrap();
        assert!(refused.message.contains("this client has 128"), "{refused}");
        // The limit of one client does not apply to clients that cannot be distinguished.
        let others = MAX_SUBSCRIPTIONS - MAX_SUBSCRIPTIONS_PER_CLIENT;
        opened.extend((0..others).map(|_| open(None).unwrap()));
        let refused = open(None).err().unwrap();
        assert!(refused.message.contains("1024 subscriptions"), "{refused}");
        opened.pop();
        assert!(open(Some(1)).is_ok(), "a subscription has ended");
        assert!(changes.has_subscriptions());
        drop(opened);
        assert!(!changes.has_subscriptions());
    }
}
