//! The keys of an issuer, kept.
//!
//! Tokens come by the thousand and keys change by the month, so keys are kept. Whoever is first to
//! need them fetches them, and everybody else waits for that one request. Keys that are no longer
//! fresh are used while new ones are fetched behind the scenes, so that an issuer may be down for
//! hours and nobody notices. A token that names an unknown key may mean that there is a new one, or
//! that somebody makes up tokens: such a token causes a request at most once a minute.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use super::keys::Jwks;
use super::source::Source;
use crate::error::Error;
use crate::server::verify::Rejection;
use crate::sync::lock;

/// For how long a failure stands before somebody tries again.
const BACKOFF: Duration = Duration::from_secs(5);
/// How often tokens with unknown keys may cause a request.
const UNKNOWN_KEY_INTERVAL: Duration = Duration::from_secs(60);

/// For how long keys are kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheLifetimes {
    /// Younger than this they are not looked at again.
    pub(crate) ttl: Duration,
    /// Older than this they are not used.
    pub(crate) max_stale: Duration,
}

impl Default for CacheLifetimes {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(600),
            max_stale: Duration::from_secs(24 * 3_600),
        }
    }
}

/// Keys, and the way to newer ones.
#[derive(Clone)]
pub(crate) struct Cache(Arc<Inner>);

struct Inner {
    source: Source,
    lifetimes: CacheLifetimes,
    state: Mutex<State>,
    /// Held by whoever fetches.
    fetch_lock: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct State {
    keys: Option<(Jwks, Instant)>,
    /// Why there are no newer keys, if the last attempt failed.
    failure: Option<(Error, Instant)>,
    /// When a token with an unknown key last caused a request.
    unknown_key_fetch: Option<Instant>,
    /// How many requests have ended.
    fetches: u64,
}

impl State {
    /// Keys that may be used, and whether they are fresh.
    fn usable(&self, lifetimes: CacheLifetimes) -> Option<(&Jwks, bool)> {
        let (keys, since) = self.keys.as_ref()?;
        let age = since.elapsed();
        (age < lifetimes.max_stale).then_some((keys, age < lifetimes.ttl))
    }

    /// A failure that is too young to try again.
    fn recent_failure(&self) -> Option<&Error> {
        let (error, since) = self.failure.as_ref()?;
        (since.elapsed() < BACKOFF).then_some(error)
    }
}

impl Cache {
    pub(crate) fn new(source: Source, lifetimes: CacheLifetimes) -> Self {
        Self(Arc::new(Inner {
            source,
            lifetimes,
            state: Mutex::default(),
            fetch_lock: Arc::default(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }

    /// The keys, fetched if there are none.
    ///
    /// # Errors
    /// There are none and they cannot be had now.
    pub(crate) async fn keys(&self) -> Result<Jwks, Rejection> {
        let fetches_before = {
            let state = self.state();
            if let Some((keys, is_fresh)) = state.usable(self.0.lifetimes) {
                let keys = keys.clone();
                if !is_fresh && state.recent_failure().is_none() {
                    drop(state);
                    self.refresh_in_background();
                }
                return Ok(keys);
            }
            state.fetches
        };
        let turn = Arc::clone(&self.0.fetch_lock).lock_owned().await;
        {
            let state = self.state();
            let waited = state.fetches != fetches_before;
            if waited && let Some((keys, _)) = state.usable(self.0.lifetimes) {
                return Ok(keys.clone());
            }
            if let Some(error) = state.recent_failure() {
                return Err(Rejection::unavailable(error.clone()));
            }
        }
        self.fetch(turn).await
    }

    /// The keys, fetched anew because a token names one that is not among them; `None` if that
    /// was done a moment ago.
    ///
    /// # Errors
    /// Whether there is such a key cannot be found out now.
    pub(crate) async fn keys_for_unknown(&self) -> Result<Option<Jwks>, Rejection> {
        let fetches_before = self.state().fetches;
        let turn = Arc::clone(&self.0.fetch_lock).lock_owned().await;
        {
            let mut state = self.state();
            let waited = state.fetches != fetches_before;
            let recently = state
                .unknown_key_fetch
                .is_some_and(|u| u.elapsed() < UNKNOWN_KEY_INTERVAL);
            if waited || recently {
                return match (&state.failure, &state.keys) {
                    (Some((error, _)), _) => Err(Rejection::unavailable(error.clone())),
                    (None, Some((keys, _))) if waited => Ok(Some(keys.clone())),
                    _ => Ok(None),
                };
            }
            state.unknown_key_fetch = Some(Instant::now());
        }
        self.fetch(turn).await.map(Some)
    }

    /// Fetches in a task of its own: whoever asked may go away, and others wait for the same.
    async fn fetch(&self, turn: OwnedMutexGuard<()>) -> Result<Jwks, Rejection> {
        let this = self.clone();
        let fetched = tokio::spawn(async move { this.fly(turn).await });
        match fetched.await {
            Ok(Ok(keys)) => Ok(keys),
            Ok(Err(error)) => Err(Rejection::unavailable(error)),
            Err(error) => Err(Rejection::unavailable(error)),
        }
    }

    fn refresh_in_background(&self) {
        // Whoever holds it does just that.
        let Ok(turn) = Arc::clone(&self.0.fetch_lock).try_lock_owned() else {
            return;
        };
        let this = self.clone();
        tokio::spawn(async move { this.fly(turn).await });
    }

    async fn fly(&self, turn: OwnedMutexGuard<()>) -> Result<Jwks, Error> {
        let fetched = self.0.source.fetch().await;
        let now = Instant::now();
        let mut state = self.state();
        state.fetches += 1;
        match &fetched {
            Ok(keys) => {
                state.keys = Some((keys.clone(), now));
                state.failure = None;
            }
            Err(error) => {
                let issuer = &self.0.source.issuer.name;
                tracing::warn!(%issuer, %error, "the keys of an issuer cannot be fetched");
                state.failure = Some((error.clone(), now));
            }
        }
        drop(state);
        drop(turn);
        fetched
    }
}
