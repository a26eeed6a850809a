//! Messages from the server, and the client's responses.

mod answers;
pub(crate) mod custom;
pub(crate) mod handlers;
pub(crate) mod roots;
pub(crate) mod tasks;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use mcp_jsonrpc::{Notification, ParseError, ParseErrorKind, Request, decode};
use mcp_protocol::middleware::Layers;
use mcp_protocol::{
    Closed, Deviation, Exchange, Inbound, Link, Payload, Reply, Revision, Tolerance, lock,
};
use mcp_types::v2026_07_28::{
    CancelledNotificationParams, SubscriptionsAcknowledgedNotificationParams,
};
use mcp_types::{
    ClientCapabilities, Implementation, RequestId, ResourceUpdatedNotificationParams, Root,
    SUBSCRIPTION_ID_KEY, method,
};
use tokio::sync::Semaphore;

use crate::cache::Cache;
use crate::changes::listener::SubscriptionListener;
use crate::changes::table::Subscriptions;
use crate::request::member;
use crate::request::progress::ProgressTable;
use crate::task_status::watch::StatusWatchers;
use crate::tolerant::log_message;
use answers::MAX_INPUT_REQUESTS;
use custom::Declared;
use handlers::{ChangedList, Handlers};
use tasks::{ServerTasks, TaskLimits};

/// The receiver of the messages that the server sends to the client.
pub(crate) struct ClientInbound {
    handlers: Handlers,
    capabilities: ClientCapabilities,
    roots: Mutex<Vec<Root>>,
    progress: Arc<ProgressTable>,
    subscriptions: Arc<Subscriptions>,
    pub(crate) listener: Arc<SubscriptionListener>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) tasks: StatusWatchers,
    agreed: OnceLock<(Revision, Implementation)>,
    declared: OnceLock<Declared>,
    tolerance: Arc<Tolerance>,
    /// Limits the number of running handlers.
    permits: Arc<Semaphore>,
    urls: Arc<Mutex<HashSet<String>>>,
    /// The tasks that the server has created at the client; `None` if tasks are disabled.
    server_tasks: Option<Arc<ServerTasks>>,
    /// The middleware for input requests. All other messages pass through the middleware in the transport.
    layers: Option<Layers>,
    this: Weak<Self>,
}

impl ClientInbound {
    pub(crate) fn new(
        handlers: Handlers,
        capabilities: ClientCapabilities,
        roots: Vec<Root>,
        progress: Arc<ProgressTable>,
        cache: Cache,
        tasks: Option<TaskLimits>,
        tolerance: Arc<Tolerance>,
    ) -> Arc<Self> {
        let subscriptions = Arc::<Subscriptions>::default();
        let on_end = handlers.changes_ended.clone();
        let listener = SubscriptionListener::new(Arc::clone(&subscriptions), on_end);
        Arc::new_cyclic(|this| Self {
            layers: handlers.custom.layers(),
            this: Weak::clone(this),
            tolerance,
            handlers,
            capabilities,
            roots: Mutex::new(roots),
            progress,
            listener: Arc::new(listener),
            subscriptions,
            cache: Arc::new(cache),
            tasks: StatusWatchers::default(),
            agreed: OnceLock::new(),
            declared: OnceLock::new(),
            permits: Arc::new(Semaphore::new(MAX_INPUT_REQUESTS)),
            urls: Arc::default(),
            server_tasks: tasks.map(|limits| Arc::new(ServerTasks::new(limits))),
        })
    }

    /// Sets the negotiated revision, and the name and extensions of the server. From now on, the client answers server requests.
    pub(crate) fn agree(&self, revision: Revision, server: Implementation, extensions: Declared) {
        // If the value is already set, a second handshake has occurred, which is reported below.
        let _ = self.declared.set(extensions);
        if self.agreed.set((revision, server)).is_err() {
            tracing::error!("a second handshake on one connection");
        }
    }

