//! The event store in memory, with limits on time and size.

use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use mcp_protocol::BoxFuture;
use tokio::time::Instant;

use super::log::{self, SessionLog};
use super::{Durability, EventStore, EventStoreError, Replay, StreamKey};
use crate::server::session_id::SessionId;
use crate::sync::lock;

/// Number of shards of the session table. Each shard has its own lock.
const SHARDS: usize = 16;

type Shard = HashMap<SessionId, SessionLog>;

/// An event store in the memory of this process.
///
/// If appending an event exceeds the limit of the session or of the whole store, the session loses its own oldest events. It
/// never loses events because of another session. The store records which events it has dropped, so that it never returns an
/// incomplete replay. It merges the records of streams without events when they use too much memory or are older than the
/// retention.
pub struct MemoryEventStore {
    shards: [Mutex<Shard>; SHARDS],
    /// The memory of all sessions together, in bytes.
    pub(super) total: AtomicUsize,
    session_bytes: usize,
    total_bytes: usize,
    retention: Duration,
}

impl MemoryEventStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            total: AtomicUsize::new(0),
            session_bytes: 8 << 20,
            total_bytes: 32 << 20,
            retention: Duration::from_secs(5 * 60),
        }
    }

    /// Sets the maximum memory of one session, in bytes. This includes the memory that the store needs to remember which events
    /// it has dropped. Default 8 MiB.
    #[must_use]
    pub fn with_max_session_bytes(mut self, bytes: usize) -> Self {
        self.session_bytes = bytes;
        self
    }

    /// Sets the maximum memory of all sessions. Default 32 MiB. The record of a session that has lost all its events needs a few
    /// hundred bytes in addition to this limit.
    #[must_use]
    pub fn with_max_total_bytes(mut self, bytes: usize) -> Self {
        self.total_bytes = bytes;
        self
    }

    /// Sets how long an event is kept. Default 5 minutes.
    #[must_use]
    pub fn with_retention(mut self, retention: Duration) -> Self {
        self.retention = retention;
        self
    }

    pub(super) fn shard(&self, session: SessionId) -> MutexGuard<'_, Shard> {
        lock(&self.shards[usize::from(session.shard_byte()) % SHARDS])
    }

    /// Updates the total memory after a session has changed. `before` is the memory of the session before the change. Returns the
    /// new total.
    fn count(&self, before: usize, log: &SessionLog) -> usize {
        let after = log.footprint();
        if after < before {
            let freed = before - after;
            self.total.fetch_sub(freed, Ordering::Relaxed) - freed
        } else {
            let taken = after - before;
            self.total.fetch_add(taken, Ordering::Relaxed) + taken
        }
    }
}

impl Default for MemoryEventStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryEventStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryEventStore")
            .field("bytes", &self.total)
            .field("session_bytes", &self.session_bytes)
            .field("total_bytes", &self.total_bytes)
            .field("retention", &self.retention)
            .finish_non_exhaustive()
    }
}

impl EventStore for MemoryEventStore {
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability {
        let mut shard = self.shard(key.session);
        let log = shard.entry(key.session).or_default();
        let before = log.footprint();
        // Read under the lock, so that the events of a session are in the order of time.
        let now = Instant::now();
        if event.len() > self.session_bytes.min(self.total_bytes) {
            // The event would evict everything else and still exceed the limit.
            log.skip(key.stream, sequence, now);
        } else {
            log.append(key.stream, sequence, event, now);
        }
        let mut total = self.count(before, log);
        loop {
            let before = log.footprint();
            let is_over = before > self.session_bytes || total > self.total_bytes;
            if !is_over || !log.evict() {
                return Durability::Immediate;
            }
            total = self.count(before, log);
        }
    }

    fn replay(
        &self,
        key: StreamKey,
        after: u64,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Replay, EventStoreError>> {
        let shard = self.shard(key.session);
        let replay = match shard.get(&key.session) {
            Some(log) => log.replay(key.stream, after, bytes),
            None => log::unknown(after),
        };
        Box::pin(ready(Ok(replay)))
    }

    fn forget_stream(&self, key: StreamKey) {
        let mut shard = self.shard(key.session);
        let Some(log) = shard.get_mut(&key.session) else {
            return;
        };
        let before = log.footprint();
        log.forget(key.stream);
        self.count(before, log);
        if log.is_empty() {
            shard.remove(&key.session);
        }
    }

    fn forget_session(&self, session: SessionId) {
        let log = self.shard(session).remove(&session);
        // Dropped here, after the lock was released.
        if let Some(log) = log {
            self.total.fetch_sub(log.footprint(), Ordering::Relaxed);
        }
    }

    fn expire(&self, now: Instant) {
        for shard in &self.shards {
            for log in lock(shard).values_mut() {
                let before = log.footprint();
                log.expire(now, self.retention);
                self.count(before, log);
            }
        }
    }
}
