//! The cache of used proofs.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocol::{BoxFuture, lock};
use tokio::time::Instant;

/// Default capacity of a [`MemoryReplayCache`], in proofs.
const CAPACITY: usize = 262_144;

/// One key may use at most the fraction 1 / `SHARE` of the entries of a [`MemoryReplayCache`].
const SHARE: usize = 4;

/// A store of used proofs, so that a server does not accept a proof twice.
///
/// If several processes of a server share a cache, such as Redis, none of them accepts a proof that another process has accepted.
/// The cache also contains tickets for requests that a process forwards to another process (`ServerOptions::with_forwarding`), so
/// that the other process accepts their proofs.
pub trait ReplayCache: Send + Sync + 'static {
    /// Stores a proof for `lifetime` if it is not stored yet. Returns whether it was stored; `false` means that the proof is a
    /// replay.
    ///
    /// `key` is the thumbprint of the client's key, and `id` identifies the proof of this key. Both are base64url with 43
    /// characters. Checking and storing must be one atomic step, such as the Redis command `SET key:id 1 NX PX lifetime`.
    ///
    /// # Errors
    /// The cache is full or cannot be reached. The server then rejects the request with status 503.
    fn insert<'a>(
        &'a self,
        key: &'a str,
        id: &'a str,
        lifetime: Duration,
    ) -> BoxFuture<'a, Result<bool, Box<dyn std::error::Error + Send + Sync>>>;

    /// Removes an entry that [`insert`](Self::insert) has stored and that has not expired. Returns whether there was such an
    /// entry.
    ///
    /// The server removes only tickets, never proofs. Checking and removing must be one atomic step, such as the Redis command
    /// `DEL key:id`. If several calls run concurrently, exactly one returns `true`. Default: returns `false` and removes nothing.
    /// A process then rejects a forwarded request, because the other process has stored the proof in this cache.
    ///
    /// # Errors
    /// The cache cannot be reached. The server then rejects the request with status 503.
    fn remove<'a>(
        &'a self,
        key: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<bool, Box<dyn std::error::Error + Send + Sync>>> {
        let _ = (key, id);
        Box::pin(std::future::ready(Ok(false)))
    }
}

/// A replay cache in the memory of this process.
///
/// The cache contains up to 262,144 proofs, which take about 70 MB. The proofs of one key take at most a quarter of the cache.
/// The cache does not remove a proof before it expires. If the cache is full, it rejects further proofs until older proofs have
/// expired.
pub struct MemoryReplayCache {
    capacity: usize,
    used: Mutex<Used>,
}

#[derive(Default)]
struct Used {
    /// The ids of the stored proofs and tickets, each with its time of expiry.
    ids: HashMap<Arc<str>, Instant>,
    /// The ids in the order of insertion, each with its key. Removed ids remain here until they expire.
    expiries: VecDeque<(Instant, Box<str>, Arc<str>)>,
    per_key: HashMap<Box<str>, usize>,
}

impl MemoryReplayCache {
    /// Creates a cache with the default capacity.
    pub fn new() -> Self {
        Self::with_capacity(CAPACITY)
    }

    /// Creates a cache for this number of proofs. To serve a client without interruption, the number must be at least 8 ×
    /// (requests per second of the client) × ([window](super::Dpop::window) in seconds).
    pub fn with_capacity(proofs: usize) -> Self {
        Self {
            capacity: proofs.max(SHARE),
            used: Mutex::default(),
        }
    }

    fn store(&self, key: &str, id: &str, lifetime: Duration) -> Result<bool, String> {
        let now = Instant::now();
        let used = &mut *lock(&self.used);
        used.forget(now);
        if used.ids.contains_key(id) {
            return Ok(false);
        }
        let of_key = used.per_key.get(key).copied().unwrap_or_default();
        let total = used.expiries.len();
        if total >= self.capacity || of_key >= self.capacity / SHARE {
            return Err(format!(
                "the replay cache has {total} proofs, {of_key} of them for one key; \
                 create a cache for more than {} proofs with MemoryReplayCache::with_capacity",
                self.capacity
            ));
        }
        let (until, id) = (now + lifetime, Arc::<str>::from(id));
        used.ids.insert(Arc::clone(&id), until);
        used.expiries.push_back((until, key.into(), id));
        *used.per_key.entry(key.into()).or_default() += 1;
        Ok(true)
    }

