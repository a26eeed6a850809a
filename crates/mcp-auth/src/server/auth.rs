//! [`Auth`]: the caller, as a parameter of a handler.

use mcp_protocol::{Grant, RequestContext, missing_scope, no_authentication};
use mcp_server::{Call, Extraction, FromCall, HandlerError};

use super::identity::Identity;

/// A handler parameter with the caller and its permissions.
///
/// Over HTTP, the caller has the identity that the layer [`RequireBearer`](super::RequireBearer) has verified. Without this
/// layer, the call is rejected, so that a missing layer cannot grant access. If the layer
/// [accepts requests without a token](super::RequireBearerBuilder::allow_anonymous), the caller can be
/// [anonymous](Self::is_anonymous): it then has no identity and no scopes. Over stdio, the caller is the local user who started
/// the server: it has all permissions and no identity. The same handler works over HTTP and over stdio.
///
/// ```
/// use mcp_auth::server::Auth;
/// use mcp_server::{HandlerError, tool};
///
/// /// Deletes the notes of the user.
/// #[tool]
/// fn forget(auth: Auth, /** all notes, not only old ones */ all: bool) -> Result<String, HandlerError> {
///     if all {
///         auth.require("notes:admin")?;
///     }
///     Ok(format!("deleted the notes of {}", auth.subject().unwrap_or("the local user")))
/// }
///
/// assert_eq!(forget(Auth::local(), true).unwrap(), "deleted the notes of the local user");
/// ```
#[derive(Debug, Clone)]
pub struct Auth {
    identity: Option<Identity>,
    is_anonymous: bool,
    /// The context of the request; `None` only in tests.
    context: Option<RequestContext>,
}

impl Auth {
    /// Creates the local user, for tests of handlers.
    pub fn local() -> Self {
        Self {
            identity: None,
            is_anonymous: false,
            context: None,
        }
    }

    /// Creates a verified caller, for tests of handlers.
    pub fn of(identity: Identity) -> Self {
        Self {
            identity: Some(identity),
            is_anonymous: false,
            context: None,
        }
    }

    /// Creates a caller without a token, for tests of handlers.
    pub fn anonymous() -> Self {
        Self {
            identity: None,
            is_anonymous: true,
            context: None,
        }
    }

    /// Returns whether the caller has sent no token. This is possible only with
    /// [`RequireBearerBuilder::allow_anonymous`](super::RequireBearerBuilder::allow_anonymous).
    pub fn is_anonymous(&self) -> bool {
        self.is_anonymous
    }

    /// Returns the identity of the caller; `None` for the local user and for an [anonymous](Self::is_anonymous) caller.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Returns the subject, the name that the issuer gives the caller; `None` for the local user and for an
    /// [anonymous](Self::is_anonymous) caller.
    pub fn subject(&self) -> Option<&str> {
        self.identity().map(Identity::subject)
    }

    /// Returns whether the caller has the scopes in `scope`, separated by spaces. Does not change the response. Use this method
    /// if the handler can also do a part of its work without these scopes.
    pub fn has(&self, scope: &str) -> bool {
        match &self.identity {
            Some(identity) => identity.has(scope),
            None => !self.is_anonymous,
        }
    }

    /// Requires the scopes in `scope`, separated by spaces. If the handler returns the error, the client receives a challenge
    /// with the missing scopes, and can call again.
    ///
    /// # Errors
    /// Returns an error if the caller lacks a scope.
    pub fn require(&self, scope: &str) -> Result<(), HandlerError> {
        match &self.context {
            Some(context) => context.require_scope("the request", scope),
            None if self.has(scope) => Ok(()),
            None => Err(missing_scope("the request", scope)),
        }
        .map_err(HandlerError::protocol)
    }
}

impl<S> FromCall<S> for Auth {
    fn from_call(call: &Call<'_>, _state: &S) -> Extraction<Self> {
        let context = &call.context;
        let request = context.transport::<http::request::Parts>();
        let identity = match request {
            Some(request) => request.extensions.get::<Identity>(),
            None => context.transport::<Identity>(),
        };
        // Only the user who started this process has all permissions without an identity.
        let is_local = request.is_none() && context.principal().is_none() && context.permits("");
        // The layer gives a grant to every request that it accepts. A principal without an identity is from another layer.
        let is_anonymous = identity.is_none()
            && context.principal().is_none()
            && request.is_some_and(|request| request.extensions.get::<Grant>().is_some());
        if identity.is_none() && !is_local && !is_anonymous {
            return Extraction::End(HandlerError::protocol(no_authentication()));
        }
        Extraction::Ready(Self {
            identity: identity.cloned(),
            is_anonymous,
            context: Some(context.clone()),
        })
    }
}
