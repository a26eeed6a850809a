//! What can go wrong with authorization servers, and whose fault it is.

use std::fmt;
use std::sync::Arc;

use mcp_jsonrpc::{Quoted, quote};
use mcp_protocol::TransportError;

/// Why there is no token, or nobody who could tell what it is good for. It says which address and which value, and what to do; it never holds a
/// token, a code or a password. Its wording may change.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "client"),
    expect(dead_code, reason = "some can only happen to a client")
)]
pub(crate) enum ErrorKind {
    /// The program asked for what cannot be.
    Setup,
    /// An address that is not safe to reach.
    Forbidden,
    /// A server that does not answer, or not now.
    Unavailable,
    /// An answer that cannot be used.
    InvalidResponse,
    /// An answer that looks like an attack: another issuer, resource or state.
    Mismatch,
    /// The user, or whoever decides for them, said no.
    Denied,
    /// The grant is no longer good.
    Expired,
    /// The authorization server does not know the client.
    UnknownClient,
    /// Keeping or finding what was kept failed.
    Store,
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

    /// An error of a [`UserAgent`](crate::client::UserAgent): the user could not be asked.
    #[cfg(feature = "client")]
    pub fn user_agent(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// An error of a [`TokenStore`](crate::client::TokenStore). The message may not hold what is stored.
    #[cfg(feature = "client")]
    pub fn store(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Store, message)
    }

    #[cfg(feature = "client")]
    pub(crate) fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether the same may work later: a server was not reached or too busy. Tokens are kept.
    pub fn is_temporary(&self) -> bool {
        self.0.kind == ErrorKind::Unavailable
    }

    /// Whether the user, or the authorization server for them, said no.
    pub fn is_denied(&self) -> bool {
        self.0.kind == ErrorKind::Denied
    }

    /// Whether an address was refused before anything was sent there.
    pub fn is_forbidden(&self) -> bool {
        self.0.kind == ErrorKind::Forbidden
    }

    /// Whether somebody claimed to be somebody else: an issuer, a resource or a callback that does
    /// not belong to this client's request.
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
        Self::new(error.to_string()).with_source(error)
    }
}

/// Quotes the text of a peer for an error message: at most 200 characters, on one line.
pub(crate) fn quoted(text: &str) -> Quoted<'_> {
    quote(text.trim(), 200)
}
