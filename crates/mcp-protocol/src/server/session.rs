//! The server side of a connection: handshake, capability checks, and calls of the [`Service`].

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, Notification, ParseError, Request, decode, quote};
use mcp_types::{InitializeRequestParams, InitializeResult, method};

use super::layered::Layered;
use super::readiness;
use super::stateless::StatelessServer;
use crate::gate::Offers;
use crate::middleware::{Discarded, LayeredLink, Receive, Role};
use crate::modern::{self, ClientIdentity, RawRequestMeta, RequestMeta, StandardHeaders};
use crate::session::{ANSWERED, Agreed, ENDED, NEW, OPEN, Session, SessionState, Subscriptions};
use crate::sync::lock;
use crate::{
    Closed, Deviation, Exchange, Inbound, Link, Owner, Payload, Reply, RequestContext, Revision,
    ServerFacts, Service, downgrade, gate, tolerance,
};

/// The server side of one connection: the handshake and the capability checks before a [`Service`].
pub struct ServerSession {
    service: Arc<dyn Service>,
    session: Arc<Session>,
    stateless_server: StatelessServer,
    /// Whether the transport keeps no state between requests.
    stateless: bool,
    layered: Option<Layered>,
}

impl Receive for ServerSession {
    fn receive(
        &self,
        request: &Request<'_>,
        exchange: Exchange,
        meta: Option<RequestMeta>,
    ) -> Reply {
        match meta {
            Some(meta) => self.serve_now(request, meta, exchange),
            None => self.answer_now(request, exchange),
        }
    }
}

impl ServerSession {
    /// Creates a session that waits for `initialize`.
    pub fn new(service: Arc<dyn Service>) -> Arc<Self> {
        Self::create(service, false)
    }

    fn create(service: Arc<dyn Service>, stateless: bool) -> Arc<Self> {
        let session = Session::new();
        // The session is new, so its budget is not set yet.
        let _ = session.budget.set(service.subscription_budget());
        Arc::new_cyclic(|this| Self {
            layered: service
                .layers()
                .map(|layers| Layered::new(layers, Weak::clone(this))),
            service,
            session: Arc::new(session),
            stateless_server: StatelessServer::new(),
            stateless,
        })
    }

    /// Creates a session for a transport that keeps no state between requests. Any number of clients
    /// may share it.
    ///
    /// If `revision` is set, the session is open and handles every request except `initialize`. If it is `None`, the session
    /// handles only `initialize`. The session does not declare features that need state per client: log levels, subscriptions,
    /// list changes. It sends no requests to the client.
    pub fn stateless(service: Arc<dyn Service>, revision: Option<Revision>) -> Arc<Self> {
        let this = Self::create(service, true);
        if let Some(revision) = revision {
            let facts = this.facts();
            let agreed = Agreed {
                revision,
                client: None,
                principal: None,
                offers: Offers::of(&facts.capabilities),
                tolerance: facts.tolerance,
            };
            let fresh = this.session.agreed.set(agreed);
            debug_assert!(fresh.is_ok(), "a new session has no negotiated revision");
            this.session.phase.store(OPEN, Ordering::Release);
            this.set_layered_revision(revision);
        }
        this
    }

    /// Creates a session that was initialized in another process. The memory of the session is charged to `owner`. The transport
    /// connects the session with [`Inbound::opened`] and then calls [`reopen`](Self::reopen).
    ///
    /// # Errors
    /// The server does not support the revision, or the subscriptions of the session exceed a limit.
    #[doc(hidden)]
    pub fn restore(
        service: Arc<dyn Service>,
        state: &SessionState,
        owner: Owner,
    ) -> Result<Arc<Self>, ErrorObject> {
        let this = Self::create(service, false);
        let mut facts = this.facts();
        if !facts.revisions.contains(&state.revision) {
            return Err(modern::unsupported_version(
                state.revision.as_str(),
                &facts.revisions,
            ));
        }
        this.session.restore(state, &owner)?;
        let principal = owner.principal;
        hide_task_list(&mut facts, principal.is_some());
        let agreed = Agreed {
            revision: state.revision,
            client: Some(Arc::clone(&state.client)),
            principal,
            offers: Offers::of(&facts.capabilities),
            tolerance: facts.tolerance,
        };
        let fresh = this.session.agreed.set(agreed);
        debug_assert!(fresh.is_ok(), "a new session has no negotiated revision");
        this.session.phase.store(ANSWERED, Ordering::Release);
        this.set_layered_revision(state.revision);
        Ok(this)
    }

    /// Continues a [restored](Self::restore) session, and notifies the middleware that the session was opened. If the client has
    /// already sent `notifications/initialized`, opens the session.
    #[doc(hidden)]
    pub fn reopen(&self, state: &SessionState) {
        if let Some(layered) = &self.layered {
            layered.open(state.revision);
        }
        if state.is_open {
            self.open();
        }
    }

