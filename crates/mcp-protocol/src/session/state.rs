//! The state of one session.

use std::any::{Any, TypeId};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, Weak};
use std::time::Instant;

use mcp_jsonrpc::ErrorObject;
use mcp_types::{
    ClientCapabilities, Implementation, ListRootsResult, LoggingLevel, ServerCapabilities,
};

use super::saved::SessionState;
use crate::budget::tree_bytes;
use crate::gate::Offers;
use crate::modern::{ClientIdentity, RequestMeta};
use crate::sync::lock;
use crate::task::Task;
use crate::{
    Budget, BudgetPermit, Delivery, Deviation, Link, OverBudget, Owner, Principal, Rate, Revision,
    TokenBucket, Tolerance,
};

/// Maximum number of resource subscriptions of one session.
const MAX_SUBSCRIPTIONS: usize = 1_024;
/// Maximum total size of the URIs that one session subscribes to, in bytes.
const MAX_SUBSCRIBED_BYTES: usize = 64 << 10;
/// Memory per subscription in addition to the text of its URI, in bytes: its entry in the set, and the overhead of the
/// allocation.
const SUBSCRIPTION: usize = 128;
/// Maximum memory of cached roots, in bytes.
const MAX_ROOTS_BYTES: usize = 64 << 10;

/// Rate limit of the log messages of one session.
const LOG_RATE: Rate = Rate {
    burst: 500.0,
    per_second: 100.0,
};

/// Rate limit of the task requests of one session.
const TASK_RATE: Rate = Rate {
    burst: 200.0,
    per_second: 50.0,
};

pub(crate) const NEW: u8 = 0;
pub(crate) const ANSWERED: u8 = 1;
pub(crate) const OPEN: u8 = 2;
pub(crate) const ENDED: u8 = 3;

/// The state of one session: the client, the negotiated revision, the subscriptions.
pub struct Session {
    number: u64,
    pub(crate) link: OnceLock<Weak<dyn Link>>,
    pub(crate) phase: AtomicU8,
    pub(crate) agreed: OnceLock<Agreed>,
    /// The minimum level of log messages to send. `None` means that no log messages are sent.
    log_level: Mutex<Option<LoggingLevel>>,
    logs: Mutex<TokenBucket>,
    tasks: Mutex<TokenBucket>,
    roots: Mutex<Roots>,
    pub(crate) subscriptions: Mutex<Subscriptions>,
    /// The limit on the memory of subscriptions and cached roots; unset for the session object of a single request.
    pub(crate) budget: OnceLock<Budget>,
    values: OnceLock<Box<Mutex<Values>>>,
    /// How often the state that [`SessionState`] contains has changed.
    changes: AtomicU64,
}

/// Values that handlers keep in the session, at most one value per type.
type Values = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// The cached roots of the client, and the number of changes that the client has reported.
#[derive(Debug, Default)]
struct Roots {
    known: Option<(ListRootsResult, Option<BudgetPermit>)>,
    changes: u64,
}

/// The URIs that the session subscribes to, and the permit for their memory.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    uris: BTreeSet<String>,
    /// The total size of all URIs, in bytes.
    bytes: usize,
    permit: Option<BudgetPermit>,
}

#[derive(Debug)]
pub(crate) struct Agreed {
    pub(crate) revision: Revision,
    /// The client identity. `None` for a client that sent no name and declared no capabilities, to save memory.
    pub(crate) client: Option<Arc<ClientIdentity>>,
    pub(crate) principal: Option<Principal>,
    pub(crate) offers: Offers,
    pub(crate) tolerance: Arc<Tolerance>,
}

