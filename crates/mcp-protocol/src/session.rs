//! The session a client opens with `initialize`: its state, and the server's side of it.
//!
//! Specification: [lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle).

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use mcp_jsonrpc::{ErrorObject, Notification, ParseError, Request, decode};
use mcp_types::{
    ClientCapabilities, Implementation, InitializeRequestParams, InitializeResult, ListRootsResult,
    LoggingLevel, ServerCapabilities, method,
};

use crate::bucket::Bucket;
use crate::gate::Offers;
use crate::modern::{self, Claim, Desk, Envelope, Headers, Sender};
use crate::task::Task;
use crate::{
    Closed, Delivery, Exchange, Inbound, Link, Payload, Principal, Reply, RequestContext, Revision,
    ServerFacts, Service, gate, lock, lower,
};

/// Resource subscriptions one session may hold.
const MAX_SUBSCRIPTIONS: usize = 1_024;

/// Log messages a session may send at once, and then each second.
const LOG_BURST: f64 = 500.0;
const LOG_PER_SECOND: f64 = 100.0;

/// Requests about tasks that a session may make at once, and then each second.
const TASK_BURST: f64 = 200.0;
const TASKS_PER_SECOND: f64 = 50.0;

const NEW: u8 = 0;
const ANSWERED: u8 = 1;
const OPEN: u8 = 2;
const ENDED: u8 = 3;

/// What is known of one session: the client, the agreed revision, its subscriptions.
pub struct Session {
    link: OnceLock<Weak<dyn Link>>,
    phase: AtomicU8,
    agreed: OnceLock<Agreed>,
    /// The least serious message to send; `None` for none at all.
    log_level: Mutex<Option<LoggingLevel>>,
    log_pace: Bucket,
    task_pace: Bucket,
    roots: Mutex<Roots>,
    subscriptions: Mutex<HashSet<String>>,
}

/// What the client last said of its roots, and how often that changed.
#[derive(Debug, Default)]
struct Roots {
    known: Option<ListRootsResult>,
    changes: u64,
}

#[derive(Debug)]
struct Agreed {
    revision: Revision,
    /// `None` for clients that say nothing of themselves: sessions are many.
    sender: Option<Arc<Sender>>,
    principal: Option<Principal>,
    offers: Offers,
}

impl Session {
    fn new() -> Self {
        Self {
            link: OnceLock::new(),
            phase: AtomicU8::new(NEW),
            agreed: OnceLock::new(),
            log_level: Mutex::new(Some(LoggingLevel::Info)),
            log_pace: Bucket::new(LOG_BURST, LOG_PER_SECOND),
            task_pace: Bucket::new(TASK_BURST, TASKS_PER_SECOND),
            roots: Mutex::default(),
            subscriptions: Mutex::default(),
        }
    }

    /// What one request says that belongs to no session: it is a session of its own, open from
    /// the start and gone with the request.
    pub(crate) fn of_request(
        envelope: Envelope,
        offers: Offers,
        principal: Option<Principal>,
    ) -> Arc<Self> {
        let agreed = Agreed {
            revision: envelope.revision,
            sender: Some(envelope.sender),
            principal,
            offers,
        };
        Arc::new(Self {
            phase: AtomicU8::new(OPEN),
            agreed: OnceLock::from(agreed),
            log_level: Mutex::new(envelope.log_level),
            ..Self::new()
        })
    }

    /// The session of a call that outlives its request, made again from what was kept of it. It
    /// leads to nobody.
    pub fn of_task(task: &Task) -> Arc<Self> {
        let call = task.call();
        let sender = Sender {
            client: call.client.clone(),
            capabilities: call.capabilities.clone(),
        };
        let envelope = Envelope {
            revision: call.revision,
            sender: Arc::new(sender),
            log_level: call.log_level,
        };
        let offers = Offers::of(&ServerCapabilities::default());
        Self::of_request(envelope, offers, task.owner().cloned())
    }

    /// The agreed revision; the newest with a handshake before there is one.
    pub fn revision(&self) -> Revision {
        self.agreed
            .get()
            .map_or(Revision::LATEST_LEGACY, |agreed| agreed.revision)
    }

    /// Who the client says it is.
    pub fn client(&self) -> Option<&Implementation> {
        self.agreed.get()?.sender.as_ref()?.client.as_ref()
    }

