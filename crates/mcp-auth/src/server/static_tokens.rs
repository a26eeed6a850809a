//! Tokens from the configuration of the server.

use std::fmt;
use std::hint::black_box;
use std::time::SystemTime;

use mcp_protocol::BoxFuture;

use super::audience::Audience;
use super::bearer::is_token;
use super::identity::Identity;
use super::verify::{Rejection, Verify};
use crate::Secret;
use crate::digest::sha256;
use crate::error::Error;

/// A verifier for tokens that the server knows in advance, each with the identity of its caller.
/// [`static_tokens`] creates it.
///
/// It stores digests of the tokens, and compares them in constant time. Tokens have no audience: use different tokens for
/// different servers.
pub struct StaticTokens(Vec<(String, Identity)>);

/// Creates a verifier for these tokens, from the configuration or the environment of the server.
///
/// A session belongs to the [principal](Identity::principal) of its token, so give each client a separate subject. A token should
/// have at least 128 bits of randomness. It is valid until the expiry that [`Identity::with_expiry`]
/// sets. By default, it does not expire.
///
/// ```
/// use mcp_auth::server::{Identity, require_bearer, static_tokens};
///
/// # fn main() -> Result<(), mcp_auth::server::Error> {
/// # let token = "9p4wJ0cY2mXqT7vLr3sZ";
/// let alice = Identity::new("https://mcp.example.com", "alice").with_scopes("notes:write");
/// let verifier = static_tokens([(token, alice)])?;
/// let layer = require_bearer("https://mcp.example.com/mcp", verifier).build()?;
/// # drop(layer);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// There are no tokens, a token is repeated, or a token has characters that cannot be sent.
pub fn static_tokens<T: Into<Secret>>(
    tokens: impl IntoIterator<Item = (T, Identity)>,
) -> Result<StaticTokens, Error> {
    let mut known: Vec<(String, Identity)> = Vec::new();
    for (token, identity) in tokens {
        let token: Secret = token.into();
        // The messages name the subject, because the token is secret.
        let subject = identity.subject();
        if !is_token(token.expose()) {
            return Err(Error::setup(format!(
                "the static token of {subject:?} is empty or has characters that cannot be sent; use \
                 letters, digits and -._~+/"
            )));
        }
        let digest = sha256(token.expose());
        if let Some((_, other)) = known.iter().find(|(known, _)| *known == digest) {
            return Err(Error::setup(format!(
                "{:?} and {subject:?} have the same static token; give each subject a different token",
                other.subject()
            )));
        }
        known.push((digest, identity));
    }
    if known.is_empty() {
        return Err(Error::setup(
            "static_tokens received no tokens, so every request would be rejected; pass at least one token",
        ));
    }
    Ok(StaticTokens(known))
}

impl StaticTokens {
    /// Returns the identity of a token. Always compares the token with all known tokens, so that the time does not depend on the
    /// token.
    fn identity(&self, token: &Secret) -> Option<&Identity> {
        let digest = sha256(token.expose());
        let mut found = None;
        for (known, identity) in &self.0 {
            if is_equal(known, &digest) {
                found = Some(identity);
            }
        }
        found
    }
}

/// Compares two digests of the same length in constant time.
fn is_equal(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    let difference = pairs.fold(0, |bits, (a, b)| black_box(bits | (a ^ b)));
    difference == 0
}

impl Verify for StaticTokens {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        _audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>> {
        let verified = match self.identity(token) {
            None => Err(Rejection::invalid("the token is unknown")),
            Some(identity) => match identity.expires() {
                Some(expires) if expires <= SystemTime::now() => {
                    Err(Rejection::invalid("the token has expired"))
                }
                _ => Ok(identity.clone()),
            },
        };
        Box::pin(std::future::ready(verified))
    }

    fn needs_authorization_server(&self) -> bool {
        false
    }
}

impl fmt::Debug for StaticTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let identities = self.0.iter().map(|(_, identity)| identity);
        f.write_str("StaticTokens")?;
        f.debug_list().entries(identities).finish()
    }
}
