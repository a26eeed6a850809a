//! Tokens that are signed.
//!
//! Specification: [RFC 9068](https://www.rfc-editor.org/rfc/rfc9068).

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcp_protocol::BoxFuture;

use super::algorithm::Algorithm;
use super::cache::Cache;
use super::keys::Jwks;
use super::keys::Verdict;
use super::token::Token;
use crate::Secret;
use crate::server::audience::Audience;
use crate::server::claims::Claims;
use crate::server::identity::Identity;
use crate::server::verify::{Reject, Verify};

/// Verifies tokens that an issuer signs, with its public keys.
///
/// A token is good if it is a compact JWS over a JSON object, signed with one of the algorithms
/// that are allowed by the key it names; if its issuer is this one to the letter; if this server is
/// in its audience; if it ends, and has not ended; and if it names a subject. A token that is bound
/// to a key of its client is no bearer token and is refused.
///
/// ```no_run
/// # fn main() -> Result<(), mcp_auth::server::Error> {
/// use mcp_auth::server::{Algorithm, Jwt};
///
/// let simple = Jwt::new("https://issuer.example")?;
/// let narrow = Jwt::builder("https://issuer.example")
///     .jwks_uri("https://issuer.example/keys")
///     .algorithms([Algorithm::ES256])
///     .strict()
///     .build()?;
/// # drop((simple, narrow));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Jwt(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) issuer: String,
    pub(super) algorithms: Vec<Algorithm>,
    /// Whether a token has to say that it is an access token.
    pub(super) strict: bool,
    pub(super) skew: Duration,
    pub(super) longest: usize,
    pub(super) clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    pub(super) keys: Keys,
}

pub(super) enum Keys {
    Given(Jwks),
    Kept(Cache),
}

impl Jwt {
    async fn identity(&self, token: &Secret, audience: &Audience) -> Result<Identity, Reject> {
        let this = &*self.0;
        let text = token.expose();
        if text.len() > this.longest {
            return Err(Reject::invalid("the token is too long"));
        }
        let token = Token::read(text, &this.algorithms)?;
        this.check_kind(token.kind.as_deref())?;
        // The claims come before the signature, so that a token of somebody else's makes nobody
        // fetch keys. Until the signature is verified they are good for nothing but a refusal.
        let claims = Claims::new(&token.claims);
        if claims.text("iss")? != Some(&this.issuer) {
            return Err(Reject::invalid("the token is from another issuer"));
        }
        if !claims.names(audience) {
            return Err(Reject::invalid("the token is for another audience"));
        }
        claims.check_times((this.clock)(), this.skew)?;
        if !claims.has("exp") {
            return Err(Reject::invalid("the token never expires"));
        }
        let subject = claims.text("sub")?.filter(|subject| !subject.is_empty());
        let Some(subject) = subject else {
            return Err(Reject::invalid("the token names no subject"));
        };
        claims.check_unbound()?;
        let identity = claims.identity(&this.issuer, subject)?;
        let verdict = |keys: &Jwks| {
            keys.verdict(
                token.key.as_deref(),
                token.algorithm,
                token.message,
                &token.signature,
            )
        };
        match this.verdict(verdict).await? {
            Verdict::Good => Ok(identity.with_claims(token.claims)),
            Verdict::Bad => Err(Reject::invalid("the signature of the token is wrong")),
            Verdict::Unknown => Err(Reject::invalid("the key of the token is not known")),
        }
    }
}

impl Inner {
    fn check_kind(&self, kind: Option<&str>) -> Result<(), Reject> {
        match kind {
            Some("at+jwt") => Ok(()),
            // Older issuers do not tell access tokens from others; the audience does.
            None | Some("jwt") if !self.strict => Ok(()),
            _ => Err(Reject::invalid("the token is of another type")),
        }
    }

    /// What the keys say, newer ones if those there are do not know.
    async fn verdict(&self, verdict: impl Fn(&Jwks) -> Verdict) -> Result<Verdict, Reject> {
        let cache = match &self.keys {
            Keys::Given(keys) => return Ok(verdict(keys)),
            Keys::Kept(cache) => cache,
        };
        let first = verdict(&cache.keys().await?);
        if first != Verdict::Unknown {
            return Ok(first);
        }
        let newer = cache.keys_for_unknown().await?;
        Ok(newer.as_ref().map_or(first, verdict))
    }
}

impl Verify for Jwt {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Reject>> {
        Box::pin(self.identity(token, audience))
    }

    fn issuer(&self) -> Option<&str> {
        Some(&self.0.issuer)
    }
}

impl fmt::Debug for Jwt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jwt")
            .field("issuer", &self.0.issuer)
            .field("algorithms", &self.0.algorithms)
            .finish_non_exhaustive()
    }
}
