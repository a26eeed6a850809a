//! The authentication layer.

use std::fmt;
use std::sync::Arc;

use super::metadata::Metadata;
use super::policy::Policy;

/// A tower layer that accepts only requests with a valid token and answers all others with a
/// challenge.
///
/// - A request without a token or with an invalid token receives 401 and a challenge that leads to
///   the metadata; a request whose token lacks a scope receives 403 and the required scopes; a
///   malformed request receives 400. If tokens cannot be verified now, the status is 503, not 401.
/// - The layer removes the `Authorization` header of an accepted request and adds a [`Principal`],
///   a [`Grant`] and an [`Identity`] to its extensions. The token is not forwarded.
/// - If a handler requires more scopes, with [`Tool::scope`] or [`Auth::require`], the response
///   becomes 403 with the required scopes, unless it is already an event stream.
/// - The [metadata](Metadata) is public.
/// - A CORS preflight is forwarded, because it has no token and no effect. Place a CORS layer in
///   front of this one, so that pages can read the challenges too.
///
/// Each request is verified separately, whatever its session, and a session can be used only by the
/// principal that opened it. A stream stays open after its token expires, because its request was
/// made with a valid token.
///
/// The inner service may be any tower service over HTTP requests whose response body can be built
/// from bytes.
///
/// [`Principal`]: mcp_protocol::Principal
/// [`Grant`]: mcp_protocol::Grant
/// [`Identity`]: crate::server::Identity
/// [`Tool::scope`]: mcp_server::Tool::scope
/// [`Auth::require`]: crate::server::Auth::require
#[derive(Clone)]
pub struct RequireBearer(pub(super) Arc<Policy>);

impl RequireBearer {
    /// Returns the metadata, for routers that mount it at its own paths. The protected service also
    /// serves it.
    pub fn metadata(&self) -> Metadata {
        self.0.metadata.clone()
    }
}

impl fmt::Debug for RequireBearer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequireBearer")
            .field("audience", &self.0.audience)
            .field("required", &self.0.required)
            .finish_non_exhaustive()
    }
}
