//! The cache of introspection responses.
//!
//! The keys of the cache are digests, so tokens are not stored. Concurrent requests for the same token share one request to the
//! issuer.

use std::collections::{HashMap, hash_map};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocol::lock;
use tokio::sync::{Mutex as AsyncMutex, Semaphore};
use tokio::time::{Instant, timeout};

use crate::Secret;
use crate::digest::sha256;
use crate::error::Error;
use crate::server::identity::Identity;

/// Default and maximum time for which an active token is cached.
pub(crate) const MAX_TTL: Duration = Duration::from_secs(60);
/// Time for which an inactive token is cached. It is short, because some servers of the issuer might
/// not know a new token yet.
const INACTIVE_TTL: Duration = Duration::from_secs(3);
/// Delay after a failed request to the issuer before the next request.
const BACKOFF: Duration = Duration::from_secs(2);
/// Maximum number of cached tokens.
const MAX_ENTRIES: usize = 1_000;
/// Maximum number of concurrent requests to the issuer. Further requests wait.
const MAX_CONCURRENT: usize = 32;
/// Maximum number of requests to the issuer that can start at the same time after a pause.
const BURST: f64 = 1_000.0;
/// Number of requests to the issuer that can start in each second.
const PER_SECOND: f64 = 100.0;
/// Maximum time that a request waits before it is sent to the issuer.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of an introspection.
#[derive(Clone)]
pub(crate) enum Outcome {
    Active(Identity),
    /// The token is not active. Contains the reason for the client.
    Inactive(String),
}

type IntrospectionResult = Result<Outcome, Error>;
type CacheEntry = Arc<AsyncMutex<Option<(IntrospectionResult, Instant)>>>;

pub(crate) struct Cache {
    entries: Mutex<HashMap<String, CacheEntry>>,
    /// The permits for concurrent requests to the issuer.
    requests: Semaphore,
    rate: Mutex<Rate>,
    ttl: Duration,
}

/// The rate limit of requests to the issuer: [`BURST`] requests at once, and [`PER_SECOND`] more requests each second. Without a
/// limit, forged tokens would flood the issuer with requests.
struct Rate {
    left: f64,
    at: Instant,
}

impl Rate {
    fn take(&mut self, now: Instant) -> bool {
        let elapsed = now.duration_since(self.at).as_secs_f64();
        self.left = (self.left + elapsed * PER_SECOND).min(BURST);
        self.at = now;
        let has_room = self.left >= 1.0;
        if has_room {
            self.left -= 1.0;
        }
        has_room
    }
}

impl Cache {
    pub(crate) fn new(ttl: Duration) -> Self {
        Self {
            entries: Mutex::default(),
            requests: Semaphore::new(MAX_CONCURRENT),
            rate: Mutex::new(Rate {
                left: BURST,
                at: Instant::now(),
            }),
            ttl: ttl.min(MAX_TTL),
        }
    }

    /// Returns the cached result for a token, or runs the introspection.
    pub(crate) async fn get<F>(
        &self,
        token: &Secret,
        introspect: impl FnOnce() -> F,
    ) -> IntrospectionResult
    where
        F: Future<Output = IntrospectionResult>,
    {
        let entry = self.entry(sha256(token.expose()))?;
        let mut cached = entry.lock().await;
        if let Some((result, until)) = &*cached
            && Instant::now() < *until
        {
            return result.clone();
        }
        if !lock(&self.rate).take(Instant::now()) {
            return Err(busy());
        }
        let result = match timeout(QUEUE_TIMEOUT, self.requests.acquire()).await {
            Ok(_permit) => introspect().await,
            Err(_) => Err(busy()),
        };
        let ttl = match &result {
            Ok(Outcome::Active(_)) => self.ttl,
            Ok(Outcome::Inactive(_)) => INACTIVE_TTL,
            Err(error) => {
                tracing::debug!(%error, "token introspection failed");
                BACKOFF
            }
        };
        *cached = Some((result.clone(), Instant::now() + ttl));
        result
    }

    fn entry(&self, key: String) -> Result<CacheEntry, Error> {
        let mut entries = lock(&self.entries);
        if entries.len() >= MAX_ENTRIES && !entries.contains_key(&key) {
            evict(&mut entries)?;
        }
        Ok(match entries.entry(key) {
            hash_map::Entry::Occupied(entry) => Arc::clone(entry.get()),
            hash_map::Entry::Vacant(entry) => Arc::clone(entry.insert(CacheEntry::default())),
        })
    }
}

