//! Errors of session stores.

use std::error::Error;
use std::fmt;

/// The error of an operation on a session store. [`kind`](Self::kind) returns the cause; the message is for the operator and is
/// not sent to clients.
#[derive(Debug)]
pub struct SessionStoreError {
    kind: SessionStoreErrorKind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The cause of a [`SessionStoreError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionStoreErrorKind {
    /// A session with this id already exists.
    Conflict,
    /// The lease is not current: another endpoint has claimed the session, or the session was
    /// removed or has expired.
    LeaseLost,
    /// A limit of the store is reached. The message names the limit.
    Full,
    /// The record is damaged, or a later version of this crate wrote it.
    Unreadable,
    /// The store cannot be reached, did not answer in time, or failed.
    Unavailable,
}

impl SessionStoreError {
    /// Creates an error with a message for the operator.
    pub fn new(kind: SessionStoreErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Creates the error for a lease that is no longer current.
    pub fn lease_lost() -> Self {
        Self::new(
            SessionStoreErrorKind::LeaseLost,
            "the lease of the session is not current",
        )
    }

    /// Creates the error for a session id that already exists.
    pub fn conflict() -> Self {
        Self::new(
            SessionStoreErrorKind::Conflict,
            "a session with this id exists",
        )
    }

    /// Sets the cause of the error.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> SessionStoreErrorKind {
        self.kind
    }
}

impl fmt::Display for SessionStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for SessionStoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
