//! The table of sessions. It finds and counts sessions, and ends expired sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::time::Duration;

use mcp_protocol::Closed;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::permit::share::KnownOwner;
use crate::server::options::ServerOptions;
use crate::server::session::HttpSession;
use crate::server::session::usage::SessionUsage;
use crate::server::session_id::SessionId;
use crate::server::session_store::SessionLease;
use crate::sync::lock;

const SHARDS: usize = 16;

/// Divisor of the maximum number of sessions. When the table is full, the quotient is how many sessions are ended at once.
const EVICTION_DIVISOR: usize = 100;

/// Maximum number of ended sessions that are queued for removal from the session store. Further ended sessions stay in the store
/// until they expire.
const MAX_EVICTED: usize = 16_384;

/// Minimum time between two sweeps that are started because a client was rejected. A sweep visits every session, and many clients
/// may be rejected within a short time.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(100);

/// The sessions by id. A fast hash is sufficient, because ids are random and a client cannot choose the id of a session.
type Sessions = HashMap<SessionId, Arc<HttpSession>, foldhash::fast::RandomState>;

/// All sessions of an endpoint.
pub(crate) struct SessionTable {
    shards: [RwLock<Sessions>; SHARDS],
    pub(crate) usage: SessionUsage,
    /// Objects of sessions that another endpoint has claimed. An object is dropped when its requests have finished.
    released: Mutex<Vec<(SessionId, Weak<HttpSession>)>>,
    /// Sessions that were ended to make room for other sessions, and that are still in the session store.
    evicted: Mutex<Vec<EvictedSession>>,
    sweeper: Mutex<Sweeper>,
}

/// The lease and the client of a session that was ended to make room for other sessions.
pub(crate) type EvictedSession = (SessionLease, Option<KnownOwner>);

/// Access to the leases of sessions that several endpoints share.
pub(crate) trait Leases: Send + Sync + 'static {
    /// Renews the leases of sessions in use, and removes evicted sessions from the store.
    fn renew(self: &Arc<Self>, table: &Arc<SessionTable>) -> impl Future<Output = ()> + Send;
}

/// The task that ends expired sessions, and the time of the last sweep that a rejected client caused.
#[derive(Default)]
struct Sweeper {
    task: Option<AbortHandle>,
    last_sweep: Option<Instant>,
}

