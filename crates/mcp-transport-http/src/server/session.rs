//! The sessions of an endpoint: small values in a table, no task of their own.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};

use mcp_protocol::{
    Closed, Inbound as _, Incoming, Link, Principal, ServerSession, Service, guarded,
};
use tokio::time::Instant;

use super::id::SessionId;
use super::lock;
use super::options::Options;
use super::refusal::Refusal;
use super::stream::{Identity, Stream, Streams};

/// One session: what a client opened with `initialize`, whatever connections it uses.
pub(crate) struct HttpSession {
    pub(crate) inbound: Arc<ServerSession>,
    pub(crate) incoming: Incoming,
    pub(crate) streams: Arc<Streams>,
    pub(crate) general: Arc<Stream>,
    pub(crate) principal: Option<Principal>,
    /// Streams open by GET.
    pub(crate) listeners: AtomicUsize,
    /// Requests that run and connections that are open: while there are any it does not expire.
    pins: AtomicUsize,
    born: Instant,
    /// When it was last used, in milliseconds after its birth.
    used: AtomicU64,
}

impl HttpSession {
    /// A session that waits for `initialize`, or one that is shared and kept nowhere.
    pub(crate) fn new(
        inbound: Arc<ServerSession>,
        options: &Arc<Options>,
        identity: Option<Identity>,
        principal: Option<Principal>,
    ) -> Arc<Self> {
        let streams = Streams::new(Arc::clone(options), identity);
        let general = Stream::of_session(&streams, principal.clone());
        let link: Arc<dyn Link> = Arc::<Stream>::clone(&general);
        inbound.opened(Arc::downgrade(&link));
        Arc::new(Self {
            inbound,
            incoming: Incoming::new(options.session_in_flight),
            streams,
            general,
            principal,
            listeners: AtomicUsize::new(0),
            pins: AtomicUsize::new(0),
            born: Instant::now(),
            used: AtomicU64::new(0),
        })
    }

    /// Whether anything is kept from one request to the next.
    pub(crate) fn is_kept(&self) -> bool {
        self.streams.identity.is_some()
    }

    pub(crate) fn touch(&self) {
        let used = self.born.elapsed().as_millis();
        self.used
            .store(u64::try_from(used).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Keeps it from expiring until the pin is dropped.
    pub(crate) fn pin(self: &Arc<Self>) -> Pin {
        self.pins.fetch_add(1, Ordering::AcqRel);
        self.touch();
        Pin(Arc::clone(self))
    }

    /// Why it should end now, if it should.
    fn expired(&self, options: &Options) -> Option<&'static str> {
        if self.pins.load(Ordering::Acquire) > 0 {
            return None;
        }
        let age = self.born.elapsed();
        let used = std::time::Duration::from_millis(self.used.load(Ordering::Relaxed));
        let idle = age.saturating_sub(used);
        if age >= options.lifetime {
            Some("the session is past Options::with_lifetime")
        } else if idle >= options.idle {
            Some("the session was idle for Options::with_idle")
        } else if idle >= options.handshake && !self.inbound.session().is_open() {
            Some("the handshake took longer than Options::with_handshake")
        } else {
            None
        }
    }

    /// Ends it: questions fail, handlers are cancelled, streams end.
    pub(crate) fn close(&self, reason: &Closed) {
        if !self.streams.close(reason) {
            return;
        }
        self.incoming.cancel_all();
        self.general.finish(None);
        if let (Some(identity), Some(store)) = (self.streams.identity, &self.streams.options.store)
        {
            store.forget_session(identity.id);
        }
        if guarded(|| self.inbound.closed(reason)).is_err() {
            tracing::error!("a handler panicked when its session ended");
        }
    }
}

impl fmt::Debug for HttpSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSession")
            .field("running", &self.incoming.len())
            .field("pins", &self.pins)
            .finish_non_exhaustive()
    }
}

/// Keeps a session from expiring.
pub(crate) struct Pin(Arc<HttpSession>);

