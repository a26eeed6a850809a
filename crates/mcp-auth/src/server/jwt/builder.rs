//! The builder of [`Jwt`].

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::algorithm::Algorithm;
use super::cache::{Cache, CacheLifetimes, Source};
use super::keys::Jwks;
use super::{Inner, Jwt, Keys};
use crate::error::{Error, ErrorKind};
use crate::server::claims::SKEW;
use crate::server::issuer::{ISSUER_LIMITS, Issuer};
use crate::web::{HttpSettings, parse_url, shared_setters};

/// Default maximum size of a token.
const DEFAULT_MAX_TOKEN_BYTES: usize = 8 << 10;

/// A builder for [`Jwt`]; see [`Jwt::builder`].
#[must_use = "a builder has no effect until build() is called"]
pub struct JwtBuilder {
    issuer: String,
    algorithms: Vec<Algorithm>,
    require_at_jwt: bool,
    skew: Duration,
    max_token_bytes: usize,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    static_keys: Option<Jwks>,
    uri: Option<String>,
    cache_lifetimes: CacheLifetimes,
    http_settings: HttpSettings,
}

impl Jwt {
    /// Creates a verifier for the tokens of an issuer. The metadata of the issuer names the keys.
    ///
    /// # Errors
    /// Returns an error if the issuer is not an `https` URL (or `http` on this machine). Also returns an error if the issuer
    /// needs TLS and TLS is not enabled.
    pub fn new(issuer: impl Into<String>) -> Result<Self, Error> {
        Self::builder(issuer).build()
    }

    /// Returns a builder for a verifier with custom settings.
    pub fn builder(issuer: impl Into<String>) -> JwtBuilder {
        JwtBuilder {
            issuer: issuer.into(),
            algorithms: Algorithm::ALL.to_vec(),
            require_at_jwt: false,
            skew: SKEW,
            max_token_bytes: DEFAULT_MAX_TOKEN_BYTES,
            clock: Arc::new(SystemTime::now),
            static_keys: None,
            uri: None,
            cache_lifetimes: CacheLifetimes::default(),
            http_settings: HttpSettings::new(ISSUER_LIMITS),
        }
    }
}

impl JwtBuilder {
    /// Sets the allowed algorithms. Default: all algorithms.
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// Sets the keys. The verifier then fetches no keys.
    pub fn keys(mut self, keys: Jwks) -> Self {
        self.static_keys = Some(keys);
        self
    }

    /// Sets the URL of the keys. Use it for issuers without metadata.
    pub fn jwks_uri(mut self, url: impl Into<String>) -> Self {
        self.uri = Some(url.into());
        self
    }

    /// Accepts only tokens with the type `at+jwt`. By default, the type may also be `JWT` or
    /// missing, because many issuers do not mark access tokens.
    pub fn require_at_jwt(mut self) -> Self {
        self.require_at_jwt = true;
        self
    }

    /// Sets the tolerated clock skew of the issuer. Default and maximum: 60 s.
    pub fn skew(mut self, skew: Duration) -> Self {
        self.skew = skew;
        self
    }

    /// Sets the maximum size of a token in bytes. Default: 8 KiB.
    pub fn max_token_bytes(mut self, bytes: usize) -> Self {
        self.max_token_bytes = bytes;
        self
    }

    /// Sets the time after which cached keys are fetched again. Default: 10 minutes. Cache headers of the issuer are ignored.
    pub fn jwks_ttl(mut self, ttl: Duration) -> Self {
        self.cache_lifetimes.ttl = ttl;
        self
    }

    /// Sets the maximum time for which cached keys are used while the issuer is unreachable. Default: 24 hours.
    pub fn max_stale_jwks(mut self, max_stale: Duration) -> Self {
        self.cache_lifetimes.max_stale = max_stale;
        self
    }

    shared_setters!();

    /// Builds the verifier. Keys are fetched when the first token arrives.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid, for example if the issuer is not `https`.
    pub fn build(self) -> Result<Jwt, Error> {
        let setup = |why: &str| Err(Error::setup(why));
        if self.skew > SKEW {
            return setup("the clock skew is more than 60 s; set a smaller value with skew()");
        }
        if self.algorithms.is_empty() {
            return setup("no algorithm is allowed; set at least one with algorithms()");
        }
        let issuer = Issuer::new(self.issuer)?;
        let name = issuer.name.clone();
        let keys = match self.static_keys {
            Some(keys) => Keys::Static(keys),
            None => {
                let parse = |url| parse_url(ErrorKind::Setup, "the jwks_uri", url);
                let uri = self.uri.as_deref().map(parse).transpose()?;
                let http_client = self
                    .http_settings
                    .build(uri.as_ref().unwrap_or(&issuer.url))?;
                let source = Source {
                    issuer,
                    keys: uri,
                    http_client,
                };
                Keys::Cached(Cache::new(source, self.cache_lifetimes))
            }
        };
        Ok(Jwt(Arc::new(Inner {
            issuer: name,
            algorithms: self.algorithms,
            require_at_jwt: self.require_at_jwt,
            skew: self.skew,
            max_token_bytes: self.max_token_bytes,
            clock: self.clock,
            keys,
        })))
    }
}

impl fmt::Debug for JwtBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JwtBuilder")
            .field("issuer", &self.issuer)
            .field("algorithms", &self.algorithms)
            .field("given", &self.static_keys)
            .field("uri", &self.uri)
            .finish_non_exhaustive()
    }
}
