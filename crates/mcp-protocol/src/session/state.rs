//! The state of one session.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};
use std::time::Instant;

use mcp_jsonrpc::ErrorObject;
use mcp_types::{
    ClientCapabilities, Implementation, ListRootsResult, LoggingLevel, ServerCapabilities,
};

use crate::exchange::RateLimit;
use crate::gate::Offers;
use crate::modern::{ClientIdentity, RequestMeta};
use crate::sync::lock;
use crate::task::Task;
use crate::{Delivery, Link, Principal, Revision};

/// Resource subscriptions one session may hold.
const MAX_SUBSCRIPTIONS: usize = 1_024;

/// Log messages a session may send at once, and then each second.
const LOG_BURST: f64 = 500.0;
const LOG_PER_SECOND: f64 = 100.0;

/// Requests about tasks that a session may make at once, and then each second.
const TASK_BURST: f64 = 200.0;
const TASKS_PER_SECOND: f64 = 50.0;

pub(super) const NEW: u8 = 0;
pub(super) const ANSWERED: u8 = 1;
pub(super) const OPEN: u8 = 2;
pub(super) const ENDED: u8 = 3;

/// What is known of one session: the client, the agreed revision, its subscriptions.
pub struct Session {
    pub(super) link: OnceLock<Weak<dyn Link>>,
    pub(super) phase: AtomicU8,
    pub(super) agreed: OnceLock<Agreed>,
    /// The least serious message to send; `None` for none at all.
    log_level: Mutex<Option<LoggingLevel>>,
    log_pace: RateLimit,
    task_pace: RateLimit,
    roots: Mutex<Roots>,
    pub(super) subscriptions: Mutex<HashSet<String>>,
}

/// What the client last said of its roots, and how often that changed.
#[derive(Debug, Default)]
struct Roots {
    known: Option<ListRootsResult>,
    changes: u64,
}

#[derive(Debug)]
pub(super) struct Agreed {
    pub(super) revision: Revision,
    /// `None` for clients that say nothing of themselves: sessions are many.
    pub(super) sender: Option<Arc<ClientIdentity>>,
    pub(super) principal: Option<Principal>,
    pub(super) offers: Offers,
}

impl Session {
    pub(super) fn new() -> Self {
        Self {
            link: OnceLock::new(),
            phase: AtomicU8::new(NEW),
            agreed: OnceLock::new(),
            log_level: Mutex::new(Some(LoggingLevel::Info)),
            log_pace: RateLimit::new(LOG_BURST, LOG_PER_SECOND),
            task_pace: RateLimit::new(TASK_BURST, TASKS_PER_SECOND),
            roots: Mutex::default(),
            subscriptions: Mutex::default(),
        }
    }

    /// What one request says that belongs to no session: it is a session of its own, open from
    /// the start and gone with the request.
    pub(crate) fn of_request(
        envelope: RequestMeta,
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
        let sender = ClientIdentity {
            client: call.client.clone(),
            capabilities: call.capabilities.clone(),
        };
        let envelope = RequestMeta {
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
            .map_or(Revision::LATEST_WITH_SESSIONS, |agreed| agreed.revision)
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

    pub(super) fn forget_roots(&self) {
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
