//! Events kept in memory, for as long as somebody may come back and no more than fits.

use std::fmt;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use mcp_protocol::BoxFuture;
use tokio::time::Instant;

use super::log::{self, Log};
use super::{EventStore, Replay, StoreError, Stored, StreamKey};
use crate::server::session::id::{BySession, SessionId};
use crate::sync::lock;

/// How many parts the table of sessions has, each under a lock of its own.
const SHARDS: usize = 16;

type Shard = BySession<Log>;

/// Keeps events in the memory of this process.
///
/// When a session or the whole store is over its limit, the session that appends loses its own
/// oldest events, never those of another. What was dropped is remembered, so that no replay has a
/// hole; when there is no room for that either, or the window is over, streams without events are
/// remembered all together.
pub struct MemoryStore {
    shards: [Mutex<Shard>; SHARDS],
    /// What all sessions cost.
    pub(super) total: AtomicUsize,
    session_bytes: usize,
    total_bytes: usize,
    window: Duration,
}

impl MemoryStore {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            total: AtomicUsize::new(0),
            session_bytes: 10 << 20,
            total_bytes: 256 << 20,
            window: Duration::from_secs(5 * 60),
        }
    }

    /// Sets how much one session may keep, the store's own records included. Default 10 MiB.
    #[must_use]
    pub fn with_session_bytes(mut self, bytes: usize) -> Self {
        self.session_bytes = bytes;
        self
    }

    /// Sets how much all sessions together may keep. Default 256 MiB. What it takes to remember
    /// that a session lost everything, a few hundred bytes each, comes on top.
    #[must_use]
    pub fn with_total_bytes(mut self, bytes: usize) -> Self {
        self.total_bytes = bytes;
        self
    }

    /// Sets how long an event is kept. Default 5 minutes.
    #[must_use]
    pub fn with_window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    pub(super) fn shard(&self, session: SessionId) -> MutexGuard<'_, Shard> {
        lock(&self.shards[usize::from(session.first()) % SHARDS])
    }

    /// Brings the total up to date with a session that cost `before`.
    fn count(&self, before: usize, log: &Log) -> usize {
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

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("bytes", &self.total)
            .field("session_bytes", &self.session_bytes)
            .field("total_bytes", &self.total_bytes)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

impl EventStore for MemoryStore {
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Stored {
        let mut shard = self.shard(key.session);
        let log = shard.entry(key.session).or_default();
        let before = log.footprint();
        // Taken under the lock, so that a session's events are in the order of time.
        let now = Instant::now();
        if event.len() > self.session_bytes.min(self.total_bytes) {
            // It would push out everything else and still not fit.
            log.skip(key.stream, sequence, now);
        } else {
            log.append(key.stream, sequence, event, now);
        }
        let mut total = self.count(before, log);
        loop {
            let before = log.footprint();
            let is_over = before > self.session_bytes || total > self.total_bytes;
            if !is_over || !log.evict() {
                return Stored::Now;
            }
            total = self.count(before, log);
        }
    }

    fn replay(&self, key: StreamKey, after: u64) -> BoxFuture<'_, Result<Replay, StoreError>> {
        let shard = self.shard(key.session);
        let replay = match shard.get(&key.session) {
            Some(log) => log.replay(key.stream, after),
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
        // The events are dropped here, without the lock.
        if let Some(log) = log {
            self.total.fetch_sub(log.footprint(), Ordering::Relaxed);
        }
    }

    fn expire(&self, now: Instant) {
        for shard in &self.shards {
            for log in lock(shard).values_mut() {
                let before = log.footprint();
                log.expire(now, self.window);
                self.count(before, log);
            }
        }
    }
}