    fn set_layered_revision(&self, revision: Revision) {
        if let Some(layered) = &self.layered {
            // A session negotiates one revision.
            let _ = layered.revision.set(revision);
        }
    }

    /// Returns the facts of the service, without the features that this session does not support.
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

    /// Returns whether `initialize` was answered. The session can then be used.
    pub fn is_agreed(&self) -> bool {
        self.session.agreed.get().is_some()
    }

    /// Returns the state of the session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Checks whether a request of the stateless revision may be handled. Over HTTP, also checks the headers of the request. Such
    /// a request does not belong to a session, so any session may handle it.
    ///
    /// # Errors
    /// The request is rejected; [`admission_status`](crate::http_headers::admission_status) returns
    /// the HTTP status of the error.
    pub fn admit(
        &self,
        request: &Request<'_>,
        request_meta: &RawRequestMeta<'_>,
        headers: Option<&StandardHeaders<'_>>,
    ) -> Result<RequestMeta, ErrorObject> {
        self.stateless_server
            .admit(&*self.service, request, request_meta, headers)
    }

    /// Handles a request that was [admitted](Self::admit).
    pub fn serve(&self, request: &Request<'_>, meta: RequestMeta, exchange: Exchange) -> Reply {
        match &self.layered {
            Some(layered) => layered.request(request, exchange, Some(meta)),
            None => self.serve_now(request, meta, exchange),
        }
    }

    fn serve_now(&self, request: &Request<'_>, meta: RequestMeta, exchange: Exchange) -> Reply {
        let layers = self.layered.as_ref().map(|layered| &layered.layers);
        self.stateless_server
            .serve(&*self.service, request, meta, exchange, layers)
    }

    /// Handles a request without request metadata, which belongs to this session.
    pub fn answer(&self, request: &Request<'_>, exchange: Exchange) -> Reply {
        match &self.layered {
            Some(layered) => layered.request(request, exchange, None),
            None => self.answer_now(request, exchange),
        }
    }

    fn answer_now(&self, request: &Request<'_>, exchange: Exchange) -> Reply {
        match &*request.method {
            method::PING => readiness::answer(&*self.service, request, Payload::Empty),
            method::INITIALIZE => self.initialize(request.params),
            method => match self.refusal(method) {
                Some(error) => Reply::error(error),
                None => {
                    self.open_late(method);
                    let mut context = RequestContext::new(exchange, Arc::clone(&self.session));
                    if let Some(layered) = &self.layered {
                        context.add_layers(&layered.layers);
                    }
                    self.service.request(request, context)
                }
            },
        }
    }

    fn initialize(&self, params: Option<&str>) -> Reply {
        if self.session.phase.load(Ordering::Acquire) != NEW {
            return Reply::error(already_initialized());
        }
        let params = params.unwrap_or("{}");
        if let Err(error) = modern::check_identity("the params of initialize", [params]) {
            return Reply::error(error);
        }
        let mut facts = self.facts();
        let read = decode(params).or_else(|error| {
            tolerance::repaired_initialize(params, &error, &facts.tolerance).ok_or(error)
        });
        let params: InitializeRequestParams = match read {
            Ok(params) => params,
            Err(error) => {
                return Reply::error(ErrorObject::invalid_params(format!(
                    "invalid initialize params: {error}"
                )));
            }
        };
        let link = self.session.link();
        let has_identity = link.as_ref().is_some_and(|link| {
            let origin = link.origin();
            origin.is_local() || origin.principal.is_some()
        });
        hide_task_list(&mut facts, has_identity);
        let requested = &params.protocol_version;
        let Some(revision) = Revision::negotiate(requested, &facts.revisions) else {
            return Reply::error(modern::unsupported_version(requested, &facts.revisions));
        };
        let offers = Offers::of(&facts.capabilities);
        let mut result = InitializeResult::new(revision.as_str(), facts.capabilities, facts.info);
        result.instructions = facts.instructions;
        downgrade::initialize_result(&mut result, revision.rules());
        let agreed = Agreed {
            revision,
            client: Some(Arc::new(ClientIdentity {
                info: Some(params.client_info),
                capabilities: params.capabilities,
            })),
            principal: link.and_then(|link| link.origin().principal.cloned()),
            offers,
            tolerance: facts.tolerance,
        };
        if self.session.agreed.set(agreed).is_err() {
            return Reply::error(already_initialized());
        }
        self.set_layered_revision(revision);
        if let (false, Some(layered)) = (self.stateless, &self.layered) {
            layered.open(revision);
        }
        self.session.phase.store(ANSWERED, Ordering::Release);
        Reply::ok(Payload::of(result))
    }

