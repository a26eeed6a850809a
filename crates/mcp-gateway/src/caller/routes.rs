//! The running calls of a connection, and the rules for finding the call that a server message belongs to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use mcp_jsonrpc::{Notification, RawJson, decode};
use mcp_protocol::{Delivery, Owner, Reply, Session, gate, lock};
use mcp_types::{LoggingLevel, method};
use tokio::time::Instant;

use super::{Caller, MayNotify, Subscribed, ask_on, check, no_client};
use crate::debounce::Debounce;
use crate::text::{ObjectText, member, string};

/// The running calls of a connection, by the progress token that the gateway gives the server.
pub(crate) struct Routes {
    /// The session that alone uses this connection; `None` if the calls of several clients use it.
    owner: Option<Weak<Session>>,
    /// The resources to which the client of the owner session has subscribed.
    pub(crate) subscribed: Option<Subscribed>,
    calls: Mutex<Calls>,
    debounce: Arc<Debounce>,
}

#[derive(Default)]
struct Calls {
    last: i64,
    by_token: BTreeMap<i64, Arc<Caller>>,
    clients: Clients,
}

impl Routes {
    /// Creates the routes of a connection. `owner` is the session that alone uses it; `None` if the calls of any client can use
    /// it.
    pub(crate) fn new(owner: Option<(&Arc<Session>, MayNotify)>) -> Arc<Self> {
        let (owner, may_notify) = owner.unzip();
        Arc::new(Self {
            owner: owner.map(Arc::downgrade),
            subscribed: may_notify.map(Subscribed::new),
            calls: Mutex::default(),
            debounce: Arc::default(),
        })
    }

    /// Adds a call.
    pub(crate) fn add(self: &Arc<Self>, caller: &Arc<Caller>) -> RunningCall {
        let mut calls = lock(&self.calls);
        calls.last += 1;
        let token = calls.last;
        calls.by_token.insert(token, Arc::clone(caller));
        calls.clients.add(&caller.client);
        RunningCall {
            routes: Arc::clone(self),
            token,
        }
    }

    pub(crate) fn has_calls(&self) -> bool {
        !lock(&self.calls).by_token.is_empty()
    }

    /// Returns the URIs to which the session has subscribed.
    pub(crate) fn subscriptions(&self) -> Vec<String> {
        self.subscribed
            .as_ref()
            .map(Subscribed::uris)
            .unwrap_or_default()
    }

    /// Notifies the session that each subscribed resource has changed, because a resource may have changed while there was no
    /// subscription.
    pub(crate) fn update_all(&self) {
        let Some(subscribed) = &self.subscribed else {
            return;
        };
        for uri in subscribed.uris() {
            self.notify_changed(&uri);
        }
    }

    /// Notifies the session of a change of a resource, if the session has subscribed to the resource. Checks the rules again,
    /// because they may have changed since the subscription.
    pub(crate) fn notify_changed(&self, uri: &str) {
        let subscribed = self.subscribed.as_ref();
        if subscribed.is_some_and(|subscribed| subscribed.admits(uri)) {
            self.notify_updated(uri);
        }
    }

    fn session(&self) -> Option<Arc<Session>> {
        self.owner.as_ref()?.upgrade()
    }

    /// Returns the call to which a message without a progress token belongs; `None` if this cannot be known. While the response
    /// of a call is being read, returns this call. Otherwise, on the connection of a session, returns the newest call, because
    /// all calls are from one client. On any other connection, the message can belong to an earlier call, because a server may
    /// send messages for a call after its response. The call is then known only if it is the only running call, and no other
    /// client has ever used the connection.
    fn call_of_message(&self) -> Option<Arc<Caller>> {
        let calls = lock(&self.calls);
        if let Some(token) = self.token_in_progress() {
            return calls.by_token.get(&token).cloned();
        }
        let (_, newest) = calls.by_token.last_key_value()?;
        let is_certain = self.owner.is_some()
            || calls.by_token.len() == 1 && !matches!(calls.clients, Clients::Several);
        is_certain.then(|| Arc::clone(newest))
    }

    /// Returns the token of a call if the current task is reading a message in the response of this call. Otherwise, returns
    /// `None`.
    fn token_in_progress(&self) -> Option<i64> {
        let (routes, token) = READING.try_with(|reading| *reading).ok()?;
        (routes == std::ptr::from_ref(self).addr()).then_some(token)
    }

    /// Passes a server request to the client of its call. If the call is not known, passes the request to the client of the
    /// session.
    pub(crate) fn ask(&self, name: &'static str, params: Option<&str>) -> Reply {
        let asked = match (self.call_of_message(), self.session()) {
            (Some(caller), _) => caller.ask(name, params),
            (None, Some(session)) => check(&session, name).and_then(|()| {
                let link = session.link().ok_or_else(|| no_client(name))?;
                Ok(ask_on(&link, name, params.map(RawJson::copy)))
            }),
            (None, None) => Err(no_client(name)),
        };
        asked.unwrap_or_else(Reply::error)
    }

