//! The layer that lets those alone through who have a token.

use std::fmt;
use std::sync::Arc;

use super::metadata::Metadata;
use super::policy::Policy;

/// A tower layer that lets those requests through that have a good token, and tells the others
/// how to get one.
///
/// - A request without a token, or with a bad one, is answered with 401 and a challenge that leads
///   to the metadata; one whose token lacks a scope with 403 and the scopes it takes; one that
///   cannot be understood with 400. If tokens cannot be verified now, that is 503, not 401.
/// - A request with a good token loses its `Authorization` header and gets a
///   [`Principal`], a [`Grant`] and an [`Identity`] in its extensions. The token goes no further.
/// - If a handler then turns out to need more than is granted, as with [`Tool::scope`] or
///   [`Auth::require`], the response becomes 403 with the scopes it takes, unless it is a stream
///   already.
/// - The [metadata](Metadata) is answered to everybody.
/// - A CORS preflight is passed on: it has no token and does nothing. A layer that answers it
///   belongs before this one, so that pages can read the refusals too.
///
/// Each request is verified by itself, whatever session it belongs to, and a session can be used
/// only by the principal that opened it. A stream that is open when its token ends stays open:
/// what is sent on it was asked for while the token was good.
///
/// The service behind may be any tower service over HTTP requests whose responses have a body that
/// bytes can stand in for.
///
/// [`Principal`]: mcp_protocol::Principal
/// [`Grant`]: mcp_protocol::Grant
/// [`Identity`]: crate::server::Identity
/// [`Tool::scope`]: mcp_server::Tool::scope
/// [`Auth::require`]: crate::server::Auth::require
#[derive(Clone)]
pub struct RequireBearer(pub(super) Arc<Policy>);

impl RequireBearer {
    /// The metadata, for routers that have to be told its paths. What is protected answers it too,
    /// where requests for it get there.
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
