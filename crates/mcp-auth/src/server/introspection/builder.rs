//! The builder of [`Introspection`].

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Mutex;

use super::cache::{Cache, MAX_TTL};
use super::{Inner, Introspection, IntrospectionClient};
use crate::Secret;
use crate::error::{Error, ErrorKind};
use crate::server::issuer::{ISSUER_LIMITS, Issuer};
use crate::web::{HttpSettings, parse_url, shared_setters};

/// A builder for [`Introspection`]; see [`Introspection::builder`].
#[must_use = "a builder has no effect until build() is called"]
pub struct IntrospectionBuilder {
    issuer: String,
    id: String,
    secret: Secret,
    endpoint: Option<String>,
    in_form: bool,
    require_audience: bool,
    cache_ttl: Duration,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    http_settings: HttpSettings,
}

impl Introspection {
    /// Returns a builder for an issuer, with the credentials that this server has at the issuer.
    pub fn builder(
        issuer: impl Into<String>,
        id: impl Into<String>,
        secret: impl Into<Secret>,
    ) -> IntrospectionBuilder {
        IntrospectionBuilder {
            issuer: issuer.into(),
            id: id.into(),
            secret: secret.into(),
            endpoint: None,
            in_form: false,
            require_audience: true,
            cache_ttl: MAX_TTL,
            clock: Arc::new(SystemTime::now),
            http_settings: HttpSettings::new(ISSUER_LIMITS),
        }
    }
}

impl IntrospectionBuilder {
    /// Sets the introspection endpoint. Use it for issuers without metadata.
    pub fn endpoint(mut self, url: impl Into<String>) -> Self {
        self.endpoint = Some(url.into());
        self
    }

    /// Sends the credentials in the form (`client_secret_post`) instead of a header
    /// (`client_secret_basic`).
    pub fn credentials_in_form(mut self) -> Self {
        self.in_form = true;
        self
    }

    /// Accepts introspection responses without an audience. Use this setting only if the issuer reports a token as active only to
    /// the server for which the token was issued. With any other issuer, this server would accept tokens that were issued for
    /// other servers.
    pub fn audience_optional(mut self) -> Self {
        self.require_audience = false;
        self
    }

    /// Sets the time for which an active token is cached. Default and maximum: 60 s.
    pub fn cache_ttl(mut self, ttl: Duration) -> Self {
        self.cache_ttl = ttl;
        self
    }

    shared_setters!();

    /// Builds the verifier.
    ///
    /// # Errors
    /// Returns an error if a setting is invalid, for example if the issuer is not `https`.
    pub fn build(self) -> Result<Introspection, Error> {
        let issuer = Issuer::new(self.issuer)?;
        let parse = |url| parse_url(ErrorKind::Setup, "the introspection endpoint", url);
        let endpoint = self.endpoint.as_deref().map(parse).transpose()?;
        let http_client = self
            .http_settings
            .build(endpoint.as_ref().unwrap_or(&issuer.url))?;
        Ok(Introspection(Arc::new(Inner {
            client: IntrospectionClient {
                issuer,
                endpoint: Mutex::new(endpoint),
                id: self.id,
                secret: self.secret,
                in_form: self.in_form,
                http_client,
            },
            require_audience: self.require_audience,
            clock: self.clock,
            cache: Cache::new(self.cache_ttl),
        })))
    }
}

impl fmt::Debug for IntrospectionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntrospectionBuilder")
            .field("issuer", &self.issuer)
            .field("id", &self.id)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}
