//! The seam between who asks for tokens and who understands them.

use std::borrow::Cow;
use std::fmt;

use mcp_protocol::BoxFuture;

use super::audience::Audience;
use super::identity::Identity;
use crate::Secret;

/// Tells good tokens from bad ones: a [`Jwt`](super::Jwt), an
/// [`Introspection`](super::Introspection), or a closure `async |token: Secret| ..` of your own.
///
/// A token is good if its issuer is trusted, if it has not ended, and if it was issued for this
/// server: one that is meant for another server is refused however genuine it is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot verify tokens",
    note = "take a `Jwt`, an `Introspection`, a type of your own that implements `Verify`, or a closure `async |token: Secret| -> Result<Identity, Rejection>`"
)]
pub trait Verify: Send + Sync + 'static {
    /// Who the token speaks for.
    ///
    /// # Errors
    /// The token is no good, or that cannot be found out now.
    ///
    /// # Cancel safety
    /// The future may be dropped: its request went away.
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>>;

    /// Whose tokens are understood, for clients that look for an authorization server. Default:
    /// it does not say.
    fn issuer(&self) -> Option<&str> {
        None
    }
}

impl<F, O> Verify for F
where
    F: Fn(Secret) -> O + Send + Sync + 'static,
    O: Future<Output = Result<Identity, Rejection>> + Send + 'static,
{
    /// A closure knows by itself which server it is for.
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        _audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Rejection>> {
        Box::pin(self(token.clone()))
    }
}

/// Why a token does not open the door.
#[derive(Debug)]
pub struct Rejection(RejectionReason);

#[derive(Debug)]
pub(crate) enum RejectionReason {
    Invalid(Cow<'static, str>),
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl Rejection {
    /// The token is no good. The client is told why (401), so the reason may hold neither the
    /// token nor anything else that is not for it to know.
    pub fn invalid(why: impl Into<Cow<'static, str>>) -> Self {
        Self(RejectionReason::Invalid(why.into()))
    }

    /// Whether the token is good cannot be told now, which is not its fault. The client is told to
    /// come back later (503); the cause is logged and not shown.
    pub fn unavailable(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(RejectionReason::Unavailable(cause.into()))
    }

    /// Whether the same token may be good later.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.0, RejectionReason::Unavailable(_))
    }

    pub(crate) fn into_reason(self) -> RejectionReason {
        self.0
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            RejectionReason::Invalid(why) => f.write_str(why),
            RejectionReason::Unavailable(_) => f.write_str("tokens cannot be verified now"),
        }
    }
}

impl std::error::Error for Rejection {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            RejectionReason::Invalid(_) => None,
            RejectionReason::Unavailable(cause) => Some(&**cause),
        }
    }
}