    /// Returns an error if the request is not allowed.
    fn refusal(&self, method: &str) -> Option<ErrorObject> {
        let Some(agreed) = self.session.agreed.get() else {
            let served = self.service.facts().revisions;
            if served.iter().any(|revision| revision.is_stateless()) {
                return Some(modern::missing_request_meta(&served));
            }
            return Some(ErrorObject::invalid_request(format!(
                "send initialize first; {} was received before it",
                quote(method, 128)
            )));
        };
        let rules = agreed.revision.rules();
        if !gate::server_handles(method, rules) && !self.service.has_method(method) {
            return Some(gate::not_handled(method, agreed.revision));
        }
        agreed.offers.serve(method, rules).err().map(|missing| {
            ErrorObject::new(
                mcp_jsonrpc::ErrorCode::METHOD_NOT_FOUND,
                format!("method {} is not available: {missing}", quote(method, 128)),
            )
        })
    }

    /// Opens the session. Does nothing if `initialize` was not answered.
    fn open(&self) {
        let phase = &self.session.phase;
        let opened = phase.compare_exchange(ANSWERED, OPEN, Ordering::AcqRel, Ordering::Acquire);
        if opened.is_ok() {
            self.session.changed();
            self.service.opened(&self.session);
        }
    }

    /// Opens the session when the first request arrives, for a client that does not send `notifications/initialized`. This
    /// happens behind some proxies.
    fn open_late(&self, method: &str) {
        if self.session.phase.load(Ordering::Acquire) == ANSWERED
            && self
                .session
                .tolerates(Deviation::MissingInitialized, method)
        {
            self.open();
        }
    }

    /// Handles a notification after it has passed through the middleware.
    fn receive(&self, notification: &Notification<'_>) {
        if notification.method == method::NOTIFICATIONS_INITIALIZED {
            self.open();
        } else if self.session.is_open() {
            if notification.method == method::NOTIFICATIONS_ROOTS_LIST_CHANGED {
                self.session.forget_roots();
            }
            self.service.notification(notification, &self.session);
        } else {
            let (service, link) = (&*self.service, self.session.link.get());
            let session = self
                .stateless_server
                .session_of(service, notification, link);
            if let Some(session) = session {
                service.notification(notification, &session);
            }
        }
    }
}

/// Removes `tasks/list` from the capabilities if the client has no identity.
fn hide_task_list(facts: &mut ServerFacts, has_identity: bool) {
    // basic/utilities/tasks#isolation: without identities, tasks of other clients would be listed.
    if let (false, Some(tasks)) = (has_identity, &mut facts.capabilities.tasks) {
        tasks.list = None;
    }
}

fn already_initialized() -> ErrorObject {
    ErrorObject::invalid_request("the session is already initialized; open another session")
}

impl Inbound for ServerSession {
    fn opened(&self, link: Weak<dyn Link>) {
        let link = match &self.layered {
            None => link,
            Some(layered) => {
                let revision = Arc::clone(&layered.revision);
                let link = LayeredLink::weak(layered.layers.clone(), link, revision);
                Arc::downgrade(layered.link.get_or_init(|| Arc::new(link)))
            }
        };
        // Each connection has a separate session, so the link is set once.
        let _ = self.session.link.set(link);
    }

    fn request(&self, request: &Request<'_>, exchange: Exchange) -> Reply {
        let Some(request_meta) = RawRequestMeta::of(request) else {
            return self.answer(request, exchange);
        };
        match self.admit(request, &request_meta, None) {
            Ok(meta) => self.serve(request, meta, exchange),
            Err(error) => Reply::error(error),
        }
    }

    fn notification(&self, notification: &Notification<'_>) {
        match &self.layered {
            Some(layered) => {
                let revision = layered.revision.get().copied();
                layered
                    .layers
                    .inbound_notification(notification, revision, |passed| {
                        self.receive(passed);
                    });
            }
            None => self.receive(notification),
        }
    }

    fn accepts_batches(&self) -> bool {
        let agreed = self.session.agreed.get();
        agreed.is_some_and(|agreed| agreed.revision.rules().batches)
    }

    /// Returns whether the frame gets an error response. Before 2025-11-25 every error response needs an id. The response to an
    /// array is an exception, because JSON-RPC requires a response to an invalid batch.
    fn unreadable(&self, frame: &[u8], error: &ParseError) -> bool {
        tracing::debug!(%error, "received a frame that is not a message");
        let agreed = self.session.agreed.get();
        error.id().is_some()
            || frame.trim_ascii_start().starts_with(b"[")
            || agreed.is_none_or(|agreed| agreed.revision.rules().error_without_id)
    }

    fn discarded(&self, message: Discarded<'_>) {
        if let Some(layered) = &self.layered {
            layered.layers.discarded(Role::Server, message);
        }
    }

    fn deadline(&self) -> Option<Duration> {
        self.service.deadline()
    }

    fn closed(&self, reason: &Closed) {
        tracing::debug!(%reason, "session ended");
        self.session.phase.store(ENDED, Ordering::Release);
        *lock(&self.session.subscriptions) = Subscriptions::default();
        self.service.closed(&self.session);
        if let Some(layered) = &self.layered {
            layered.end(reason);
        }
    }
}

impl fmt::Debug for ServerSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerSession").field(&self.session).finish()
    }
}