    fn take(&self, id: &str) -> bool {
        let until = lock(&self.used).ids.remove(id);
        until.is_some_and(|until| until >= Instant::now())
    }
}

impl Used {
    /// Removes expired entries, the oldest first. Stops at the first entry that has not expired.
    fn forget(&mut self, now: Instant) {
        let is_expired = |(until, ..): &(Instant, Box<str>, Arc<str>)| *until < now;
        while self.expiries.front().is_some_and(is_expired) {
            let Some((until, key, id)) = self.expiries.pop_front() else {
                return;
            };
            // An id that was removed may be stored again.
            if self.ids.get(&id) == Some(&until) {
                self.ids.remove(&id);
            }
            if let Some(count) = self.per_key.get_mut(&key) {
                *count -= 1;
                if *count == 0 {
                    self.per_key.remove(&key);
                }
            }
        }
    }
}

impl Default for MemoryReplayCache {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryReplayCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryReplayCache")
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

impl ReplayCache for MemoryReplayCache {
    fn insert<'a>(
        &'a self,
        key: &'a str,
        id: &'a str,
        lifetime: Duration,
    ) -> BoxFuture<'a, Result<bool, Box<dyn std::error::Error + Send + Sync>>> {
        let stored = self.store(key, id, lifetime).map_err(Into::into);
        Box::pin(std::future::ready(stored))
    }

    fn remove<'a>(
        &'a self,
        _key: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<bool, Box<dyn std::error::Error + Send + Sync>>> {
        Box::pin(std::future::ready(Ok(self.take(id))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_proof_is_stored_until_it_expires() {
        let cache = MemoryReplayCache::new();
        assert_eq!(cache.store("k", "1", MINUTE), Ok(true));
        tokio::time::advance(MINUTE).await;
        assert_eq!(cache.store("k", "1", MINUTE), Ok(false));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(cache.store("k", "1", MINUTE), Ok(true));
        let used = lock(&cache.used);
        assert_eq!((used.ids.len(), used.expiries.len()), (1, 1));
        assert_eq!(used.per_key["k"], 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_cache_rejects_new_proofs_and_keeps_stored_proofs() {
        let cache = MemoryReplayCache::with_capacity(8);
        for n in 0..8 {
            let (key, id) = (n / 2, n);
            let stored = cache.store(&key.to_string(), &id.to_string(), MINUTE);
            assert_eq!(stored, Ok(true));
        }
        let full = cache.store("9", "9", MINUTE).unwrap_err();
        assert!(full.contains("the replay cache has 8 proofs"), "{full}");
        assert_eq!(cache.store("0", "0", MINUTE), Ok(false));
        tokio::time::advance(MINUTE * 2).await;
        assert_eq!(cache.store("9", "9", MINUTE), Ok(true));
        assert_eq!(lock(&cache.used).ids.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn an_entry_is_removed_once_and_can_be_stored_again() {
        let cache = MemoryReplayCache::with_capacity(16);
        assert!(!cache.take("1"));
        assert_eq!(cache.store("k", "1", MINUTE), Ok(true));
        assert!(cache.take("1") && !cache.take("1"));
        tokio::time::advance(MINUTE / 2).await;
        assert_eq!(cache.store("k", "1", MINUTE), Ok(true));
        // The expiry of the first entry does not remove the second one.
        tokio::time::advance(MINUTE).await;
        assert_eq!(cache.store("k", "1", MINUTE), Ok(false));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(!cache.take("1"));
        // Removed entries count until they would have expired, because they still take memory.
        for _ in 0..4 {
            assert_eq!(cache.store("k", "2", MINUTE), Ok(true));
            assert!(cache.take("2"));
        }
        assert!(cache.store("k", "2", MINUTE).is_err());
        tokio::time::advance(MINUTE * 2).await;
        assert_eq!(cache.store("k", "2", MINUTE), Ok(true));
        assert_eq!(lock(&cache.used).expiries.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_proofs_of_one_key_take_at_most_a_part_of_the_cache() {
        let cache = MemoryReplayCache::with_capacity(400);
        let stored = (0..1_000).filter(|n| cache.store("a", &n.to_string(), MINUTE).is_ok());
        assert_eq!(stored.count(), 100);
        assert_eq!(cache.store("b", "b", MINUTE), Ok(true));
    }
}
