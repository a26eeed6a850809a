//! What a program says of an issuer.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;
use url::Url;

use super::algorithm::Algorithm;
use super::cache::{Cache, CacheLifetimes};
use super::keys::Jwks;
use super::source::Source;
use super::verifier::{Inner, Jwt, Keys};
use crate::error::{Error, ErrorKind, quoted};
use crate::server::claims::SKEW;
use crate::server::issuer::{ISSUER_LIMITS, Issuer};
use crate::web::{BoxError, FormBody, HttpSettings, Resolver};

/// Bytes of a token, unless told otherwise.
const DEFAULT_MAX_TOKEN_BYTES: usize = 8 << 10;

/// Describes the tokens of an issuer; see [`Jwt::builder`].
#[must_use = "it does nothing until it is built"]
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
    /// Verifies the tokens of this issuer, with the keys that its metadata leads to.
    ///
    /// # Errors
    /// The issuer is no `https` URL (or `http` on this machine), or `https` is not built in.
    pub fn new(issuer: impl Into<String>) -> Result<Self, Error> {
        Self::builder(issuer).build()
    }

    /// The same, with something to say about it.
    pub fn builder(issuer: impl Into<String>) -> JwtBuilder {
        JwtBuilder::new(issuer.into())
    }
}

impl JwtBuilder {
    pub(crate) fn new(issuer: String) -> Self {
        Self {
            issuer,
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

    /// Allows these algorithms and no others. Default: all there are.
    pub fn algorithms(mut self, algorithms: impl IntoIterator<Item = Algorithm>) -> Self {
        self.algorithms = algorithms.into_iter().collect();
        self
    }

    /// The keys themselves. Nothing is fetched then.
    pub fn keys(mut self, keys: Jwks) -> Self {
        self.static_keys = Some(keys);
        self
    }

    /// Where the keys are, for issuers without metadata.
    pub fn jwks_uri(mut self, url: impl Into<String>) -> Self {
        self.uri = Some(url.into());
        self
    }

    /// Accepts only tokens that say they are access tokens (`typ` is `at+jwt`). By default a token
    /// may also be a `JWT`, or say nothing: many issuers do not tell access tokens from others.
    pub fn require_at_jwt(mut self) -> Self {
        self.require_at_jwt = true;
        self
    }

    /// How far the issuer's clock may be off. Default, and most, 60 s.
    pub fn skew(mut self, skew: Duration) -> Self {
        self.skew = skew;
        self
    }

    /// Sets how many bytes a token may have. Default 8 KiB.
    pub fn max_token_bytes(mut self, bytes: usize) -> Self {
        self.max_token_bytes = bytes;
        self
    }

    /// For how long keys are not looked at again, and for how long they are used if the issuer
    /// does not answer. Default 10 minutes and 24 hours. What the issuer says of caching is not
    /// considered.
    pub fn jwks_cache(mut self, ttl: Duration, max_stale: Duration) -> Self {
        self.cache_lifetimes = CacheLifetimes { ttl, max_stale };
        self
    }

    /// Lets the issuer name places in private networks. The services that hand out the credentials
    /// of machines stay out of reach.
    pub fn allow_private_networks(mut self) -> Self {
        self.http_settings.allow_private = true;
        self
    }

    /// Finds addresses in this way instead of asking the system. They are checked all the same.
    pub fn resolver(mut self, resolver: impl Resolver) -> Self {
        self.http_settings.resolver = Arc::new(resolver);
        self
    }

    /// Sends requests through this instead of the HTTP client that comes with this crate. It has
    /// to keep away from addresses in private networks by itself: only what is written in a URL is
    /// checked before a request is given to it. It may not follow redirects.
    pub fn service<S, B>(mut self, service: S) -> Self
    where
        S: Service<Request<FormBody>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body + Send + 'static,
        B::Error: Into<BoxError>,
    {
        self.http_settings.set_service(service);
        self
    }

    /// What time it is. Default: what the system says.
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The verifier. Keys are fetched when the first token comes.
    ///
    /// # Errors
    /// Something that was said cannot be, such as an issuer that is not reached by TLS.
    pub fn build(self) -> Result<Jwt, Error> {
        let setup = |why: &str| Err(Error::new(ErrorKind::Setup, why));
        if self.skew > SKEW {
            return setup("no clock is off by more than 60 s; set skew() to less");
        }
        if self.algorithms.is_empty() {
            return setup("without algorithms() no token is good; allow one");
        }
        let issuer = Issuer::new(self.issuer)?;
        let name = issuer.name.clone();
        let keys = match self.static_keys {
            Some(keys) => Keys::Static(keys),
            None => {
                let uri = self.uri.as_deref().map(parse_uri).transpose()?;
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

fn parse_uri(text: &str) -> Result<Url, Error> {
    Url::parse(text).map_err(|error| {
        let message = format!("the jwks_uri {} is no URL", quoted(text));
        Error::caused(ErrorKind::Setup, message, error)
    })
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
