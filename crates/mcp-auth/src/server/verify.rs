//! The interface of token verifiers.

use std::borrow::Cow;
use std::fmt;

use mcp_protocol::BoxFuture;

use super::audience::Audience;
use super::identity::Identity;
use crate::Secret;

/// A token verifier: a [`Jwt`](super::Jwt), an [`Introspection`](super::Introspection),
/// [`static_tokens`](super::static_tokens), or a closure `async |token: Secret| ..`.
///
/// A token is valid if its issuer is trusted, it has not expired, and it was issued for this
/// server. A genuine token for another server must be rejected.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot verify tokens",
    note = "use a `Jwt`, an `Introspection`, another type that implements `Verify`, or a closure \
     `async |token: Secret| -> Result<Identity, Rejection>`"
)]
pub trait Verify: Send + Sync + 'static {
    /// Verifies a token and returns its identity.
    ///
    /// # Errors
    /// Returns a rejection if the token is invalid or cannot be verified at the moment.
    ///
    /// # Cancel safety
    /// The future is dropped if its request is cancelled.
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>>;

    /// Verifies a token that a client sent with a proof for its key; see [`Dpop`](super::Dpop). The claims of the identity must
    /// contain the thumbprint of the key, as `cnf.jkt`. The layer compares this thumbprint with the key of the proof. Default:
    /// calls [`verify`](Self::verify).
    ///
    /// # Errors
    /// The same as for [`verify`](Self::verify).
    ///
    /// # Cancel safety
    /// The future is dropped if its request is cancelled.
    fn verify_bound<'a>(
        &'a self,
        token: &'a Secret,
        audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>> {
        self.verify(token, audience)
    }

    /// Returns the issuer of the tokens, for the metadata of the server. Default: `None`.
    fn issuer(&self) -> Option<&str> {
        None
    }

    /// Returns whether the metadata of the server must name an authorization server, from which clients obtain tokens. Default:
    /// `true`. Return `false` if clients receive their tokens in another way.
    fn needs_authorization_server(&self) -> bool {
        true
    }
}

impl<F, O> Verify for F
where
    F: Fn(Secret) -> O + Send + Sync + 'static,
    O: Future<Output = Result<Identity, Rejection>> + Send + 'static,
{
    /// Calls the closure. The closure must check the audience of the token.
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        _audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>> {
        Box::pin(self(token.clone()))
    }
}

pub(crate) const OTHER_AUDIENCE: &str = "the token is for another audience";

/// The reason why a token is rejected.
#[derive(Debug)]
pub struct Rejection(pub(crate) RejectionReason);

#[derive(Debug)]
pub(crate) enum RejectionReason {
    Invalid(Cow<'static, str>),
    /// The token is not for this server. The text is the `aud` claim of the token, as JSON.
    Audience(String),
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl Rejection {
    /// Creates a rejection of an invalid token. The client receives the reason with status 401, so the reason must not contain
    /// the token or other private values.
    pub fn invalid(why: impl Into<Cow<'static, str>>) -> Self {
        Self(RejectionReason::Invalid(why.into()))
    }

    /// Creates a rejection of a token that cannot be verified at the moment, for example because the issuer is unreachable. The
    /// client receives status 503 and may retry. The cause is logged and not sent.
    pub fn unavailable(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(RejectionReason::Unavailable(cause.into()))
    }

    /// Returns whether the same token may be accepted later.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.0, RejectionReason::Unavailable(_))
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            RejectionReason::Invalid(why) => f.write_str(why),
            RejectionReason::Audience(_) => f.write_str(OTHER_AUDIENCE),
            RejectionReason::Unavailable(_) => f.write_str("tokens cannot be verified now"),
        }
    }
}

impl std::error::Error for Rejection {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            RejectionReason::Invalid(_) | RejectionReason::Audience(_) => None,
            RejectionReason::Unavailable(cause) => Some(&**cause),
        }
    }
}
