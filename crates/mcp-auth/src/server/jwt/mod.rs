//! Signed tokens (JWT): the verifier.
//!
//! Specification: [RFC 9068](https://www.rfc-editor.org/rfc/rfc9068), [RFC 7515, section
//! 5.2](https://www.rfc-editor.org/rfc/rfc7515#section-5.2), [RFC
//! 8725](https://www.rfc-editor.org/rfc/rfc8725) (best practices).

mod algorithm;
mod builder;
mod cache;
mod keys;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mcp_protocol::BoxFuture;
use serde_json::{Map, Value};

pub use self::algorithm::Algorithm;
pub use self::builder::JwtBuilder;
use self::cache::Cache;
pub use self::keys::Jwks;
pub(in crate::server) use self::keys::Key;
use self::keys::SignatureCheck;
use crate::Secret;
use crate::server::audience::Audience;
use crate::server::claims::{Claims, Scheme};
use crate::server::identity::Identity;
use crate::server::strict::{decode_base64url, parse_object};
use crate::server::verify::{Rejection, Verify};

/// A verifier for tokens that an issuer signs, with the issuer's public keys.
///
/// A token must be a compact JWS with a JSON object as its content. The key that the token names must have signed it with an
/// allowed algorithm. The issuer of the token must be equal to the issuer of the verifier, byte for byte. The audience of the
/// token must contain this server. The token must have a subject, and an expiry in the future. If the token is bound to a key of
/// the client, it is accepted only with a proof; see [`Dpop`](super::Dpop).
///
/// ```no_run
/// # fn main() -> Result<(), mcp_auth::server::Error> {
/// use mcp_auth::server::{Algorithm, Jwt};
///
/// let simple = Jwt::new("https://issuer.example")?;
/// let narrow = Jwt::builder("https://issuer.example")
///     .jwks_uri("https://issuer.example/keys")
///     .algorithms([Algorithm::ES256])
///     .require_at_jwt()
///     .build()?;
/// # drop((simple, narrow));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Jwt(Arc<Inner>);

struct Inner {
    issuer: String,
    algorithms: Vec<Algorithm>,
    /// Whether the type of a token must be `at+jwt`.
    require_at_jwt: bool,
    skew: Duration,
    max_token_bytes: usize,
    clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    keys: Keys,
}

enum Keys {
    Static(Jwks),
    Cached(Cache),
}

impl Jwt {
    async fn identity(
        &self,
        token: &Secret,
        audience: &Audience,
        scheme: Scheme,
    ) -> Result<Identity, Rejection> {
        let this = &*self.0;
        let text = token.expose();
        if text.len() > this.max_token_bytes {
            return Err(Rejection::invalid("the token is too long"));
        }
        let token = Token::read(text, &this.algorithms)?;
        this.check_kind(token.kind.as_deref())?;
        // Claims are checked before the signature, so that tokens of other issuers or for other servers cause no fetch of keys.
        // Until the signature is verified, claims can only lead to a rejection.
        let claims = Claims::new(&token.claims);
        if claims.text("iss")? != Some(&this.issuer) {
            return Err(Rejection::invalid("the token is from another issuer"));
        }
        if !claims.names(audience) {
            return Err(claims.other_audience());
        }
        claims.check_times((this.clock)(), this.skew)?;
        if !claims.has("exp") {
            return Err(Rejection::invalid("the token has no expiry (exp)"));
        }
        let subject = claims.text("sub")?.filter(|subject| !subject.is_empty());
        let Some(subject) = subject else {
            return Err(Rejection::invalid("the token has no subject (sub)"));
        };
        claims.check_binding(scheme)?;
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
                Err(Rejection::invalid("the signature of the token is invalid"))
            }
            SignatureCheck::UnknownKey => Err(Rejection::invalid(
                "the signing key of the token is unknown",
            )),
        }
    }
}

impl Inner {
    fn check_kind(&self, kind: Option<&str>) -> Result<(), Rejection> {
        match kind {
            Some("at+jwt") => Ok(()),
            // Older issuers do not mark access tokens. The audience distinguishes them from other tokens.
            None | Some("jwt") if !self.require_at_jwt => Ok(()),
            _ => Err(Rejection::invalid(
                "the type of the token (typ) is not accepted",
            )),
        }
    }

    /// Checks the signature of a token. If the key is unknown, fetches newer keys.
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
        Box::pin(self.identity(token, audience, Scheme::Bearer))
    }

    fn verify_bound<'a>(
        &'a self,
        token: &'a Secret,
        audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>> {
        Box::pin(self.identity(token, audience, Scheme::Dpop))
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

/// A parsed token. Its content is not trusted until the signature is verified.
struct Token<'a> {
    algorithm: Algorithm,
    /// The id of the signing key.
    key: Option<String>,
    /// The type, in lower case and without `application/`.
    kind: Option<String>,
    claims: Map<String, Value>,
    /// The bytes over which the signature was created.
    message: &'a [u8],
    signature: Vec<u8>,
}

impl<'a> Token<'a> {
    /// Parses a token. Ignores keys and key URLs in the header, because a token must not choose how it is verified. The algorithm
    /// of the token must be in `allowed`.
    fn read(text: &'a str, allowed: &[Algorithm]) -> Result<Self, Rejection> {
        let bad = |why: &'static str| Rejection::invalid(why);
        let parts = text.rsplit_once('.').and_then(|(message, signature)| {
            let (header, claims) = message.split_once('.')?;
            (!claims.contains('.')).then_some((message, header, claims, signature))
        });
        let Some((message, header, claims, signature)) = parts else {
            return Err(bad("the token is not a signed JWT"));
        };
        let header = decode_base64url(header).and_then(|d| parse_object(&d));
        let header = header.ok_or_else(|| bad("the header of the token cannot be read"))?;
        if header.contains_key("crit") {
            return Err(bad(
                "the token has critical extensions (crit) that are not supported",
            ));
        }
        let text = |name: &str| match header.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(bad("the header of the token cannot be read")),
        };
        let algorithm = text("alg")?.and_then(Algorithm::named);
        let algorithm = algorithm.filter(|a| allowed.contains(a));
        let algorithm =
            algorithm.ok_or_else(|| bad("the algorithm of the token is not allowed"))?;
        let kind = text("typ")?.map(|kind| {
            let kind = kind.to_ascii_lowercase();
            let short = kind.strip_prefix("application/").map(str::to_owned);
            short.unwrap_or(kind)
        });
        let key = text("kid")?.map(str::to_owned);
        let claims = decode_base64url(claims).and_then(|d| parse_object(&d));
        let signature = decode_base64url(signature).filter(|d| !d.is_empty());
        Ok(Self {
            algorithm,
            key,
            kind,
            claims: claims.ok_or_else(|| bad("the claims of the token cannot be read"))?,
            message: message.as_bytes(),
            signature: signature.ok_or_else(|| bad("the signature of the token cannot be read"))?,
        })
    }
}