    /// On whose behalf it was opened, if that was verified; in revisions without sessions, on
    /// whose behalf the request came. `None` where a session serves everybody.
    pub fn principal(&self) -> Option<&Principal> {
        self.agreed.get()?.principal.as_ref()
    }

    /// What the client declared it can do.
    pub fn client_capabilities(&self) -> Option<&ClientCapabilities> {
        static NOTHING: LazyLock<ClientCapabilities> = LazyLock::new(ClientCapabilities::default);
        let sender = self.agreed.get()?.sender.as_ref();
        Some(sender.map_or(&NOTHING, |sender| &sender.capabilities))
    }

    /// Whether the handshake is complete and the session has not ended.
    pub fn is_open(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OPEN
    }

    /// Whether the handshake announced that this list-changed notification may come.
    pub fn announces(&self, method: &str) -> bool {
        let agreed = self.agreed.get();
        agreed.is_some_and(|agreed| agreed.offers.announce(method))
    }

    /// Whether a log message of this level should be sent: logging is declared, the handshake
    /// was answered, the client did not ask for higher levels only, and there were not too many
    /// of late.
    pub fn admits_log(&self, level: LoggingLevel, now: Instant) -> bool {
        self.agreed
            .get()
            .is_some_and(|agreed| agreed.offers.logging())
            && lock(&self.log_level)
                .as_ref()
                .is_some_and(|least| level >= *least)
            && self.log_pace.take(now)
    }

    /// Whether another request about tasks is served: 50 a second are, after a first burst of 200.
    pub fn admits_task_request(&self, now: Instant) -> bool {
        self.task_pace.take(now)
    }

    /// The least serious log message the client wants; `None` for none at all.
    pub fn log_level(&self) -> Option<LoggingLevel> {
        *lock(&self.log_level)
    }

    /// Sets the lowest level the client wants to see.
    pub fn set_log_level(&self, level: LoggingLevel) {
        *lock(&self.log_level) = Some(level);
    }

    /// Subscribes to updates of a resource.
    ///
    /// # Errors
    /// The session holds as many subscriptions as it may.
    pub fn subscribe(&self, uri: &str) -> Result<(), ErrorObject> {
        let mut subscriptions = lock(&self.subscriptions);
        if subscriptions.len() >= MAX_SUBSCRIPTIONS && !subscriptions.contains(uri) {
            return Err(ErrorObject::internal(format!(
                "the session holds {MAX_SUBSCRIPTIONS} subscriptions, the limit; unsubscribe first"
            )));
        }
        subscriptions.insert(uri.to_owned());
        Ok(())
    }

    /// Ends a subscription; unknown ones are fine.
    pub fn unsubscribe(&self, uri: &str) {
        lock(&self.subscriptions).remove(uri);
    }

    /// Whether the client subscribed to this resource.
    pub fn is_subscribed(&self, uri: &str) -> bool {
        lock(&self.subscriptions).contains(uri)
    }

    /// The roots as the client last told them, if it promised to tell when they change; and a
    /// mark for [`remember_roots`](Self::remember_roots).
    pub(crate) fn known_roots(&self) -> (Option<ListRootsResult>, u64) {
        let roots = lock(&self.roots);
        (roots.known.clone(), roots.changes)
    }

    /// Keeps roots that were asked for at `mark`, unless they have changed since.
    pub(crate) fn remember_roots(&self, result: &ListRootsResult, mark: u64) {
        let announced = self
            .client_capabilities()
            .and_then(|capabilities| capabilities.roots.as_ref()?.list_changed);
        let mut roots = lock(&self.roots);
        if announced == Some(true) && roots.changes == mark {
            roots.known = Some(result.clone());
        }
    }

    fn forget_roots(&self) {
        let mut roots = lock(&self.roots);
        roots.known = None;
        roots.changes += 1;
    }

    /// Sends a notification outside any request. Nothing is sent before the handshake is
    /// complete or after the end.
    pub fn notify(&self, method: &str, params: Option<&[u8]>, delivery: Delivery) -> bool {
        self.is_open()
            && self
                .link()
                .is_some_and(|link| link.notify(method, params, delivery).is_ok())
    }

    /// The way to the client outside any request, while the connection lives.
    pub fn link(&self) -> Option<Arc<dyn Link>> {
        self.link.get().and_then(Weak::upgrade)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("phase", &self.phase)
            .field("agreed", &self.agreed)
            .finish_non_exhaustive()
    }
}