impl Drop for Pin {
    fn drop(&mut self) {
        self.0.touch();
        self.0.pins.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One of the streams a session may have open by GET.
pub(crate) struct Listener(Arc<HttpSession>);

impl Listener {
    pub(crate) fn open(session: &Arc<HttpSession>, limit: usize) -> Option<Self> {
        // The place exists first, so that a refused one is given back by its `Drop`.
        let listener = Self(Arc::clone(session));
        (session.listeners.fetch_add(1, Ordering::AcqRel) < limit).then_some(listener)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.listeners.fetch_sub(1, Ordering::AcqRel);
    }
}

const SHARDS: usize = 16;

/// All sessions of an endpoint.
pub(crate) struct Table {
    shards: [RwLock<HashMap<SessionId, Arc<HttpSession>>>; SHARDS],
    len: AtomicUsize,
    principals: Mutex<HashMap<Principal, usize>>,
    sweeping: Mutex<bool>,
}

/// Why there is no room for a session: what, and the setting.
enum Full {
    All,
    Principal,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| RwLock::default()),
            len: AtomicUsize::new(0),
            principals: Mutex::default(),
            sweeping: Mutex::new(false),
        }
    }

    fn shard(&self, id: &SessionId) -> &RwLock<HashMap<SessionId, Arc<HttpSession>>> {
        &self.shards[usize::from(id.first()) % SHARDS]
    }

    pub(crate) fn find(&self, id: &SessionId) -> Option<Arc<HttpSession>> {
        let shard = self.shard(id).read();
        let shard = shard.unwrap_or_else(std::sync::PoisonError::into_inner);
        shard.get(id).cloned()
    }

    /// Takes a place for a session of this principal.
    fn reserve(&self, principal: Option<&Principal>, options: &Options) -> Result<(), Full> {
        if self.len.fetch_add(1, Ordering::AcqRel) >= options.max_sessions {
            self.len.fetch_sub(1, Ordering::AcqRel);
            return Err(Full::All);
        }
        if let Some(principal) = principal {
            let mut principals = lock(&self.principals);
            let count = principals.entry(principal.clone()).or_default();
            if *count >= options.principal_sessions {
                drop(principals);
                self.len.fetch_sub(1, Ordering::AcqRel);
                return Err(Full::Principal);
            }
            *count += 1;
        }
        Ok(())
    }

    /// Gives a place back.
    pub(crate) fn release(&self, principal: Option<&Principal>) {
        self.len.fetch_sub(1, Ordering::AcqRel);
        if let Some(principal) = principal {
            let mut principals = lock(&self.principals);
            if let Some(count) = principals.get_mut(principal) {
                *count -= 1;
                if *count == 0 {
                    principals.remove(principal);
                }
            }
        }
    }

    /// Puts a session in the place that was taken for it.
    pub(crate) fn insert(&self, id: SessionId, session: Arc<HttpSession>) {
        let shard = self.shard(&id).write();
        let mut shard = shard.unwrap_or_else(std::sync::PoisonError::into_inner);
        shard.insert(id, session);
    }

    /// Takes a session off the table; whoever gets it closes it.
    pub(crate) fn remove(&self, id: &SessionId) -> Option<Arc<HttpSession>> {
        let shard = self.shard(id).write();
        let removed = shard
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .remove(id);
        if let Some(session) = &removed {
            self.release(session.principal.as_ref());
        }
        removed
    }

    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Ends what has expired.
    pub(crate) fn sweep(&self, options: &Options) {
        for shard in &self.shards {
            let expired: Vec<(SessionId, &'static str)> = {
                let shard = shard
                    .read()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                shard
                    .iter()
                    .filter_map(|(id, session)| Some((*id, session.expired(options)?)))
                    .collect()
            };
            for (id, why) in expired {
                // Looked at again: it may have been used meanwhile.
                let session = self.find(&id).filter(|it| it.expired(options).is_some());
                if session.is_some()
                    && let Some(session) = self.remove(&id)
                {
                    tracing::debug!(why, "session expired");
                    session.close(&Closed::protocol(why));
                }
            }
        }
        if let Some(store) = &options.store {
            store.expire(Instant::now());
        }
    }

    /// Ends all of them.
    pub(crate) fn close(&self, reason: &Closed) {
        for shard in &self.shards {
            let ids: Vec<SessionId> = {
                let shard = shard
                    .read()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                shard.keys().copied().collect()
            };
            for id in ids {
                if let Some(session) = self.remove(&id) {
                    session.close(reason);
                }
            }
        }
    }

    /// Starts the one task that ends what has expired, unless it runs. It ends with the table.
    pub(crate) fn keep_swept(self: &Arc<Self>, options: &Arc<Options>) {
        let mut sweeping = lock(&self.sweeping);
        if *sweeping {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            *sweeping = true;
            runtime.spawn(sweep(Arc::downgrade(self), Arc::clone(options)));
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.close(&Closed::local());
    }
}

async fn sweep(table: Weak<Table>, options: Arc<Options>) {
    let shortest = options.idle.min(options.handshake).min(options.lifetime);
    let pause = (shortest / 4).clamp(
        std::time::Duration::from_millis(10),
        std::time::Duration::from_secs(5),
    );
    loop {
        tokio::time::sleep(pause).await;
        let Some(table) = table.upgrade() else {
            return;
        };
        table.sweep(&options);
    }
}

/// A place in the table, given back unless it is kept.
pub(crate) struct Place<'a> {
    table: &'a Table,
    principal: Option<Principal>,
    kept: bool,
}

impl<'a> Place<'a> {
    /// Takes one.
    ///
    /// # Errors
    /// There is none; the refusal names the limit.
    pub(crate) fn take(
        table: &'a Table,
        options: &Options,
        principal: Option<Principal>,
    ) -> Result<Self, Refusal> {
        let reserve = || table.reserve(principal.as_ref(), options);
        let reserved = reserve().or_else(|_| {
            // Some may have expired since the table was last looked through.
            table.sweep(options);
            reserve()
        });
        match reserved {
            Ok(()) => Ok(Self {
                table,
                principal,
                kept: false,
            }),
            Err(Full::All) => Err(Refusal::busy(format!(
                "there are {} sessions, the limit of Options::with_max_sessions; send again later",
                options.max_sessions
            ))),
            Err(Full::Principal) => Err(Refusal::busy(format!(
                "you have {} sessions, the limit of Options::with_principal_sessions; end one",
                options.principal_sessions
            ))),
        }
    }

    /// Something is in it now, and gives it back when it goes.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.table.release(self.principal.as_ref());
        }
    }
}

/// A session nobody keeps, for requests of a revision.
pub(crate) fn shared(
    service: &Arc<dyn Service>,
    options: &Arc<Options>,
    revision: Option<mcp_protocol::Revision>,
) -> Arc<HttpSession> {
    let inbound = ServerSession::stateless(Arc::clone(service), revision);
    HttpSession::new(inbound, options, None, None)
}
