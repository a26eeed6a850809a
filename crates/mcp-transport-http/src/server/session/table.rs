//! The table of sessions: finds, counts and expires them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::time::Duration;

use mcp_protocol::{Closed, Principal};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::server::options::Options;
use crate::server::response::refusal::Refusal;
use crate::server::session::HttpSession;
use crate::server::session::id::SessionId;
use crate::sync::lock;

const SHARDS: usize = 16;

/// The minimum time between two sweeps of a full table that are caused by rejected clients. A sweep
/// visits every session, and many clients may be rejected at once.
const MIN_SWEEP_INTERVAL: Duration = Duration::from_millis(100);

/// The ids are random, and a client cannot choose the id of a session, so a fast hash suffices.
type Sessions = HashMap<SessionId, Arc<HttpSession>, foldhash::fast::RandomState>;

/// All sessions of an endpoint.
pub(crate) struct SessionTable {
    shards: [RwLock<Sessions>; SHARDS],
    len: AtomicUsize,
    principals: Mutex<HashMap<Principal, usize>>,
    sweeper: Mutex<Sweeper>,
}

/// The task that closes expired sessions, and the time of the last sweep for a rejected client.
#[derive(Default)]
struct Sweeper {
    task: Option<AbortHandle>,
    last_sweep: Option<Instant>,
}

/// The limit that was reached.
enum NoRoom {
    All,
    Principal,
}

impl SessionTable {
    pub(crate) fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| RwLock::default()),
            len: AtomicUsize::new(0),
            principals: Mutex::default(),
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

    /// Counts a session of this principal.
    fn reserve(&self, principal: Option<&Principal>, options: &Options) -> Result<(), NoRoom> {
        if self.len.fetch_add(1, Ordering::AcqRel) >= options.max_sessions {
            self.len.fetch_sub(1, Ordering::AcqRel);
            return Err(NoRoom::All);
        }
        if let Some(principal) = principal {
            let mut principals = lock(&self.principals);
            let count = principals.entry(principal.clone()).or_default();
            if *count >= options.max_sessions_per_principal {
                drop(principals);
                self.len.fetch_sub(1, Ordering::AcqRel);
                return Err(NoRoom::Principal);
            }
            *count += 1;
        }
        Ok(())
    }

    /// Releases the capacity of a session.
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

    /// Inserts a session whose capacity was reserved.
    pub(crate) fn insert(&self, id: SessionId, session: Arc<HttpSession>) {
        let shard = self.shard(&id).write();
        let mut shard = shard.unwrap_or_else(std::sync::PoisonError::into_inner);
        shard.insert(id, session);
    }

    /// Removes a session. The caller closes it.
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

    /// Closes expired sessions, and expires events in the store.
    pub(crate) fn sweep(&self, options: &Options) {
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
    }

    /// Sweeps, unless a sweep was done just now.
    fn sweep_if_due(&self, options: &Options) {
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

    /// Starts the task that closes expired sessions, unless it is running. It ends with the table.
    pub(crate) fn ensure_sweeper(self: &Arc<Self>, options: &Arc<Options>) {
        let task = &mut lock(&self.sweeper).task;
        if task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let sweeps = runtime.spawn(sweep_regularly(Arc::downgrade(self), Arc::clone(options)));
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

async fn sweep_regularly(table: Weak<SessionTable>, options: Arc<Options>) {
    let shortest = options
        .session_idle_timeout
        .min(options.handshake_timeout)
        .min(options.max_session_lifetime);
    let pause = (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(5));
    loop {
        tokio::time::sleep(pause).await;
        let Some(table) = table.upgrade() else {
            return;
        };
        table.sweep(&options);
    }
}

/// Capacity for a session. Released on drop, unless it is committed.
pub(crate) struct SessionReservation<'a> {
    table: &'a SessionTable,
    principal: Option<Principal>,
    is_committed: bool,
}

impl<'a> SessionReservation<'a> {
    /// Reserves capacity for a session.
    ///
    /// # Errors
    /// A limit is reached; the refusal names it.
    pub(crate) fn take(
        table: &'a SessionTable,
        options: &Options,
        principal: Option<Principal>,
    ) -> Result<Self, Refusal> {
        let reserve = || table.reserve(principal.as_ref(), options);
        let reserved = reserve().or_else(|_| {
            // Sessions may have expired since the last sweep.
            table.sweep_if_due(options);
            reserve()
        });
        match reserved {
            Ok(()) => Ok(Self {
                table,
                principal,
                is_committed: false,
            }),
            Err(NoRoom::All) => Err(Refusal::busy(format!(
                "{} sessions are open, the limit of Options::with_max_sessions; send again later",
                options.max_sessions
            ))),
            Err(NoRoom::Principal) => Err(Refusal::busy(format!(
                "the principal has {} sessions, the limit of Options::with_max_sessions_per_principal; \
                     end one of them",
                options.max_sessions_per_principal
            ))),
        }
    }

    /// Keeps the capacity: the session that uses it releases it.
    pub(crate) fn commit(mut self) {
        self.is_committed = true;
    }
}

impl Drop for SessionReservation<'_> {
    fn drop(&mut self) {
        if !self.is_committed {
            self.table.release(self.principal.as_ref());
        }
    }
}
