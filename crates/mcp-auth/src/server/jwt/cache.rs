//! The cache of an issuer's keys.
//!
//! Concurrent requests share one fetch. Keys older than `ttl` are still used while newer keys are fetched in the background.
//! Tokens can therefore be verified while the issuer is unreachable for hours. If a token names an unknown key, the issuer has a
//! new key, or the token is forged. Tokens with unknown keys cause at most one fetch per minute.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use mcp_protocol::lock;
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;
use url::Url;

use super::keys::Jwks;
use crate::error::Error;
use crate::server::issuer::{Issuer, check};
use crate::server::verify::Rejection;
use crate::web::HttpClient;

/// Delay after a failed fetch before the next fetch.
const BACKOFF: Duration = Duration::from_secs(5);
/// Minimum interval between two fetches that tokens with unknown keys cause.
const UNKNOWN_KEY_INTERVAL: Duration = Duration::from_secs(60);

/// The times for which keys are cached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheLifetimes {
    /// Age after which keys are fetched again.
    pub(crate) ttl: Duration,
    /// Age after which keys are not used any more.
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

#[derive(Clone)]
pub(crate) struct Cache(Arc<Inner>);

struct Inner {
    source: Source,
    lifetimes: CacheLifetimes,
    state: Mutex<State>,
    /// A lock that is held during a fetch.
    fetch_lock: Arc<tokio::sync::Mutex<()>>,
}

/// The source of an issuer's keys.
pub(crate) struct Source {
    pub(crate) issuer: Issuer,
    /// The URL of the keys; `None` if the metadata of the issuer names the URL.
    pub(crate) keys: Option<Url>,
    pub(crate) http_client: HttpClient,
}

impl Source {
    pub(crate) async fn fetch(&self) -> Result<Jwks, Error> {
        let url = match &self.keys {
            Some(url) => url.clone(),
            None => self.named().await?,
        };
        let reply = self.http_client.get(&url).await?;
        check(&url, &reply)?;
        let keys = Jwks::read(&reply.body)?;
        tracing::debug!(issuer = %self.issuer.name, ?keys, "fetched keys");
        Ok(keys)
    }

    async fn named(&self) -> Result<Url, Error> {
        let document = self.issuer.document(&self.http_client).await?;
        self.issuer
            .endpoint("jwks_uri", document.jwks_uri.as_deref())
    }
}

#[derive(Default)]
struct State {
    keys: Option<(Jwks, Instant)>,
    /// The error and the time of the last fetch; `None` if it succeeded.
    failure: Option<(Error, Instant)>,
    /// The time at which a token with an unknown key last caused a fetch.
    unknown_key_fetch: Option<Instant>,
    /// Number of completed fetches.
    fetches: u64,
}

impl State {
    /// Returns the keys if they may be used, and whether they are younger than `ttl`.
    fn usable(&self, lifetimes: CacheLifetimes) -> Option<(&Jwks, bool)> {
        let (keys, since) = self.keys.as_ref()?;
        let age = since.elapsed();
        (age < lifetimes.max_stale).then_some((keys, age < lifetimes.ttl))
    }

    /// Returns the error of the last fetch, if it failed so recently that another fetch must wait.
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

    /// Returns the keys. If there are no keys, fetches them.
    ///
    /// # Errors
    /// Returns a rejection if there are no keys and they cannot be fetched at the moment.
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

    /// Fetches the keys again because a token names an unknown key. Returns `None` if another fetch for this reason was too
    /// recent.
    ///
    /// # Errors
    /// Returns a rejection if the keys cannot be fetched now.
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

    /// Fetches the keys in a separate task. Other callers wait for the result, even if this caller is dropped.
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
        // The holder of the lock is already fetching.
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