/// Removes expired entries. If no entry has expired, removes one entry for which no request waits, preferably the entry of an
/// inactive token. Forged tokens therefore do not displace active tokens.
fn evict(entries: &mut HashMap<String, CacheEntry>) -> Result<(), Error> {
    let now = Instant::now();
    let is_idle = |entry: &CacheEntry| Arc::strong_count(entry) == 1;
    let is_expired = |entry: &CacheEntry| {
        // A locked entry has a running request.
        let cached = entry.try_lock();
        cached.is_ok_and(|k| k.as_ref().is_none_or(|(_, until)| now >= *until))
    };
    entries.retain(|_, entry| !(is_idle(entry) && is_expired(entry)));
    if entries.len() >= MAX_ENTRIES {
        let is_active = |entry: &CacheEntry| {
            let cached = entry.try_lock();
            cached.is_ok_and(|k| matches!(&*k, Some((Ok(Outcome::Active(_)), _))))
        };
        let idle = || entries.iter().filter(|(_, entry)| is_idle(entry));
        let inactive = idle().find(|(_, entry)| !is_active(entry));
        let key = inactive
            .or_else(|| idle().next())
            .map(|(key, _)| key.clone());
        let key = key.ok_or_else(busy)?;
        entries.remove(&key);
    }
    Ok(())
}

fn busy() -> Error {
    Error::unavailable("too many concurrent token introspections; try again later")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn active() -> IntrospectionResult {
        Ok(Outcome::Active(Identity::new("issuer", "subject")))
    }

    fn inactive() -> IntrospectionResult {
        Ok(Outcome::Inactive("no".to_owned()))
    }

    /// Looks up a token, and returns the number of requests that the issuer has received so far.
    async fn asked(
        cache: &Cache,
        token: &str,
        say: fn() -> IntrospectionResult,
        count: &AtomicUsize,
    ) -> usize {
        let introspect = || async {
            tokio::task::yield_now().await;
            count.fetch_add(1, Ordering::SeqCst);
            say()
        };
        let _ = cache.get(&token.into(), introspect).await;
        count.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn results_are_cached_for_a_short_time() {
        for (say, moments) in [
            (
                active as fn() -> IntrospectionResult,
                Duration::from_secs(60),
            ),
            (inactive, Duration::from_secs(3)),
            (|| Err(busy()), Duration::from_secs(2)),
        ] {
            let (cache, count) = (Cache::new(MAX_TTL * 10), AtomicUsize::new(0));
            assert_eq!(asked(&cache, "a", say, &count).await, 1);
            tokio::time::advance(moments - Duration::from_millis(1)).await;
            assert_eq!(asked(&cache, "a", say, &count).await, 1);
            tokio::time::advance(Duration::from_millis(1)).await;
            assert_eq!(asked(&cache, "a", say, &count).await, 2);
            assert_eq!(asked(&cache, "b", say, &count).await, 3);
        }
    }

    #[tokio::test]
    async fn fifty_requests_with_one_token_cause_one_introspection() {
        let (cache, count) = (Arc::new(Cache::new(MAX_TTL)), Arc::new(AtomicUsize::new(0)));
        let all: Vec<_> = (0..50)
            .map(|_| {
                let (cache, count) = (Arc::clone(&cache), Arc::clone(&count));
                tokio::spawn(async move { asked(&cache, "a", active, &count).await })
            })
            .collect();
        for one in all {
            assert_eq!(one.await.unwrap(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn forged_tokens_do_not_fill_the_cache() {
        let (cache, count) = (Cache::new(MAX_TTL), AtomicUsize::new(0));
        asked(&cache, "real", active, &count).await;
        for token in 0..5_000 {
            asked(&cache, &format!("token-{token}"), inactive, &count).await;
            assert!(cache.entries.lock().unwrap().len() <= MAX_ENTRIES);
        }
        // The real token and the forged ones share the burst.
        assert_eq!(count.load(Ordering::SeqCst), 1_000);
        assert_eq!(asked(&cache, "real", active, &count).await, 1_000);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(asked(&cache, "new", active, &count).await, 1_001);
    }

    #[tokio::test]
    async fn a_cancelled_introspection_is_repeated_by_the_next_request() {
        let (cache, count) = (Cache::new(MAX_TTL), AtomicUsize::new(0));
        let token = "a".into();
        let given_up = cache.get(&token, std::future::pending);
        assert!(timeout(Duration::ZERO, given_up).await.is_err());
        assert_eq!(asked(&cache, "a", active, &count).await, 1);
    }

    #[tokio::test]
    async fn a_new_token_replaces_no_other_token_while_the_cache_has_space() {
        let (cache, count) = (Cache::new(MAX_TTL), AtomicUsize::new(0));
        for token in ["a", "b", "c"] {
            asked(&cache, token, inactive, &count).await;
        }
        for token in ["a", "b", "c"] {
            assert_eq!(asked(&cache, token, inactive, &count).await, 3);
        }
    }
}
