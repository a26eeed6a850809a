//! The steps of a sign-in, for those who want to watch.

use std::fmt;

/// One step of a sign-in that was made. It holds no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignInProgress {
    /// A message was refused, and this is what the server asks for.
    Challenged {
        /// The scopes in its challenge.
        scopes: Option<String>,
    },
    /// It is known who gives out tokens.
    Discovered {
        /// The server, as its tokens name it.
        resource: String,
        /// Who gives them out.
        issuer: String,
    },
    /// It is known who the client is to that issuer.
    Identified {
        /// Its id there.
        client_id: String,
    },
    /// The user is asked.
    ConsentRequested {
        /// For these scopes.
        scopes: String,
    },
    /// There are tokens.
    SignedIn {
        /// The scopes that were asked for or given.
        scopes: String,
    },
    /// There are new tokens, without asking anybody.
    Refreshed,
    /// The refresh token is no longer good.
    Expired,
}

impl fmt::Display for SignInProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Challenged { scopes: None } => f.write_str("the server wants a token"),
            Self::Challenged {
                scopes: Some(scopes),
            } => write!(f, "the server wants a token for {scopes:?}"),
            Self::Discovered { resource, issuer } => {
                write!(f, "tokens for {resource} come from {issuer}")
            }
            Self::Identified { client_id } => write!(f, "the client's id there is {client_id:?}"),
            Self::ConsentRequested { scopes } => write!(f, "the user is asked for {scopes:?}"),
            Self::SignedIn { scopes } => write!(f, "signed in for {scopes:?}"),
            Self::Refreshed => f.write_str("the token was renewed"),
            Self::Expired => f.write_str("the sign-in has expired"),
        }
    }
}
