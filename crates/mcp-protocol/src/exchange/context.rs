//! The facts of one request.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mcp_types::{LoggingLevel, Meta, ProgressToken, method};
use serde_json::Value;

use crate::modern::PendingInput;
use crate::{Cancelled, Delivery, Exchange, Rules, Session};

/// The facts of one request, and the way back to who sent it. Cloning shares it.
#[derive(Clone)]
pub struct RequestContext {
    exchange: Exchange,
    session: Arc<Session>,
    meta: Option<Arc<LazyMeta>>,
    pending: Option<Arc<PendingInput>>,
    /// Under which name the next question is asked.
    key: Option<Arc<str>>,
    /// Whether questions are to be answered as tasks, and how long these are to be kept.
    delegated: Option<Option<Duration>>,
}

/// The `_meta` of a request, as text until it is looked at.
struct LazyMeta {
    raw: Box<str>,
    read: OnceLock<Option<Meta>>,
}

impl RequestContext {
    /// The context of `exchange` in `session`.
    pub fn new(exchange: Exchange, session: Arc<Session>) -> Self {
        Self {
            exchange,
            session,
            meta: None,
            pending: None,
            key: None,
            delegated: None,
        }
    }

    /// Attaches the `_meta` of the request, still raw; it is read when somebody asks for it.
    /// Anything but an object is ignored.
    pub fn set_meta(&mut self, raw: &str) {
        self.meta = Some(Arc::new(LazyMeta {
            raw: raw.into(),
            read: OnceLock::new(),
        }));
    }

    /// Keeps questions and answers in `pending input`, because the client cannot be asked while the
    /// request runs.
    pub fn set_pending_input(&mut self, pending: Arc<PendingInput>) {
        self.pending = Some(pending);
    }

    /// Where questions and answers are kept, if the client cannot be asked while the request
    /// runs.
    pub fn pending_input(&self) -> Option<&Arc<PendingInput>> {
        self.pending.as_ref()
    }

    /// The same request, whose questions go by this name where they need one. Without it they
    /// go by a name made from their text.
    #[must_use]
    pub fn named(&self, key: &str) -> Self {
        Self {
            key: Some(key.into()),
            ..self.clone()
        }
    }

    /// The same request, whose questions the client answers as tasks of its own where it takes
    /// them (2025-11-25), kept for `ttl` if it agrees; elsewhere nothing changes.
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

    /// The request and whether it still wants an answer.
    pub fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// The session it belongs to.
    pub fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// What the negotiated revision knows.
    pub fn rules(&self) -> &'static Rules {
        self.session.revision().rules()
    }

    /// The `_meta` of the request.
    pub fn meta(&self) -> Option<&Meta> {
        let meta = self.meta.as_deref()?;
        let read = meta
            .read
            .get_or_init(|| serde_json::from_str(&meta.raw).ok());
        read.as_ref()
    }

    /// The token under which the peer wants progress, if it does.
    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.meta().and_then(Meta::progress_token)
    }

    /// On whose behalf the request came, if that was verified.
    pub fn principal(&self) -> Option<&crate::Principal> {
        self.exchange.link().principal()
    }

    /// Whether the request may do what needs `scope`, one or more words. Over stdio everything
    /// may be done; over HTTP only what a verified token covers. What is missing is asked of the
    /// client, if the transport can and nothing was sent yet.
    pub fn permits(&self, scope: &str) -> bool {
        self.exchange.link().permits(scope)
    }

    /// What the transport knows of the request, if it keeps a `T`; for HTTP, the
    /// `http::request::Parts`.
    pub fn transport<T: 'static>(&self) -> Option<&T> {
        self.exchange.link().facts()?.downcast_ref()
    }

    /// Ends the connection that carries the stream of this request; the client comes back for
    /// the rest after `retry`. `false` if the transport or the revision cannot.
    pub fn release(&self, retry: Duration) -> bool {
        self.exchange.is_running() && self.exchange.link().release(retry)
    }

    /// Completes when the request was cancelled or its peer is gone.
    pub fn cancelled(&self) -> Cancelled {
        self.exchange.cancelled()
    }

    /// Reports progress. Sent only if the peer gave a token, while the request runs, if
    /// `progress` is above the last value, and at a pace people can follow (the step that
    /// reaches `total` always is); returns whether it was.
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

    /// Sends a log message if the session's level and its pace admit it; returns whether it was
    /// sent.
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

    fn send(&self, method: &str, params: &impl serde::Serialize) -> bool {
        let Ok(params) = serde_json::to_vec(params) else {
            return false;
        };
        self.exchange
            .link()
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