    /// Passes a notification of the server to the client of its call, or to the session.
    pub(crate) fn notify(&self, notification: &Notification<'_>) {
        let (name, params) = (&*notification.method, notification.params);
        match name {
            method::NOTIFICATIONS_PROGRESS => {
                let token = params.and_then(|params| member(params, "progressToken"));
                let token: Option<i64> = token.and_then(|token| decode(token).ok());
                let caller =
                    token.and_then(|token| lock(&self.calls).by_token.get(&token).cloned());
                if let Some(caller) = caller {
                    caller.notify(name, params);
                }
            }
            method::NOTIFICATIONS_MESSAGE => self.log(params),
            method::NOTIFICATIONS_RESOURCES_UPDATED => self.updated(params),
            method::NOTIFICATIONS_CANCELLED
            | method::NOTIFICATIONS_TASKS
            | method::NOTIFICATIONS_TASKS_STATUS
            | method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED => {}
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED
            | method::NOTIFICATIONS_PROMPTS_LIST_CHANGED
            | method::NOTIFICATIONS_RESOURCES_LIST_CHANGED => {
                let (Some(name), Some(owner)) = (gate::core_method(name), &self.owner) else {
                    return;
                };
                let owner = Weak::clone(owner);
                self.debounce.run(name, move || {
                    let session = owner.upgrade();
                    if let Some(session) = session.filter(|session| session.announces(name)) {
                        session.notify(name, None, Delivery::Always);
                    }
                    std::future::ready(())
                });
            }
            _ => {
                if let Some(session) = self.session() {
                    session.notify(name, params.map(str::as_bytes), Delivery::Lossy);
                }
            }
        }
    }

    /// Notifies the session that a subscribed resource has changed.
    fn updated(&self, params: Option<&str>) {
        let uri = params.and_then(|params| member(params, "uri"));
        let uri: Option<String> = uri.and_then(|uri| decode(uri).ok());
        let (Some(uri), Some(subscribed)) = (uri, &self.subscribed) else {
            return;
        };
        if !subscribed.admits(&uri) {
            tracing::debug!(
                "an update was dropped: the client has not subscribed to the resource, or may not use it"
            );
            return;
        }
        // The notification is written anew, so that the client reads the URI that was checked.
        self.notify_updated(&uri);
    }

    fn notify_updated(&self, uri: &str) {
        let Some(session) = self.session() else {
            return;
        };
        let mut params = ObjectText::new();
        params.add("uri", &string(uri));
        let name = method::NOTIFICATIONS_RESOURCES_UPDATED;
        session.notify(name, Some(params.finish().as_bytes()), Delivery::Lossy);
    }

    /// Passes a log message to the client of its call, or to the session. Without a session, drops the message if its call is not
    /// known.
    fn log(&self, params: Option<&str>) {
        let name = method::NOTIFICATIONS_MESSAGE;
        if let Some(session) = self.session() {
            match self.call_of_message() {
                Some(caller) => caller.notify(name, params),
                None => {
                    session.notify(name, params.map(str::as_bytes), Delivery::Lossy);
                }
            }
            return;
        }
        let Some(caller) = self.call_of_message() else {
            tracing::debug!("a log message was dropped because it can belong to several calls");
            return;
        };
        let level = params.and_then(|params| member(params, "level"));
        let level: Option<LoggingLevel> = level.and_then(|level| decode(level).ok());
        if level.is_some_and(|level| caller.session.admits_log(level, Instant::now().into_std())) {
            caller.notify(name, params);
        }
    }
}

tokio::task_local! {
    /// The response that this task reads: the address of the [`Routes`] in memory, and the token of the call.
    static READING: (usize, i64);
}

/// The clients whose calls have used a connection.
#[derive(Default)]
enum Clients {
    #[default]
    None,
    One(Owner),
    Several,
}

impl Clients {
    fn add(&mut self, client: &Owner) {
        *self = match self {
            Self::None => Self::One(client.clone()),
            Self::One(other) if other == client => return,
            _ => Self::Several,
        };
    }
}

/// The entry of a running call in [`Routes`]; removed on drop.
pub(crate) struct RunningCall {
    routes: Arc<Routes>,
    pub(crate) token: i64,
}

impl RunningCall {
    /// Waits for the response of the server.
    pub(crate) async fn response<T>(&self, sent: impl Future<Output = T>) -> T {
        let reading = (Arc::as_ptr(&self.routes).addr(), self.token);
        READING.scope(reading, sent).await
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        lock(&self.routes.calls).by_token.remove(&self.token);
    }
}