impl Session {
    /// Returns the number of the session in this process, for logs. It is not the session id, which grants access.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn new() -> Self {
        static SESSIONS: AtomicU64 = AtomicU64::new(1);
        Self {
            number: SESSIONS.fetch_add(1, Ordering::Relaxed),
            link: OnceLock::new(),
            phase: AtomicU8::new(NEW),
            agreed: OnceLock::new(),
            log_level: Mutex::new(Some(LoggingLevel::Info)),
            logs: Mutex::default(),
            tasks: Mutex::default(),
            roots: Mutex::default(),
            subscriptions: Mutex::default(),
            budget: OnceLock::new(),
            values: OnceLock::new(),
            changes: AtomicU64::new(0),
        }
    }

    /// Creates the session object for one request of the stateless revision. It is open from the start and ends with the request.
    pub(crate) fn of_request(
        request_meta: RequestMeta,
        offers: Offers,
        principal: Option<Principal>,
        tolerance: &Arc<Tolerance>,
    ) -> Arc<Self> {
        let agreed = Agreed {
            revision: request_meta.revision,
            client: Some(request_meta.client),
            principal,
            offers,
            tolerance: Arc::clone(tolerance),
        };
        Arc::new(Self {
            phase: AtomicU8::new(OPEN),
            agreed: OnceLock::from(agreed),
            log_level: Mutex::new(request_meta.log_level),
            ..Self::new()
        })
    }

    /// Creates the session object for one notification of the stateless revision.
    pub(crate) fn of_notification(
        request_meta: RequestMeta,
        offers: Offers,
        link: Option<&Weak<dyn Link>>,
        tolerance: &Arc<Tolerance>,
    ) -> Arc<Self> {
        let session = Self::of_request(request_meta, offers, None, tolerance);
        if let Some(link) = link {
            // The session is new, so its link is not set yet.
            let _ = session.link.set(Weak::clone(link));
        }
        session
    }

    /// Creates the session object for a stored task, which has no connection to a client.
    pub fn of_task(task: &Task, tolerance: &Arc<Tolerance>) -> Arc<Self> {
        let call = task.call();
        let request_meta = RequestMeta {
            revision: call.revision,
            client: Arc::clone(&call.client),
            log_level: call.log_level,
        };
        let offers = Offers::of(&ServerCapabilities::default());
        Self::of_request(request_meta, offers, task.owner().cloned(), tolerance)
    }

    /// Returns the negotiated revision. Before `initialize`, returns the newest session-based revision.
    pub fn revision(&self) -> Revision {
        self.agreed
            .get()
            .map_or(Revision::LATEST_WITH_SESSIONS, |agreed| agreed.revision)
    }

    /// Returns the client and its capabilities, if they are known.
    pub fn client_identity(&self) -> Option<&Arc<ClientIdentity>> {
        self.agreed.get()?.client.as_ref()
    }

    /// Returns an upper bound of the memory of the client identity, in bytes.
    #[doc(hidden)]
    pub fn client_memory(&self) -> usize {
        self.client_identity().map_or(0, |client| client.memory())
    }

    /// Returns the client's name and version, if the client sent them.
    pub fn client(&self) -> Option<&Implementation> {
        self.client_identity()?.info.as_ref()
    }

    /// Returns the verified principal that opened the session; on the stateless revision, the
    /// principal of the request. Returns `None` for a session that several clients share.
    pub fn principal(&self) -> Option<&Principal> {
        self.agreed.get()?.principal.as_ref()
    }

    /// Returns the capabilities of the client.
    pub fn client_capabilities(&self) -> Option<&ClientCapabilities> {
        static NOTHING: LazyLock<ClientCapabilities> = LazyLock::new(ClientCapabilities::default);
        let client = self.agreed.get()?.client.as_ref();
        Some(client.map_or(&NOTHING, |client| &client.capabilities))
    }

    /// Returns whether a deviation of the client is tolerated; see [`Tolerance::admits`].
    pub fn tolerates(&self, deviation: Deviation, detail: impl fmt::Display) -> bool {
        let agreed = self.agreed.get();
        agreed.is_some_and(|agreed| agreed.tolerance.admits(deviation, detail))
    }

    /// Returns whether the handshake is complete and the session has not ended.
    pub fn is_open(&self) -> bool {
        self.phase.load(Ordering::Acquire) == OPEN
    }

    /// Counts a change of the state that [`SessionState`] contains.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns a number that increases with every change of the [state](Self::state).
    #[doc(hidden)]
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Returns the state with which another process can continue the session; `None` before
    /// `initialize`.
    #[doc(hidden)]
    pub fn state(&self) -> Option<SessionState> {
        let agreed = self.agreed.get()?;
        let subscriptions = lock(&self.subscriptions).uris.iter().cloned().collect();
        Some(SessionState {
            revision: agreed.revision,
            client: agreed.client.clone().unwrap_or_default(),
            log_level: self.log_level(),
            subscriptions,
            is_open: self.is_open(),
        })
    }

    /// Sets the log level and the subscriptions to the values in `state`.
    pub(crate) fn restore(&self, state: &SessionState, owner: &Owner) -> Result<(), ErrorObject> {
        *lock(&self.log_level) = state.log_level;
        for uri in &state.subscriptions {
            self.subscribe(uri, owner)?;
        }
        Ok(())
    }

    /// Returns whether the server declared that it sends this list-changed notification.
    pub fn announces(&self, method: &str) -> bool {
        let agreed = self.agreed.get();
        agreed.is_some_and(|agreed| agreed.offers.announce(method))
    }

    /// Returns whether to send a log message of this level: the revision is negotiated, the server declares logging, the client
    /// wants this level, and the rate limit allows it.
    pub fn admits_log(&self, level: LoggingLevel, now: Instant) -> bool {
        self.agreed
            .get()
            .is_some_and(|agreed| agreed.offers.logging())
            && lock(&self.log_level)
                .as_ref()
                .is_some_and(|lowest| level >= *lowest)
            && lock(&self.logs).take(1.0, LOG_RATE, now).is_ok()
    }

    /// Returns whether the rate limit allows another task request: 50 per second after a burst of 200.
    pub fn admits_task_request(&self, now: Instant) -> bool {
        lock(&self.tasks).take(1.0, TASK_RATE, now).is_ok()
    }

    /// Returns the value of type `T` that belongs to this session, and creates it with `init` on the first call. The value is
    /// dropped with the session or, on the stateless revision, with the request.
    pub fn value<T: Send + Sync + 'static>(&self, init: impl FnOnce() -> T) -> Arc<T> {
        let values = self.values.get_or_init(Box::default);
        let known = lock(values).get(&TypeId::of::<T>()).cloned();
        if let Some(Ok(value)) = known.map(Arc::downcast) {
            return value;
        }
        // `init` may use the session, so it runs without the lock.
        let created: Arc<T> = Arc::new(init());
        let erased: Arc<dyn Any + Send + Sync> = created.clone();
        let kept = Arc::clone(lock(values).entry(TypeId::of::<T>()).or_insert(erased));
        kept.downcast().unwrap_or(created)
    }

    /// Returns the minimum level of log messages that the client wants. Returns `None` if it wants no log messages.
    pub fn log_level(&self) -> Option<LoggingLevel> {
        *lock(&self.log_level)
    }

    /// Sets the minimum level of log messages that the client wants.
    pub fn set_log_level(&self, level: LoggingLevel) {
        *lock(&self.log_level) = Some(level);
        self.changed();
    }

    /// Subscribes to updates of a resource. The memory is charged to `owner`.
    ///
    /// # Errors
    /// The session has 1,024 subscriptions or 64 KiB of URIs, or the budget of the server is exhausted.
    pub fn subscribe(&self, uri: &str, owner: &Owner) -> Result<(), ErrorObject> {
        let subscriptions = &mut *lock(&self.subscriptions);
        if subscriptions.uris.contains(uri) {
            return Ok(());
        }
        if subscriptions.uris.len() >= MAX_SUBSCRIPTIONS {
            return Err(ErrorObject::internal(format!(
                "the session has {MAX_SUBSCRIPTIONS} subscriptions, which is the limit; unsubscribe first"
            )));
        }
        let bytes = subscriptions.bytes;
        if bytes + uri.len() > MAX_SUBSCRIBED_BYTES {
            return Err(ErrorObject::internal(format!(
                "the URIs of the subscriptions of the session have {bytes} bytes; the limit is \
                 {MAX_SUBSCRIBED_BYTES}; unsubscribe first"
            )));
        }
        let charge = SUBSCRIPTION + uri.len();
        let over = |error: OverBudget| ErrorObject::internal(error.to_string());
        match (&mut subscriptions.permit, self.budget.get()) {
            (Some(permit), _) => permit.grow(charge).map_err(over)?,
            (none, Some(budget)) => *none = Some(budget.acquire(owner, charge).map_err(over)?),
            _ => {}
        }
        subscriptions.uris.insert(uri.to_owned());
        subscriptions.bytes += uri.len();
        self.changed();
        Ok(())
    }

    /// Removes a subscription, if it exists.
    pub fn unsubscribe(&self, uri: &str) {
        let mut subscriptions = lock(&self.subscriptions);
        if subscriptions.uris.remove(uri) {
            subscriptions.bytes -= uri.len();
            if let Some(permit) = &mut subscriptions.permit {
                permit.shrink(SUBSCRIPTION + uri.len());
            }
            self.changed();
        }
    }

    /// Returns whether the client has subscribed to this resource.
    pub fn is_subscribed(&self, uri: &str) -> bool {
        lock(&self.subscriptions).uris.contains(uri)
    }

    /// Returns the cached roots, and a counter for [`remember_roots`](Self::remember_roots). Roots are cached only if the client
    /// declared change notifications for roots.
    pub(crate) fn known_roots(&self) -> (Option<ListRootsResult>, u64) {
        let roots = lock(&self.roots);
        let known = roots.known.as_ref().map(|(known, _)| known.clone());
        (known, roots.changes)
    }

    /// Caches the roots that a client returned. `mark` is the counter that [`known_roots`](Self::known_roots) returned before the
    /// roots were requested. Does not cache the roots if they have changed since then, or if their memory exceeds 64 KiB or the
    /// budget of the server.
    pub(crate) fn remember_roots(&self, result: &ListRootsResult, mark: u64, owner: &Owner) {
        let announced = self
            .client_capabilities()
            .and_then(|capabilities| capabilities.roots.as_ref()?.list_changed);
        let size = tree_bytes(result);
        if announced != Some(true) || size > MAX_ROOTS_BYTES {
            return;
        }
        let permit = self.budget.get().map(|budget| budget.acquire(owner, size));
        let Ok(permit) = permit.transpose() else {
            return;
        };
        let mut roots = lock(&self.roots);
        if roots.changes == mark {
            roots.known = Some((result.clone(), permit));
        }
    }

    pub(crate) fn forget_roots(&self) {
        let mut roots = lock(&self.roots);
        roots.known = None;
        roots.changes += 1;
    }

    /// Sends a notification that does not belong to a request. Returns `false` before the handshake is complete and after the end
    /// of the session.
    pub fn notify(&self, method: &str, params: Option<&[u8]>, delivery: Delivery) -> bool {
        self.is_open()
            && self
                .link()
                .is_some_and(|link| link.notify(method, params, delivery).is_ok())
    }

    /// Returns the link for messages that do not belong to a request, while the connection is open.
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
