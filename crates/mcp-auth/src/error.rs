//! Errors of requests to authorization servers.

use std::fmt;
use std::sync::Arc;

use mcp_jsonrpc::{Quoted, quote};
use mcp_protocol::TransportError;

/// The error of a sign-in, of a renewal or of the verification of a token. The message names the
/// URL, the invalid value and what to do. It never contains a token, a code or a password. The
/// wording may change; [`kind`](Self::kind) does not. After a
/// [temporary](Self::is_temporary) error, the same operation can be repeated without a change.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The kind of an [`Error`], returned by [`Error::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The configuration is invalid.
    Setup,
    /// The address is not allowed by the URL policy.
    Forbidden,
    /// A server is unreachable or too busy.
    Unavailable,
    /// A response cannot be used.
    InvalidResponse,
    /// A response indicates an attack: it has another issuer, resource or state than the request.
    Mismatch,
    /// The user or the authorization server denied access.
    Denied,
    /// The grant is no longer valid.
    Expired,
    /// The authorization server does not know the client.
    UnknownClient,
    /// The token store failed.
    Store,
    /// The metadata of the server names no authorization server. Users cannot sign in, because the server accepts only configured
    /// tokens.
    NoAuthorizationServer,
    /// The user agent could not ask the user for consent, or the user did not respond.
    UserAgent,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::build(kind, message.into(), None)
    }

    pub(crate) fn caused(
        kind: ErrorKind,
        message: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::build(kind, message.into(), Some(source.into()))
    }

    pub(crate) fn setup(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Setup, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    pub(crate) fn invalid_response(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidResponse, message)
    }

    pub(crate) fn mismatch(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Mismatch, message)
    }

    fn build(
        kind: ErrorKind,
        message: String,
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self(Arc::new(Inner {
            kind,
            message,
            source,
        }))
    }

    /// Creates an error of a [`UserAgent`](crate::client::UserAgent), which could not ask the user for consent.
    #[cfg(feature = "client")]
    pub fn user_agent(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::UserAgent, message)
    }

    /// Creates an error of a [`TokenStore`](crate::client::TokenStore). The message must not
    /// contain stored text.
    #[cfg(feature = "client")]
    pub fn store(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Store, message)
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns whether the same request may succeed later, because a server was unreachable or too busy, or because the user did
    /// not respond. The client keeps its tokens.
    pub fn is_temporary(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Unavailable | ErrorKind::UserAgent)
    }

    /// Returns whether the user or the authorization server denied access.
    pub fn is_denied(&self) -> bool {
        self.0.kind == ErrorKind::Denied
    }

    /// Returns whether an address was rejected before a request was sent.
    pub fn is_forbidden(&self) -> bool {
        self.0.kind == ErrorKind::Forbidden
    }

    /// Returns whether an issuer, a resource or a callback does not belong to this client's
    /// request, which indicates an attack.
    pub fn is_mismatch(&self) -> bool {
        self.0.kind == ErrorKind::Mismatch
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<Error> for TransportError {
    fn from(error: Error) -> Self {
        let temporary = error.is_temporary();
        let error = Self::new(error.to_string()).with_source(error);
        if temporary {
            error.as_temporary()
        } else {
            error
        }
    }
}

/// Quotes the text of a peer in an error message: at most 200 characters, on one line.
pub(crate) fn quoted(text: &str) -> Quoted<'_> {
    quote(text.trim(), 200)
}
