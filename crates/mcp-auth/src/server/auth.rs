//! Who calls, as handlers see it.

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::RequestContext;
use mcp_server::{Call, Extraction, FromCall, HandlerError};

use super::identity::Identity;

/// A parameter of a handler: who calls, and what they may do.
///
/// Over HTTP that is whoever [`RequireBearer`](super::RequireBearer) has verified; without it the
/// call is refused, so that nobody is taken for somebody by accident. Over stdio it is the user who
/// started the server, who has no name and may do everything. The same handler serves both.
///
/// ```
/// use mcp_auth::server::Auth;
/// use mcp_server::{HandlerError, tool};
///
/// /// Deletes what is kept for the user.
/// #[tool]
/// fn forget(auth: Auth, /** everything, or only what is old */ all: bool) -> Result<String, HandlerError> {
///     if all {
///         auth.require("notes:admin")?;
///     }
///     Ok(format!("forgotten for {}", auth.subject().unwrap_or("you")))
/// }
///
/// assert_eq!(forget(Auth::local(), true).unwrap(), "forgotten for you");
/// ```
#[derive(Debug, Clone)]
pub struct Auth {
    identity: Option<Identity>,
    /// The request; only tests have none.
    context: Option<RequestContext>,
}

impl Auth {
    /// The user at this machine, for tests of handlers.
    pub fn local() -> Self {
        Self {
            identity: None,
            context: None,
        }
    }

    /// Somebody who was verified, for tests of handlers.
    pub fn of(identity: Identity) -> Self {
        Self {
            identity: Some(identity),
            context: None,
        }
    }

    /// Who calls; `None` for the user at this machine.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_ref()
    }

    /// Who calls, by the name that the issuer has for them; `None` for the user at this machine.
    pub fn subject(&self) -> Option<&str> {
        self.identity().map(Identity::subject)
    }

    /// Whether the call may do what needs `scope`, one or more words. To ask changes nothing: for
    /// handlers that do less for those who may do less.
    pub fn has(&self, scope: &str) -> bool {
        self.identity().is_none_or(|i| i.has(scope))
    }

    /// Demands a scope, one or more words. If it is missing, end the call with the error: the
    /// client is asked to get it, and may call again.
    ///
    /// # Errors
    /// The call may not do that.
    pub fn require(&self, scope: &str) -> Result<(), HandlerError> {
        let may = match &self.context {
            Some(context) => context.permits(scope),
            None => self.has(scope),
        };
        if may {
            return Ok(());
        }
        Err(HandlerError::protocol(ErrorObject::invalid_request(
            format!("this needs the scope {scope:?}"),
        )))
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
        // Whoever may do everything is whoever started this process.
        let is_local = request.is_none() && context.principal().is_none() && context.permits("");
        if identity.is_none() && !is_local {
            return Extraction::End(HandlerError::protocol(ErrorObject::internal(
                "this server does not know who calls; its author puts \
                 mcp_auth::server::RequireBearer before it",
            )));
        }
        Extraction::Ready(Self {
            identity: identity.cloned(),
            context: Some(context.clone()),
        })
    }
}
