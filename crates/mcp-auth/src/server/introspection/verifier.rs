//! Tokens that only their issuer understands.
//!
//! Specification: [RFC 7662](https://www.rfc-editor.org/rfc/rfc7662).

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use mcp_protocol::BoxFuture;

use super::cache::{Cache, Outcome};
use super::client::IntrospectionClient;
use crate::Secret;
use crate::error::Error;
use crate::server::audience::Audience;
use crate::server::claims::{Claims, SKEW};
use crate::server::identity::Identity;
use crate::server::verify::{Rejection, Verify};

/// Verifies tokens by asking who issued them.
///
/// What the issuer says is checked as the claims of a signed token are: that it is the issuer, that
/// this server is in the audience, that the token has not ended, and that it is not bound to a key.
/// It is remembered for a few moments, so that a token that is withdrawn opens the door for at most
/// a minute more.
///
/// ```no_run
/// # fn main() -> Result<(), mcp_auth::server::Error> {
/// use mcp_auth::server::{Introspection, require_bearer};
///
/// let secret = std::env::var("INTROSPECTION_SECRET").unwrap_or_default();
/// let verifier = Introspection::builder("https://issuer.example", "my-server", secret).build()?;
/// let guard = require_bearer("https://mcp.example.com/mcp", verifier).build()?;
/// # drop(guard);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Introspection(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) client: IntrospectionClient,
    /// Whether an answer has to say whom the token is for.
    pub(super) require_audience: bool,
    pub(super) clock: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    pub(super) cache: Cache,
}

impl Introspection {
    async fn identity(&self, token: &Secret, audience: &Audience) -> Result<Identity, Rejection> {
        let this = &*self.0;
        let outcome = this.cache.get(token, || this.introspect(token)).await;
        let identity = match outcome.map_err(Rejection::unavailable)? {
            Outcome::Active(identity) => identity,
            Outcome::Inactive(why) => return Err(Rejection::invalid(why)),
        };
        // What depends on the moment and on the server is not remembered.
        let claims = Claims::new(identity.claims());
        claims.check_times((this.clock)(), SKEW)?;
        let is_for_anybody = !this.require_audience && !claims.has("aud");
        if !is_for_anybody && !claims.names(audience) {
            return Err(Rejection::invalid("the token is for another audience"));
        }
        Ok(identity)
    }
}

impl Inner {
    async fn introspect(&self, token: &Secret) -> Result<Outcome, Error> {
        let claims = self.client.introspect(token).await?;
        let check = self.check(Claims::new(&claims));
        Ok(match check {
            Ok(identity) => Outcome::Active(identity.with_claims(claims)),
            Err(reject) => Outcome::Inactive(reject.to_string()),
        })
    }

    /// Who the token speaks for, if the issuer says that it is good.
    fn check(&self, claims: Claims<'_>) -> Result<Identity, Rejection> {
        let issuer = &self.client.issuer.name;
        if !claims.is_true("active") {
            return Err(Rejection::invalid("the token is not active"));
        }
        if claims.text("iss")?.is_some_and(|t| t != issuer) {
            return Err(Rejection::invalid("the token is from another issuer"));
        }
        claims.check_unbound()?;
        let kind = claims.text("token_type")?.unwrap_or("Bearer");
        // Some say here which of their tokens it is.
        let kinds = ["bearer", "access_token"];
        if !kinds.iter().any(|i| i.eq_ignore_ascii_case(kind)) {
            return Err(Rejection::invalid("the token is no bearer token"));
        }
        let subject = match claims.text("sub")? {
            // A client that acts for itself is its own subject.
            None => claims.text("client_id")?,
            subject => subject,
        };
        let Some(subject) = subject.filter(|s| !s.is_empty()) else {
            return Err(Rejection::invalid("the token names no subject"));
        };
        claims.identity(issuer, subject)
    }
}

impl Verify for Introspection {
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>> {
        Box::pin(self.identity(token, audience))
    }

    fn issuer(&self) -> Option<&str> {
        Some(&self.0.client.issuer.name)
    }
}

impl fmt::Debug for Introspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Introspection")
            .field("issuer", &self.0.client.issuer.name)
            .finish_non_exhaustive()
    }
}
