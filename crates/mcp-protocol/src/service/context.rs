//! The context of one request.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mcp_jsonrpc::{ErrorObject, decode, is_member, members};
use mcp_types::{LoggingLevel, Meta, ProgressToken, method};
use serde_json::Value;

use crate::middleware::Layers;
use crate::modern::PendingInput;
use crate::origin::{missing_scope, no_authentication};
use crate::{Cancelled, Delivery, Exchange, Link, Rules, Session};

/// The context of one request: its exchange, session and metadata. Cloning shares the context.
#[derive(Clone)]
pub struct RequestContext {
    exchange: Exchange,
    session: Arc<Session>,
    meta: Option<Arc<LazyMeta>>,
    pending: Option<Arc<PendingInput>>,
    /// The key that the next input request gets; `None` for a derived key.
    key: Option<Arc<str>>,
    /// `Some` if the client should answer server requests as tasks. The inner value is the time to live of these tasks.
    delegated: Option<Option<Duration>>,
    /// The middleware through which messages on the exchange's link pass.
    layers: Option<Layers>,
    /// Whether the exchange's link itself already passes messages through the middleware.
    is_link_layered: bool,
}

/// The `_meta` of a request, decoded on first use.
struct LazyMeta {
    raw: Box<str>,
    token: OnceLock<Option<ProgressToken>>,
    read: OnceLock<Option<Meta>>,
}

impl RequestContext {
    /// Creates the context of `exchange` in `session`.
    pub fn new(exchange: Exchange, session: Arc<Session>) -> Self {
        Self {
            exchange,
            session,
            meta: None,
            pending: None,
            key: None,
            delegated: None,
            layers: None,
            is_link_layered: false,
        }
    }

    /// Returns a copy of this context with another exchange. Messages of the copy are sent on the link of `exchange`.
    #[must_use]
    pub fn with_exchange(&self, exchange: Exchange) -> Self {
        Self {
            exchange,
            ..self.clone()
        }
    }

    /// Adds middleware for the messages that are sent with this context. The new middleware is inside the middleware that the
    /// context already has.
    pub fn add_layers(&mut self, layers: &Layers) {
        self.layers = Some(match &self.layers {
            Some(outer) => outer.and(layers),
            None => layers.clone(),
        });
    }

    /// Makes the input requests of this context pass through the middleware of `request`, the request that this context
    /// continues. The link of the exchange already has this middleware, so [`link`](Self::link) does not add it again.
    pub fn continue_layers(&mut self, request: &Self) {
        self.layers.clone_from(&request.layers);
        self.is_link_layered = true;
    }

    /// Returns the middleware through which messages of this context pass.
    pub fn layers(&self) -> Option<&Layers> {
        self.layers.as_ref()
    }

    /// Returns the link for messages that belong to this request. These messages pass through the middleware.
    pub fn link(&self) -> Arc<dyn Link> {
        let link = Arc::clone(self.exchange.link());
        match self.layers.as_ref().filter(|_| !self.is_link_layered) {
            Some(layers) => layers.wrap_link(link, self.session.revision()),
            None => link,
        }
    }

    /// Sets the `_meta` of the request as raw text, which is decoded on first use. A value that is
    /// not an object is ignored.
    pub fn set_meta(&mut self, raw: &str) {
        self.meta = Some(Arc::new(LazyMeta {
            raw: raw.into(),
            token: OnceLock::new(),
            read: OnceLock::new(),
        }));
    }

    /// Sets the pending input requests, for a call whose client cannot receive requests while the
    /// call is running.
    pub fn set_pending_input(&mut self, pending: Arc<PendingInput>) {
        self.pending = Some(pending);
    }

    /// Returns the pending input requests, if the client cannot receive requests while the call is
    /// running.
    pub fn pending_input(&self) -> Option<&Arc<PendingInput>> {
        self.pending.as_ref()
    }

    /// Returns a copy of this context. Input requests of the copy have the key `key`. By default, the key is derived from the
    /// text of the input request.
    #[must_use]
    pub fn named(&self, key: &str) -> Self {
        Self {
            key: Some(key.into()),
            ..self.clone()
        }
    }

    /// Returns a copy of this context. Server requests of the copy are task-augmented: the client is requested to run them as
    /// tasks (2025-11-25). `ttl` is the requested time to live. This has no effect in other revisions and for clients that do not
    /// support tasks.
    #[must_use]
    pub fn as_task(&self, ttl: Option<Duration>) -> Self {
        Self {
            delegated: Some(ttl),
            ..self.clone()
        }
    }

    pub(crate) fn delegated(&self) -> Option<Option<Duration>> {
        self.delegated
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns the exchange of the request.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// Returns the session of the request.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// Returns the rules of the negotiated revision.
    pub fn rules(&self) -> &'static Rules {
        self.session.revision().rules()
    }

    /// Returns the `_meta` of the request.
    pub fn meta(&self) -> Option<&Meta> {
        let meta = self.meta.as_deref()?;
        let read = meta
            .read
            .get_or_init(|| serde_json::from_str(&meta.raw).ok());
        read.as_ref()
    }

    /// Returns the progress token of the request, if the peer wants progress notifications.
    pub fn progress_token(&self) -> Option<ProgressToken> {
        let meta = self.meta.as_deref()?;
        let token = meta.token.get_or_init(|| {
            // Not with `meta`: the tree of all members would be kept as long as the request.
            let mut all = members(&meta.raw).map_while(Result::ok);
            let (_, value) = all.find(|(key, _)| is_member(key, "progressToken"))?;
            decode(value).ok()
        });
        token.clone()
    }

