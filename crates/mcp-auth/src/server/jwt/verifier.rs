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
use super::keys::SignatureCheck;
use super::token::Token;
use crate::Secret;
use crate::server::audience::Audience;
use crate::server::claims::Claims;
use crate::server::identity::Identity;
use crate::server::verify::{Rejection, Verify};

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
    pub(super) require_at_jwt: bool,
    pub(super) skew: Duration,
    pub(super) max_token_bytes: usize,
    pub(super) clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    pub(super) keys: Keys,
}

pub(super) enum Keys {
    Static(Jwks),
    Cached(Cache),
}

impl Jwt {
    async fn identity(&self, token: &Secret, audience: &Audience) -> Result<Identity, Rejection> {
        let this = &*self.0;
        let text = token.expose();
        if text.len() > this.max_token_bytes {
            return Err(Rejection::invalid("the token is too long"));
        }
        let token = Token::read(text, &this.algorithms)?;
        this.check_kind(token.kind.as_deref())?;
        // The claims come before the signature, so that a token of somebody else's makes nobody
        // fetch keys. Until the signature is verified they are good for nothing but a refusal.
        let claims = Claims::new(&token.claims);
        if claims.text("iss")? != Some(&this.issuer) {
            return Err(Rejection::invalid("the token is from another issuer"));
        }
        if !claims.names(audience) {
            return Err(Rejection::invalid("the token is for another audience"));
        }
        claims.check_times((this.clock)(), this.skew)?;
        if !claims.has("exp") {
            return Err(Rejection::invalid("the token never expires"));
        }
        let subject = claims.text("sub")?.filter(|subject| !subject.is_empty());
        let Some(subject) = subject else {
            return Err(Rejection::invalid("the token names no subject"));
        };
        claims.check_unbound()?;
        let identity = claims.identity(&this.issuer, subject)?;
        let check = |keys: &Jwks| {
            keys.check(
                token.key.as_deref(),
                token.algorithm,
                token.message,
                &token.signature,
            )
        };
        match this.check(check).await? {
            SignatureCheck::Valid => Ok(identity.with_claims(token.claims)),
            SignatureCheck::Invalid => {
                Err(Rejection::invalid("the signature of the token is wrong"))
            }
            SignatureCheck::UnknownKey => {
                Err(Rejection::invalid("the key of the token is not known"))
            }
        }
    }
}

impl Inner {
    fn check_kind(&self, kind: Option<&str>) -> Result<(), Rejection> {
        match kind {
            Some("at+jwt") => Ok(()),
            // Older issuers do not tell access tokens from others; the audience does.
            None | Some("jwt") if !self.require_at_jwt => Ok(()),
            _ => Err(Rejection::invalid("the token is of another type")),
        }
    }

    /// What the keys say, newer ones if those there are do not know.
    async fn check(
        &self,
        check: impl Fn(&Jwks) -> SignatureCheck,
    ) -> Result<SignatureCheck, Rejection> {
        let cache = match &self.keys {
            Keys::Static(keys) => return Ok(check(keys)),
            Keys::Cached(cache) => cache,
        };
        let first = check(&cache.keys().await?);
        if first != SignatureCheck::UnknownKey {
            return Ok(first);
        }
        let newer = cache.keys_for_unknown().await?;
        Ok(newer.as_ref().map_or(first, check))
    }
}

impl Verify for Jwt {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>> {
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