/// The server's side of one connection: handshake, gates, and then the [`Service`].
pub struct ServerSession {
    service: Arc<dyn Service>,
    session: Arc<Session>,
    desk: Desk,
    /// Nothing is kept from one request to the next.
    stateless: bool,
}

impl ServerSession {
    /// A session that waits for `initialize`.
    pub fn new(service: Arc<dyn Service>) -> Arc<Self> {
        Arc::new(Self {
            service,
            session: Arc::new(Session::new()),
            desk: Desk::new(),
            stateless: false,
        })
    }

    /// For transports that keep nothing between requests: any number of clients may share it.
    ///
    /// With a revision it is open and serves every request but `initialize`; without, it serves
    /// that one and is then done with. Whatever needs a memory of the client is not declared:
    /// log levels, subscriptions, list changes; and the client cannot be asked anything.
    pub fn stateless(service: Arc<dyn Service>, revision: Option<Revision>) -> Arc<Self> {
        let this = Self {
            service,
            session: Arc::new(Session::new()),
            desk: Desk::new(),
            stateless: true,
        };
        if let Some(revision) = revision {
            let agreed = Agreed {
                revision,
                sender: None,
                principal: None,
                offers: Offers::of(&this.facts().capabilities),
            };
            let fresh = this.session.agreed.set(agreed);
            debug_assert!(fresh.is_ok(), "the session was made here");
            this.session.phase.store(OPEN, Ordering::Release);
        }
        Arc::new(this)
    }

    /// What the service tells of itself, less what this kind of session cannot keep.
    fn facts(&self) -> ServerFacts {
        let mut facts = self.service.facts();
        if self.stateless {
            let capabilities = &mut facts.capabilities;
            capabilities.logging = None;
            if let Some(tasks) = &mut capabilities.tasks {
                tasks.list = None;
            }
            if let Some(tools) = &mut capabilities.tools {
                tools.list_changed = None;
            }
            if let Some(prompts) = &mut capabilities.prompts {
                prompts.list_changed = None;
            }
            if let Some(resources) = &mut capabilities.resources {
                resources.list_changed = None;
                resources.subscribe = None;
            }
        }
        facts
    }

    /// Whether the handshake's answer was given, so that the session can be used.
    pub fn is_agreed(&self) -> bool {
        self.session.agreed.get().is_some()
    }

    /// The state of the session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Whether a request that says of itself what it is gets served; over HTTP its headers are
    /// looked at too. Such requests belong to no session, so any session may serve them.
    ///
    /// # Errors
    /// The answer, if it is not served; [`mirror::status`](modern::mirror::status) tells the
    /// status that goes with it.
    pub fn admit(
        &self,
        request: &Request<'_>,
        claim: &Claim<'_>,
        headers: Option<&Headers<'_>>,
    ) -> Result<Envelope, ErrorObject> {
        self.desk.admit(&*self.service, request, claim, headers)
    }

    /// Serves a request that was [admitted](Self::admit).
    pub fn serve(&self, request: &Request<'_>, envelope: Envelope, exchange: Exchange) -> Reply {
        self.desk.serve(&*self.service, request, envelope, exchange)
    }

    /// Serves a request that says nothing of itself, so that it belongs to this session.
    pub fn answer(&self, request: &Request<'_>, exchange: Exchange) -> Reply {
        match &*request.method {
            method::PING => Reply::ok(Payload::Empty),
            method::INITIALIZE => self.initialize(request.params),
            method => match self.refusal(method) {
                Some(error) => Reply::error(error),
                None => self.service.request(
                    request,
                    RequestContext::new(exchange, Arc::clone(&self.session)),
                ),
            },
        }
    }

