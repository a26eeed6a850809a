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
    note = "take a `Jwt`, an `Introspection`, a type of your own that implements `Verify`, or a closure `async |token: Secret| -> Result<Identity, Reject>`"
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
    ) -> BoxFuture<'a, Result<Identity, Reject>>;

    /// Whose tokens are understood, for clients that look for an authorization server. Default:
    /// it does not say.
    fn issuer(&self) -> Option<&str> {
        None
    }
}

impl<F, O> Verify for F
where
    F: Fn(Secret) -> O + Send + Sync + 'static,
    O: Future<Output = Result<Identity, Reject>> + Send + 'static,
{
    /// A closure knows by itself which server it is for.
    fn verify<'a>(
        &'a self,
        token: &'a Secret,
        _audience: &'a Audience,
    ) -> BoxFuture<'a, Result<Identity, Reject>> {
        Box::pin(self(token.clone()))
    }
}

/// Why a token does not open the door.
#[derive(Debug)]
pub struct Reject(Fault);

#[derive(Debug)]
pub(crate) enum Fault {
    Invalid(Cow<'static, str>),
    Unavailable(Box<dyn std::error::Error + Send + Sync>),
}

impl Reject {
    /// The token is no good. The client is told why (401), so the reason may hold neither the
    /// token nor anything else that is not for it to know.
    pub fn invalid(why: impl Into<Cow<'static, str>>) -> Self {
        Self(Fault::Invalid(why.into()))
    }

    /// Whether the token is good cannot be told now, which is not its fault. The client is told to
    /// come back later (503); the cause is logged and not shown.
    pub fn unavailable(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self(Fault::Unavailable(cause.into()))
    }

    /// Whether the same token may be good later.
    pub fn is_unavailable(&self) -> bool {
        matches!(self.0, Fault::Unavailable(_))
    }

    pub(crate) fn into_fault(self) -> Fault {
        self.0
    }
}

impl fmt::Display for Reject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Fault::Invalid(why) => f.write_str(why),
            Fault::Unavailable(_) => f.write_str("tokens cannot be verified now"),
        }
    }
}

impl std::error::Error for Reject {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Fault::Invalid(_) => None,
            Fault::Unavailable(cause) => Some(&**cause),
        }
    }
}
