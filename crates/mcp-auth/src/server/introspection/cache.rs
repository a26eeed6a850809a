//! What was said of tokens, for a few moments.
//!
//! It is found by a digest of the token: tokens are not kept. A token that is asked about already
//! is not asked about twice at once.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Mutex as Turn, Semaphore};
use tokio::time::{Instant, timeout};

use crate::Secret;
use crate::digest::sha256;
use crate::error::{Error, Kind};
use crate::server::identity::Identity;
use crate::sync::lock;

/// For how long what is said of a good token is remembered, unless told otherwise, and at most.
pub(crate) const GOOD: Duration = Duration::from_secs(60);
/// The same of a bad token, which may only be too new for the issuer's other half.
const BAD: Duration = Duration::from_secs(3);
/// For how long a failure stands before somebody tries again.
const BACKOFF: Duration = Duration::from_secs(2);
/// Tokens that are remembered.
const MOST: usize = 1_000;
/// Questions to the issuer at once. The others wait.
const AT_ONCE: usize = 32;
/// For how long they wait.
const PATIENCE: Duration = Duration::from_secs(5);

/// What was said of a token.
#[derive(Clone)]
pub(crate) enum Outcome {
    Good(Identity),
    /// The reason is for the client.
    Bad(String),
}

type Said = Result<Outcome, Error>;
type Entry = Arc<Turn<Option<(Said, Instant)>>>;

/// What was said of tokens.
pub(crate) struct Cache {
    entries: Mutex<HashMap<String, Entry>>,
    /// Held by who asks.
    questions: Semaphore,
    good: Duration,
}

impl Cache {
    pub(crate) fn new(good: Duration) -> Self {
        Self {
            entries: Mutex::default(),
            questions: Semaphore::new(AT_ONCE),
            good: good.min(GOOD),
        }
    }

    /// What was said of a token, or what is said if it is asked now.
    pub(crate) async fn get<F>(&self, token: &Secret, ask: impl FnOnce() -> F) -> Said
    where
        F: Future<Output = Said>,
    {
        let entry = self.entry(sha256(token.expose()))?;
        let mut known = entry.lock().await;
        if let Some((said, until)) = &*known
            && Instant::now() < *until
        {
            return said.clone();
        }
        let said = match timeout(PATIENCE, self.questions.acquire()).await {
            Ok(_question) => ask().await,
            Err(_) => Err(busy()),
        };
        let keep = match &said {
            Ok(Outcome::Good(_)) => self.good,
            Ok(Outcome::Bad(_)) => BAD,
            Err(error) => {
                tracing::debug!(%error, "a token could not be asked about");
                BACKOFF
            }
        };
        *known = Some((said.clone(), Instant::now() + keep));
        said
    }

    fn entry(&self, key: String) -> Result<Entry, Error> {
        let mut entries = lock(&self.entries);
        if entries.len() >= MOST && !entries.contains_key(&key) {
            make_room(&mut entries)?;
        }
        Ok(match entries.entry(key) {
            Place::Occupied(place) => Arc::clone(place.get()),
            Place::Vacant(place) => Arc::clone(place.insert(Entry::default())),
        })
    }
}

/// Forgets what is over; if nothing is, anything that nobody waits for.
fn make_room(entries: &mut HashMap<String, Entry>) -> Result<(), Error> {
    let now = Instant::now();
    let is_idle = |entry: &Entry| Arc::strong_count(entry) == 1;
    let is_over = |entry: &Entry| {
        // Locked means asked about.
        let known = entry.try_lock();
        known.is_ok_and(|it| it.as_ref().is_none_or(|(_, until)| now >= *until))
    };
    entries.retain(|_, entry| !(is_idle(entry) && is_over(entry)));
    if entries.len() >= MOST {
        let idle = entries.iter().find(|(_, entry)| is_idle(entry));
        let key = idle.map(|(key, _)| key.clone()).ok_or_else(busy)?;
        entries.remove(&key);
    }
    Ok(())
}

fn busy() -> Error {
    Error::new(Kind::Unavailable, "too many tokens are asked about at once")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn good() -> Said {
        Ok(Outcome::Good(Identity::new("issuer", "subject")))
    }

    fn bad() -> Said {
        Ok(Outcome::Bad("no".to_owned()))
    }

    /// Asks, and says how often the issuer was asked so far.
    async fn asked(cache: &Cache, token: &str, say: fn() -> Said, count: &AtomicUsize) -> usize {
        let ask = || async {
            tokio::task::yield_now().await;
            count.fetch_add(1, Ordering::SeqCst);
            say()
        };
        let _ = cache.get(&token.into(), ask).await;
        count.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_said_is_remembered_for_moments() {
        for (say, moments) in [
            (good as fn() -> Said, Duration::from_secs(60)),
            (bad, Duration::from_secs(3)),
            (|| Err(busy()), Duration::from_secs(2)),
        ] {
            let (cache, count) = (Cache::new(GOOD * 10), AtomicUsize::new(0));
            assert_eq!(asked(&cache, "a", say, &count).await, 1);
            tokio::time::advance(moments - Duration::from_millis(1)).await;
            assert_eq!(asked(&cache, "a", say, &count).await, 1);
            tokio::time::advance(Duration::from_millis(1)).await;
            assert_eq!(asked(&cache, "a", say, &count).await, 2);
            assert_eq!(asked(&cache, "b", say, &count).await, 3);
        }
    }

    #[tokio::test]
    async fn fifty_requests_with_one_token_are_one_question() {
        let (cache, count) = (Arc::new(Cache::new(GOOD)), Arc::new(AtomicUsize::new(0)));
        let all: Vec<_> = (0..50)
            .map(|_| {
                let (cache, count) = (Arc::clone(&cache), Arc::clone(&count));
                tokio::spawn(async move { asked(&cache, "a", good, &count).await })
            })
            .collect();
        for one in all {
            assert_eq!(one.await.unwrap(), 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_that_somebody_makes_up_do_not_pile_up() {
        let (cache, count) = (Cache::new(GOOD), AtomicUsize::new(0));
        asked(&cache, "real", good, &count).await;
        tokio::time::advance(Duration::from_secs(1)).await;
        for token in 0..5_000 {
            asked(&cache, &format!("token-{token}"), bad, &count).await;
            assert!(cache.entries.lock().unwrap().len() <= MOST);
        }
        assert_eq!(count.load(Ordering::SeqCst), 5_001);
    }

    #[tokio::test]
    async fn a_question_that_was_given_up_is_asked_by_the_next() {
        let (cache, count) = (Cache::new(GOOD), AtomicUsize::new(0));
        let token = "a".into();
        let given_up = cache.get(&token, std::future::pending);
        assert!(timeout(Duration::ZERO, given_up).await.is_err());
        assert_eq!(asked(&cache, "a", good, &count).await, 1);
    }
}
