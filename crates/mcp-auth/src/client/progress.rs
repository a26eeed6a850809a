//! The progress of a sign-in, for callbacks and logs.

use std::fmt;

/// A completed step of a sign-in. Contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignInProgress {
    /// The server rejected a message with a challenge.
    Challenged {
        /// The scopes of the challenge.
        scopes: Option<String>,
    },
    /// The authorization server was discovered.
    Discovered {
        /// The resource identifier of the server.
        resource: String,
        /// The issuer of the server's tokens.
        issuer: String,
    },
    /// The client is registered with the issuer.
    Identified {
        /// The client id.
        client_id: String,
    },
    /// The user is asked for consent.
    ConsentRequested {
        /// The requested scopes.
        scopes: String,
    },
    /// Tokens were obtained.
    SignedIn {
        /// The requested scopes or, if the authorization server names them, the granted scopes.
        scopes: String,
    },
    /// The tokens were renewed without the user.
    Refreshed,
    /// The tokens could not be renewed and were removed.
    Expired {
        /// The reason that the authorization server gave for its refusal.
        reason: String,
    },
    /// The server refused a token that the authorization server has issued. The client then renews the token, if possible.
    Refused {
        /// The reason from the challenge of the server, if it has one.
        reason: Option<String>,
    },
    /// The server requires more scopes than the token has.
    ScopesRequired {
        /// The missing scopes, separated by spaces. Empty if the server does not name the missing scopes.
        required: String,
        /// The scopes of the token and the required scopes.
        all: String,
    },
}

impl fmt::Display for SignInProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Challenged { scopes: None } => f.write_str("the server requires a token"),
            Self::Challenged {
                scopes: Some(scopes),
            } => write!(f, "the server requires a token with the scopes {scopes:?}"),
            Self::Discovered { resource, issuer } => {
                write!(f, "{issuer} issues tokens for {resource}")
            }
            Self::Identified { client_id } => write!(f, "the client id is {client_id:?}"),
            Self::ConsentRequested { scopes } => write!(
                f,
                "waiting for the user's consent to \
             {scopes:?}"
            ),
            Self::SignedIn { scopes } => write!(f, "signed in with the scopes {scopes:?}"),
            Self::Refreshed => f.write_str("the token was renewed"),
            Self::Expired { reason } => write!(f, "the tokens could not be renewed: {reason}"),
            Self::Refused { reason: None } => f.write_str("the server refused the token"),
            Self::Refused {
                reason: Some(reason),
            } => write!(f, "the server refused the token: {reason}"),
            Self::ScopesRequired { required, .. } => {
                write!(f, "the server requires the scopes {required:?} in addition")
            }
        }
    }
}