impl SessionTable {
    pub(crate) fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| RwLock::default()),
            usage: SessionUsage::default(),
            released: Mutex::default(),
            evicted: Mutex::default(),
            sweeper: Mutex::default(),
        }
    }

    fn shard(&self, id: &SessionId) -> &RwLock<Sessions> {
        &self.shards[usize::from(id.shard_byte()) % SHARDS]
    }

    pub(crate) fn find(&self, id: &SessionId) -> Option<Arc<HttpSession>> {
        let shard = self.shard(id).read();
        let shard = shard.unwrap_or_else(std::sync::PoisonError::into_inner);
        shard.get(id).cloned()
    }

    /// Ends the sessions that have been idle for the longest time. If `owner` is set, ends only sessions of this client.
    /// Otherwise, ends only sessions of the clients whose sessions use the most memory. A session with a principal is never
    /// ended. Each call visits every session, so it ends several sessions at once. Returns the number of ended sessions.
    pub(super) fn evict(&self, owner: Option<&KnownOwner>, options: &ServerOptions) -> usize {
        let largest = self.usage.largest_owners();
        let is_candidate = |session: &HttpSession| match (owner, session.owner()) {
            (Some(owner), of) => of == Some(owner),
            (None, Some(of)) => largest.contains(of),
            // Clients without a principal and an address cannot be distinguished.
            (None, None) => true,
        };
        let mut idle: Vec<(Instant, SessionId)> = Vec::new();
        for shard in &self.shards {
            let shard = shard
                .read()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            idle.extend(shard.iter().filter_map(|(id, session)| {
                let since = session.idle_since().filter(|_| is_candidate(session))?;
                Some((since, *id))
            }));
        }
        let count = (options.session_limits.max_sessions / EVICTION_DIVISOR)
            .max(1)
            .min(idle.len());
        if let Some(last) = count.checked_sub(1) {
            idle.select_nth_unstable_by_key(last, |(since, _)| *since);
        }
        for (_, id) in idle.into_iter().take(count) {
            if let Some(session) = self.remove(&id) {
                tracing::debug!("ended an idle session to make room for others");
                self.record_evicted(&session);
                session.close(&Closed::protocol(
                    "the session was idle while others were opened (SessionLimits::max_sessions, \
                     MemoryLimits::max_session_bytes)",
                ));
            }
        }
        count
    }

    fn record_evicted(&self, session: &HttpSession) {
        let mut evicted = lock(&self.evicted);
        if let Some(stored) = session
            .stored
            .as_ref()
            .filter(|_| evicted.len() < MAX_EVICTED)
        {
            evicted.push((stored.lease, session.owner().cloned()));
        }
    }

    /// Removes and returns the sessions that were ended to make room since the last call.
    pub(crate) fn take_evicted(&self) -> Vec<EvictedSession> {
        std::mem::take(&mut lock(&self.evicted))
    }

    /// Inserts a session. Its capacity must have been reserved.
    pub(crate) fn insert(&self, id: SessionId, session: Arc<HttpSession>) {
        let shard = self.shard(&id).write();
        let mut shard = shard.unwrap_or_else(std::sync::PoisonError::into_inner);
        shard.insert(id, session);
    }

    /// Removes and returns a session. The caller must close the session.
    pub(crate) fn remove(&self, id: &SessionId) -> Option<Arc<HttpSession>> {
        let shard = self.shard(id).write();
        let removed = shard
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .remove(id);
        if let Some(session) = &removed {
            self.release(session);
        }
        removed
    }

    /// Removes this session object from the table. Returns `false` if the table has another object under this id.
    pub(crate) fn remove_same(&self, id: &SessionId, session: &Arc<HttpSession>) -> bool {
        let shard = self.shard(id).write();
        let mut shard = shard.unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_same = shard
            .get(id)
            .is_some_and(|known| Arc::ptr_eq(known, session));
        if is_same {
            shard.remove(id);
            self.release(session);
        }
        is_same
    }

    /// Releases the capacity that a session uses.
    fn release(&self, session: &HttpSession) {
        self.usage.release(session.owner(), session.usage());
    }

    /// Ends expired sessions, and removes expired events from the event store.
    pub(crate) fn sweep(&self, options: &ServerOptions) {
        for shard in &self.shards {
            let expired: Vec<(SessionId, &'static str)> = {
                let shard = shard
                    .read()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                shard
                    .iter()
                    .filter_map(|(id, session)| Some((*id, session.expiry_reason(options)?)))
                    .collect()
            };
            for (id, why) in expired {
                // Checked again, because the session may have been used in the meantime.
                let session = self
                    .find(&id)
                    .filter(|session| session.expiry_reason(options).is_some());
                if session.is_some()
                    && let Some(session) = self.remove(&id)
                {
                    tracing::debug!(why, "session expired");
                    session.close(&Closed::protocol(why));
                }
            }
        }
        if let Some(store) = &options.event_store {
            store.expire(Instant::now());
        }
    }

    /// Stops serving a session that another endpoint has claimed. Its running requests can finish.
    pub(crate) fn yield_session(&self, id: &SessionId, session: &Arc<HttpSession>) {
        if !self.remove_same(id, session) {
            return;
        }
        {
            let mut released = lock(&self.released);
            released.retain(|(_, session)| session.strong_count() > 0);
            released.push((*id, Arc::downgrade(session)));
        }
        session.stop_serving();
    }

    /// Returns the objects that this endpoint has created for the session under earlier leases. Each of them has requests that
    /// are still running.
    pub(crate) fn released(&self, session: &HttpSession) -> Vec<Arc<HttpSession>> {
        let Some(stored) = &session.stored else {
            return Vec::new();
        };
        let released = lock(&self.released);
        let same = released
            .iter()
            .filter(|(id, _)| *id == stored.lease.session);
        same.filter_map(|(_, session)| session.upgrade()).collect()
    }

    /// Returns all sessions for which `is_wanted` returns `true`.
    pub(crate) fn select(
        &self,
        is_wanted: impl Fn(&HttpSession) -> bool,
    ) -> Vec<(SessionId, Weak<HttpSession>)> {
        let mut selected = Vec::new();
        for shard in &self.shards {
            let shard = shard
                .read()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let sessions = shard.iter().filter(|(_, session)| is_wanted(session));
            selected.extend(sessions.map(|(id, session)| (*id, Arc::downgrade(session))));
        }
        selected
    }

    /// Closes all sessions.
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
        let released = std::mem::take(&mut *lock(&self.released));
        for session in released.iter().filter_map(|(_, session)| session.upgrade()) {
            session.close(reason);
        }
    }

    /// Ends expired sessions. Does nothing if the last sweep was less than [`MIN_SWEEP_INTERVAL`] ago.
    pub(super) fn sweep_if_due(&self, options: &ServerOptions) {
        let now = Instant::now();
        {
            let last_sweep = &mut lock(&self.sweeper).last_sweep;
            if last_sweep.is_some_and(|last_sweep| {
                now.saturating_duration_since(last_sweep) < MIN_SWEEP_INTERVAL
            }) {
                return;
            }
            *last_sweep = Some(now);
        }
        self.sweep(options);
    }

    /// Starts the task that ends expired sessions, unless it is running. In each round, the task also renews `leases`. The task
    /// ends with the table.
    pub(crate) fn ensure_sweeper(
        self: &Arc<Self>,
        options: &Arc<ServerOptions>,
        leases: Option<&Arc<impl Leases>>,
    ) {
        let task = &mut lock(&self.sweeper).task;
        if task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let table = Arc::downgrade(self);
            let sweeps = sweep_regularly(table, Arc::clone(options), leases.cloned());
            let sweeps = runtime.spawn(sweeps);
            *task = Some(sweeps.abort_handle());
        }
    }
}

impl Drop for SessionTable {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.sweeper).task.take() {
            task.abort();
        }
        self.close(&Closed::local());
    }
}

async fn sweep_regularly(
    table: Weak<SessionTable>,
    options: Arc<ServerOptions>,
    leases: Option<Arc<impl Leases>>,
) {
    let shortest = options
        .timeouts
        .session_idle
        .min(options.timeouts.handshake)
        .min(options.timeouts.session_lifetime);
    let pause = (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(5));
    loop {
        tokio::time::sleep(pause).await;
        let Some(table) = table.upgrade() else {
            return;
        };
        table.sweep(&options);
        if let Some(leases) = &leases {
            leases.renew(&table).await;
        }
    }
}