    pub(crate) fn subscriptions(&self) -> &Arc<Subscriptions> {
        &self.subscriptions
    }

    /// Returns whether there is a callback for list changes.
    pub(crate) fn wants_changes(&self) -> bool {
        self.handlers.changed.is_some()
    }

    /// Replaces the roots. Returns `false` if the client did not declare roots.
    pub(crate) fn set_roots(&self, roots: Vec<Root>) -> bool {
        *lock(&self.roots) = roots;
        self.capabilities.roots.is_some()
    }

    /// Returns the extensions that the server declared.
    fn declared(&self) -> &Declared {
        self.declared.get().unwrap_or(&None)
    }

    fn is_stateless(&self) -> bool {
        let agreed = self.agreed.get();
        agreed.is_some_and(|(revision, _)| revision.is_stateless())
    }

    /// Returns the reply to a request about tasks, or to a request that becomes a task. Returns `None` for all other requests,
    /// and if tasks are disabled.
    fn as_task(&self, request: &Request<'_>) -> Option<Reply> {
        let server_tasks = self.server_tasks.as_ref()?;
        let (revision, _) = self.agreed.get()?;
        if !revision.rules().tasks {
            return None;
        }
        let method = &*request.method;
        if let Some(reply) = server_tasks.request(method, request.params) {
            return Some(reply);
        }
        if !matches!(
            method,
            method::ELICITATION_CREATE | method::SAMPLING_CREATE_MESSAGE
        ) {
            return None;
        }
        let params = request.params.unwrap_or("{}");
        let wanted = member(params, "task")?;
        let start = || self.answer_now(method, request.params);
        Some(Reply::Ready(
            server_tasks.create(method, params, wanted, start),
        ))
    }

    fn log(&self, text: &str) {
        match (log_message(text, &self.tolerance), &self.handlers.log) {
            (Ok(params), Some(log)) => log(params),
            (Ok(_), None) => {}
            (Err(error), _) => tracing::debug!(%error, "ignored a malformed log message"),
        }
    }

    fn elicitation_complete(&self, text: &str) {
        let params = decode::<mcp_types::ElicitationCompleteNotificationParams>(text);
        if let (Ok(params), Some(done)) = (params, &self.handlers.url_done)
            && lock(&self.urls).remove(&params.elicitation_id)
        {
            done(params.elicitation_id);
        }
    }

    /// Handles a change notification. On the stateless revision, ignores a notification that does not belong to a subscription.
    fn change(&self, method: &str, text: &str) {
        if self.is_stateless() && !self.listener.is_open(subscription(text).as_ref()) {
            tracing::debug!(method, "dropped a notification without a subscription");
            return;
        }
        let (changed, lists): (_, &[&str]) = match method {
            method::NOTIFICATIONS_RESOURCES_UPDATED => {
                if let Ok(params) = decode::<ResourceUpdatedNotificationParams>(text) {
                    self.cache.forget_resource(&params.uri);
                    self.subscriptions.updated(&params.uri);
                }
                return;
            }
            method::NOTIFICATIONS_TOOLS_LIST_CHANGED => (ChangedList::Tools, &[method::TOOLS_LIST]),
            method::NOTIFICATIONS_PROMPTS_LIST_CHANGED => {
                (ChangedList::Prompts, &[method::PROMPTS_LIST])
            }
            method::NOTIFICATIONS_RESOURCES_LIST_CHANGED => (
                ChangedList::Resources,
                &[method::RESOURCES_LIST, method::RESOURCES_TEMPLATES_LIST],
            ),
            _ => return,
        };
        self.cache.forget(lists);
        if let Some(callback) = &self.handlers.changed {
            callback(changed);
        }
    }