    /// Returns the verified principal of the request.
    pub fn principal(&self) -> Option<&crate::Principal> {
        self.exchange.link().origin().principal
    }

    /// Returns the client that memory and work are charged to.
    pub fn owner(&self) -> crate::Owner {
        crate::Owner::of(&self.exchange.link().origin())
    }

    /// Returns whether the request is granted `scope`. Unlike [`permits`](Self::permits), this method causes no challenge if the
    /// scope is missing. Use it for a request that can succeed without the scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.exchange.link().origin().has_scope(scope)
    }

    /// Returns whether the request is granted `scope`, one or more words. Over stdio, every scope is granted. Over HTTP, the
    /// scopes of the verified token are granted. If the scope is missing, the transport challenges the client, unless a response
    /// was already started.
    pub fn permits(&self, scope: &str) -> bool {
        self.exchange.link().origin().permits(scope)
    }

    /// Checks that the request is granted `scope`, like [`permits`](Self::permits). `item` names what needs the scope, for
    /// example `tool "add"`.
    ///
    /// # Errors
    /// The request lacks the scope, or the server has no authentication layer. Send the error to the client.
    pub fn require_scope(&self, item: impl fmt::Display, scope: &str) -> Result<(), ErrorObject> {
        if self.permits(scope) {
            return Ok(());
        }
        let origin = self.exchange.link().origin();
        if origin.principal.is_none() && origin.grant.is_none() {
            return Err(no_authentication());
        }
        Err(missing_scope(item, scope))
    }

    /// Returns the facts from the transport about the request if they have the type `T`. For HTTP, `T` is `http::request::Parts`.
    pub fn transport<T: 'static>(&self) -> Option<&T> {
        self.exchange.link().origin().facts()?.downcast_ref()
    }

    /// Closes the event stream of this request. The client reconnects after `retry` and resumes the stream. Returns `false` if
    /// the transport or the revision does not support this.
    pub fn release(&self, retry: Duration) -> bool {
        self.exchange.is_running() && self.exchange.link().release(retry)
    }

    /// Lets another process of the same server respond: the transport sends the request to `address`, an `http` URL, and passes
    /// the response of that process on to the client. Returns whether the transport does this. If it does, the handler should
    /// return an error. The transport sends this error to the client if the other process cannot be reached, or if the handler
    /// has already sent a message.
    ///
    /// Returns `false` and changes nothing in these cases: the transport is stdio; the endpoint has no
    /// `ServerOptions::with_forwarding`; the request was already forwarded; a response was already started; or the request does
    /// not belong to the stateless revision.
    ///
    /// The forwarded request contains all headers of the client, including `Authorization`. Therefore, if the address comes from
    /// the client, the address must be authenticated, for example as a part of an encrypted `requestState`.
    pub fn forward(&self, address: &str) -> bool {
        self.exchange.is_running() && self.exchange.link().forward(address)
    }

    /// Completes when the request has ended, was cancelled, or its peer has disconnected.
    pub fn cancelled(&self) -> Cancelled {
        self.exchange.cancelled()
    }

    /// Sends a progress notification; returns whether it was sent. It is sent only if the peer gave a token, and if the request
    /// is running. In addition, `progress` must be above the last value, and the rate limit must allow the notification. The rate
    /// limit does not apply to the step that reaches `total`.
    ///
    /// Specification: [progress](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/progress).
    pub fn progress(
        &self,
        progress: f64,
        total: Option<f64>,
        message: Option<&str>,
        now: Instant,
    ) -> bool {
        let Some(token) = self.progress_token() else {
            return false;
        };
        let last_step = total.is_some_and(|total| progress >= total);
        if !self.exchange.advance(progress, last_step, now) {
            return false;
        }
        let mut params = mcp_types::ProgressNotificationParams::new(token, progress);
        params.total = total.filter(|total| total.is_finite());
        if self.rules().annotations_and_audio {
            params.message = message.map(str::to_owned);
        }
        self.send(method::NOTIFICATIONS_PROGRESS, &params)
    }

    /// Sends a log message if the session's log level and rate limit allow it; returns whether it
    /// was sent.
    ///
    /// Specification: [logging](https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging).
    pub fn log(
        &self,
        level: LoggingLevel,
        logger: Option<&str>,
        data: Value,
        now: Instant,
    ) -> bool {
        if !self.exchange.is_running() || !self.session.admits_log(level, now) {
            return false;
        }
        let mut params = mcp_types::LoggingMessageNotificationParams::new(level, data);
        params.logger = logger.map(str::to_owned);
        self.send(method::NOTIFICATIONS_MESSAGE, &params)
    }

    /// Sends a notification that is not part of the protocol; returns whether it was sent.
    pub fn send_notification<N: mcp_types::Notification>(&self, params: &N::Params) -> bool {
        self.exchange.is_running() && self.send(N::METHOD, params)
    }

    fn send(&self, method: &str, params: &impl serde::Serialize) -> bool {
        let Ok(params) = serde_json::to_vec(params) else {
            return false;
        };
        self.link()
            .notify(method, Some(&params), Delivery::Lossy)
            .is_ok()
    }
}

impl fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestContext")
            .field("exchange", &self.exchange)
            .field("revision", &self.session.revision())
            .finish_non_exhaustive()
    }
}
