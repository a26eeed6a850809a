//! The interface of token stores.

use std::any::Any;
use std::fmt;

use mcp_protocol::BoxFuture;

use crate::Secret;
use crate::error::Error;

/// Storage for text under names: a file, the keychain of the system, a database.
///
/// The content permits its reader to act for the user, so it must be protected. Names are not
/// secret: they contain the URLs of servers and authorization servers.
pub trait TokenStore: Send + Sync + 'static {
    /// Returns the text with this name; `None` if the store does not have it.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read; see [`Error::store`].
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, Error>>;

    /// Replaces the text with this name atomically.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    fn save<'a>(&'a self, name: &'a str, text: &'a Secret) -> BoxFuture<'a, Result<(), Error>>;

    /// Removes the text with this name.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), Error>>;

    /// Waits until no other user of the store, in this process or another, holds this lock. The
    /// lock is held until it is dropped. Tokens are renewed under it, so that programs that share a
    /// store do not use each other's refresh tokens. Default: no lock, for stores that are not
    /// shared.
    ///
    /// # Errors
    /// Returns an error if the lock is held by another user for too long.
    fn lock<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<StoreLock, Error>> {
        Box::pin(async { Ok(StoreLock::none()) })
    }
}

/// A lock of a [`TokenStore`], released on drop.
pub struct StoreLock(
    #[expect(dead_code, reason = "held only to be dropped")] Option<Box<dyn Any + Send>>,
);

impl StoreLock {
    /// Creates a lock without effect.
    pub fn none() -> Self {
        Self(None)
    }

    /// Creates a lock that is released when `guard` is dropped.
    pub fn new(guard: impl Send + 'static) -> Self {
        Self(Some(Box::new(guard)))
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreLock")
    }
}
