//! Notifications about changes, for the clients of the gateway.

use std::collections::{BTreeMap, HashSet};
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

/// Decides whether a client may be notified of a change. The arguments are the name of the server's mount, the URI to which the
/// client has subscribed, and the URI of the changed resource.
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

/// Maximum number of different notifications that are kept until a subscription is acknowledged. Further notifications are
/// dropped.
const MAX_UNSENT: usize = 128;
/// Maximum total size of the URIs of these notifications, in bytes. Further notifications are dropped.
const MAX_UNSENT_BYTES: usize = 64 << 10;

/// The `subscriptions/listen` request of a client of the stateless revision.
pub(crate) struct ChangeSubscription {
    pub(crate) id: RequestId,
    pub(crate) client: Owner,
    pub(crate) link: Arc<dyn Link>,
    /// The list changes that the subscription includes.
    pub(crate) lists: HashSet<&'static str>,
    /// The notifications before the acknowledgement, which must be the first message. `None` after the acknowledgement.
    early: Mutex<Option<Vec<(&'static str, JsonObject)>>>,
}

impl ChangeSubscription {
    /// Creates the subscription of a request that is not acknowledged yet.
    pub(crate) fn new(context: &RequestContext, lists: HashSet<&'static str>) -> Self {
        Self {
            id: context.exchange().id().clone(),
            client: context.owner(),
            link: context.link(),
            lists,
            early: Mutex::new(Some(Vec::new())),
        }
    }

    /// Sends a notification. Before the acknowledgement, keeps the notification instead, unless an equal notification is
    /// already kept.
    pub(crate) fn notify(&self, method: &'static str, params: JsonObject) {
        let mut early = lock(&self.early);
        let Some(early) = &mut *early else {
            self.send(method, params);
            return;
        };
        let unsent = early.iter().map(|(_, params)| text_bytes(params));
        let fits = unsent.sum::<usize>() + text_bytes(&params) <= MAX_UNSENT_BYTES;
        let notification = (method, params);
        if fits && early.len() < MAX_UNSENT && !early.contains(&notification) {
            early.push(notification);
        }
    }

    /// Sends the acknowledgement, and then the notifications that were kept.
    pub(crate) fn acknowledge(&self, params: JsonObject) {
        let mut early = lock(&self.early);
        self.send(method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED, params);
        for (method, params) in early.take().into_iter().flatten() {
            self.send(method, params);
        }
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

/// Returns the total size of the texts in the params of a notification, in bytes.
fn text_bytes(params: &JsonObject) -> usize {
    params
        .values()
        .filter_map(Value::as_str)
        .map(str::len)
        .sum()
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
                subscription.notify(name, JsonObject::new());
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
    fn notifications_before_the_acknowledgement_are_limited_in_number_and_size() {
        for (length, kept) in [(1, MAX_UNSENT), (8 << 10, 8)] {
            let subscription = subscription(None);
            *lock(&subscription.early) = Some(Vec::new());
            for number in 0..2 * MAX_UNSENT {
                let uri = format!("{number:0>length$}");
                let params = JsonObject::from_iter([("uri".to_owned(), json!(uri))]);
                for _ in 0..2 {
                    subscription.notify("notifications/resources/updated", params.clone());
                }
            }
            let early = lock(&subscription.early);
            assert_eq!(early.as_ref().map(Vec::len), Some(kept), "{length}");
        }
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
        // Clients that cannot be distinguished have no limit of their own.
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