    fn acknowledged(&self, text: &str) {
        let params = decode::<SubscriptionsAcknowledgedNotificationParams>(text);
        match (params, subscription(text)) {
            (Ok(params), Some(id)) => self.listener.on_acknowledged(&id, &params.notifications),
            (Err(error), _) => tracing::debug!(%error, "ignored a malformed acknowledgement"),
            (Ok(_), None) => tracing::debug!("ignored an acknowledgement without a subscription"),
        }
    }
}

fn subscription(params: &str) -> Option<RequestId> {
    let id = member(member(params, "_meta")?, SUBSCRIPTION_ID_KEY)?;
    decode(id).ok()
}

impl Inbound for ClientInbound {
    fn opened(&self, link: Weak<dyn Link>) {
        if let Some(server_tasks) = &self.server_tasks {
            server_tasks.opened(link);
        }
    }

    fn request(&self, request: &Request<'_>, _exchange: Exchange) -> Reply {
        if request.method == method::PING {
            return Reply::ok(Payload::Empty);
        }
        if let Some(reply) = self.as_task(request) {
            return reply;
        }
        self.answer_now(&request.method, request.params)
            .unwrap_or_else(Reply::error)
    }

    fn notification(&self, notification: &Notification<'_>) {
        let text = notification.params.unwrap_or("{}");
        match &*notification.method {
            method::NOTIFICATIONS_PROGRESS => match decode(text) {
                Ok(params) => self.progress.deliver(params),
                Err(error) => tracing::debug!(%error, "ignored malformed progress"),
            },
            method::NOTIFICATIONS_MESSAGE => self.log(text),
            method::NOTIFICATIONS_TASKS_STATUS => {
                self.tasks.notify(method::NOTIFICATIONS_TASKS_STATUS, text);
            }
            method::NOTIFICATIONS_ELICITATION_COMPLETE => self.elicitation_complete(text),
            method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED => self.acknowledged(text),
            // Here, the server can cancel only subscriptions. The transport handles the cancellation of server requests.
            method::NOTIFICATIONS_CANCELLED => {
                if let Ok(params) = decode::<CancelledNotificationParams>(text) {
                    self.listener.on_cancelled(&params.request_id);
                }
            }
            other if self.notify_custom(other, text) => {}
            other => self.change(other, text),
        }
    }

    /// Returns whether the client answers server requests: `false` on the stateless revision, which has no server requests.
    fn answers(&self) -> bool {
        !self.is_stateless()
    }

    /// Returns `true` until the negotiation has ended. Until then, only the probe or `initialize` is in flight, so an error
    /// without an id belongs to this request.
    fn takes_errors_without_id(&self) -> bool {
        self.agreed.get().is_none()
    }

    fn accepts_batches(&self) -> bool {
        self.agreed
            .get()
            .is_some_and(|(revision, _)| revision.rules().batches)
    }

    /// Returns whether an unreadable frame gets an error response. Text that is not JSON gets no response: a server program has
    /// printed it to stdout, and the transport counts it as a stray line. A message without an id gets no response on revisions
    /// whose errors need an id. An array always gets a response, because JSON-RPC requires it.
    fn unreadable(&self, frame: &[u8], error: &ParseError) -> bool {
        let agreed = self.agreed.get();
        let is_output = error.kind() == ParseErrorKind::Syntax && error.may_be_response();
        error.id().is_some() && !is_output
            || !matches!(
                error.kind(),
                ParseErrorKind::Syntax | ParseErrorKind::TooLong
            ) && (frame.trim_ascii_start().starts_with(b"[")
                || agreed.is_none_or(|(revision, _)| revision.rules().error_without_id))
    }

    fn tolerates(&self, deviation: Deviation, detail: &str) -> bool {
        self.tolerance.admits(deviation, detail)
    }

    fn closed(&self, reason: &Closed) {
        tracing::debug!(%reason, "connection ended");
        self.subscriptions.close();
        self.listener.close();
        if let Some(server_tasks) = &self.server_tasks {
            server_tasks.close();
        }
    }
}
