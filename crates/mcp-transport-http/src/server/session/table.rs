//! All sessions of an endpoint: found by id, counted, and ended when nobody uses them any more.

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
use crate::server::session::id::{BySession, SessionId};
use crate::sync::lock;

const SHARDS: usize = 16;

/// How often a full table is looked through for those who find no place: many may ask, and each look
/// is at every session.
const LOOK: Duration = Duration::from_millis(100);

/// All sessions of an endpoint.
pub(crate) struct Table {
    shards: [RwLock<BySession<Arc<HttpSession>>>; SHARDS],
    len: AtomicUsize,
    principals: Mutex<HashMap<Principal, usize>>,
    sweeping: Mutex<Sweeping>,
}

/// The task that ends what has expired, and when somebody without a place last did.
#[derive(Default)]
struct Sweeping {
    task: Option<AbortHandle>,
    looked: Option<Instant>,
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
            sweeping: Mutex::default(),
        }
    }

    fn shard(&self, id: &SessionId) -> &RwLock<BySession<Arc<HttpSession>>> {
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

    /// The same for somebody who found no place, unless it was done just now.
    fn look(&self, options: &Options) {
        let now = Instant::now();
        {
            let looked = &mut lock(&self.sweeping).looked;
            if looked.is_some_and(|looked| now.saturating_duration_since(looked) < LOOK) {
                return;
            }
            *looked = Some(now);
        }
        self.sweep(options);
    }

    /// Starts the one task that ends what has expired, unless it runs. It ends with the table.
    pub(crate) fn keep_swept(self: &Arc<Self>, options: &Arc<Options>) {
        let task = &mut lock(&self.sweeping).task;
        if task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let sweeps = runtime.spawn(sweep(Arc::downgrade(self), Arc::clone(options)));
            *task = Some(sweeps.abort_handle());
        }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.sweeping).task.take() {
            task.abort();
        }
        self.close(&Closed::local());
    }
}

async fn sweep(table: Weak<Table>, options: Arc<Options>) {
    let shortest = options.idle.min(options.handshake).min(options.lifetime);
    let pause = (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(5));
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
            table.look(options);
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
