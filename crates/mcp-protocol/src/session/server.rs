//! The server's side of a session: the handshake, what is refused, and what is handed on.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, Notification, ParseError, Request, decode};
use mcp_types::{InitializeRequestParams, InitializeResult, method};

use super::state::{ANSWERED, Agreed, ENDED, NEW, OPEN, Session};
use crate::gate::Offers;
use crate::modern::{
    self, ClientIdentity, RawRequestMeta, RequestMeta, StandardHeaders, StatelessServer,
};
use crate::sync::lock;
use crate::{
    Closed, Exchange, Inbound, Link, Payload, Reply, RequestContext, Revision, ServerFacts,
    Service, downgrade, gate,
};

/// The server's side of one connection: handshake, gates, and then the [`Service`].
pub struct ServerSession {
    service: Arc<dyn Service>,
    session: Arc<Session>,
    desk: StatelessServer,
    /// Nothing is kept from one request to the next.
    stateless: bool,
}

impl ServerSession {
    /// A session that waits for `initialize`.
    pub fn new(service: Arc<dyn Service>) -> Arc<Self> {
        Arc::new(Self {
            service,
            session: Arc::new(Session::new()),
            desk: StatelessServer::new(),
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
            desk: StatelessServer::new(),
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
    /// The answer, if it is not served; [`http_headers::status`](http_headers::status) tells the
    /// status that goes with it.
    pub fn admit(
        &self,
        request: &Request<'_>,
        claim: &RawRequestMeta<'_>,
        headers: Option<&StandardHeaders<'_>>,
    ) -> Result<RequestMeta, ErrorObject> {
        self.desk.admit(&*self.service, request, claim, headers)
    }

    /// Serves a request that was [admitted](Self::admit).
    pub fn serve(&self, request: &Request<'_>, envelope: RequestMeta, exchange: Exchange) -> Reply {
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
            return Reply::error(modern::unsupported_version(requested, &facts.revisions));
        };
        let offers = Offers::of(&facts.capabilities);
        let mut result = InitializeResult::new(revision.as_str(), facts.capabilities, facts.info);
        result.instructions = facts.instructions;
        downgrade::initialize_result(&mut result, revision.rules());
        let agreed = Agreed {
            revision,
            sender: Some(Arc::new(ClientIdentity {
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
            if served.iter().any(|it| it.is_stateless()) {
                return Some(modern::missing_request_meta(&served));
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
        let Some(claim) = RawRequestMeta::of(request) else {
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