    fn initialize(&self, params: Option<&str>) -> Reply {
        if self.session.phase.load(Ordering::Acquire) != NEW {
            return Reply::error(ErrorObject::invalid_request(
                "the session is initialized already; open another one",
            ));
        }
        let params: InitializeRequestParams = match decode(params.unwrap_or("{}")) {
            Ok(params) => params,
            Err(error) => {
                return Reply::error(ErrorObject::invalid_params(format!(
                    "invalid initialize params: {error}"
                )));
            }
        };
        let mut facts = self.facts();
        let link = self.session.link();
        // basic/utilities/tasks#isolation: nothing is listed where everybody is the same to us.
        let told_apart = link
            .as_ref()
            .is_some_and(|link| link.is_local() || link.principal().is_some());
        if let (false, Some(tasks)) = (told_apart, &mut facts.capabilities.tasks) {
            tasks.list = None;
        }
        let requested = &params.protocol_version;
        let Some(revision) = Revision::negotiate(requested, &facts.revisions) else {
            return Reply::error(modern::unsupported(requested, &facts.revisions));
        };
        let offers = Offers::of(&facts.capabilities);
        let mut result = InitializeResult::new(revision.as_str(), facts.capabilities, facts.info);
        result.instructions = facts.instructions;
        lower::initialize_result(&mut result, revision.rules());
        let agreed = Agreed {
            revision,
            sender: Some(Arc::new(Sender {
                client: Some(params.client_info),
                capabilities: params.capabilities,
            })),
            principal: link.and_then(|link| link.principal().cloned()),
            offers,
        };
        if self.session.agreed.set(agreed).is_err() {
            return Reply::error(ErrorObject::internal("the session is initialized already"));
        }
        self.session.phase.store(ANSWERED, Ordering::Release);
        Reply::ok(Payload::of(result))
    }

    /// Why a request cannot be served, if it cannot.
    fn refusal(&self, method: &str) -> Option<ErrorObject> {
        let Some(agreed) = self.session.agreed.get() else {
            let served = self.service.facts().revisions;
            if served.iter().any(|it| it.is_modern()) {
                return Some(modern::unclaimed(&served));
            }
            return Some(ErrorObject::invalid_request(format!(
                "send initialize first; {:?} came before it",
                method.chars().take(128).collect::<String>()
            )));
        };
        let rules = agreed.revision.rules();
        if !gate::server_handles(method, rules) {
            return Some(ErrorObject::method_not_found(method));
        }
        agreed.offers.serve(method, rules).err().map(|missing| {
            ErrorObject::new(
                mcp_jsonrpc::ErrorCode::METHOD_NOT_FOUND,
                format!("method {method:?} is not available: {missing}"),
            )
        })
    }
}

impl Inbound for ServerSession {
    fn opened(&self, link: Weak<dyn Link>) {
        // A second pipe under one session cannot be: each gets a session of its own.
        let _ = self.session.link.set(link);
    }

    fn request(&self, request: &Request<'_>, exchange: Exchange) -> Reply {
        let Some(claim) = Claim::of(request) else {
            return self.answer(request, exchange);
        };
        match self.admit(request, &claim, None) {
            Ok(envelope) => self.serve(request, envelope, exchange),
            Err(error) => Reply::error(error),
        }
    }

    fn notification(&self, notification: &Notification<'_>) {
        if notification.method == method::NOTIFICATIONS_INITIALIZED {
            let opened = self.session.phase.compare_exchange(
                ANSWERED,
                OPEN,
                Ordering::AcqRel,
                Ordering::Acquire,
            );
            if opened.is_ok() {
                self.service.opened(&self.session);
            }
        } else if self.session.is_open() {
            if notification.method == method::NOTIFICATIONS_ROOTS_LIST_CHANGED {
                self.session.forget_roots();
            }
            self.service.notification(notification, &self.session);
        }
    }

    fn accepts_batches(&self) -> bool {
        let agreed = self.session.agreed.get();
        agreed.is_some_and(|agreed| agreed.revision.rules().batches)
    }

    /// Before 2025-11-25 every error answer has an id, except those to arrays, which JSON-RPC
    /// itself demands.
    fn unreadable(&self, frame: &[u8], error: &ParseError) -> bool {
        tracing::debug!(%error, "a frame is no message");
        let agreed = self.session.agreed.get();
        error.id().is_some()
            || frame.trim_ascii_start().starts_with(b"[")
            || agreed.is_none_or(|agreed| agreed.revision.rules().error_without_id)
    }

    fn deadline(&self) -> Option<Duration> {
        self.service.deadline()
    }

    fn closed(&self, reason: &Closed) {
        tracing::debug!(%reason, "session ended");
        self.session.phase.store(ENDED, Ordering::Release);
        lock(&self.session.subscriptions).clear();
        self.service.closed(&self.session);
    }
}

impl fmt::Debug for ServerSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerSession").field(&self.session).finish()
    }
}
