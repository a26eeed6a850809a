//! Where tokens are kept between two runs of a program.

use std::any::Any;
use std::fmt;

use mcp_protocol::BoxFuture;

use crate::Secret;
use crate::error::Error;

/// Keeps text under names: a file, the system's keychain, a database.
///
/// What is kept lets whoever reads it act for the user. Names are not secret: they hold the URLs
/// of servers and authorization servers.
pub trait TokenStore: Send + Sync + 'static {
    /// What is kept under this name.
    ///
    /// # Errors
    /// It cannot be read; see [`Error::store`]. Nothing kept is no error.
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, Error>>;

    /// Keeps this from now on, instead of what was there: all of it or nothing.
    ///
    /// # Errors
    /// It cannot be written.
    fn save<'a>(&'a self, name: &'a str, text: &'a Secret) -> BoxFuture<'a, Result<(), Error>>;

    /// Forgets what is kept under this name.
    ///
    /// # Errors
    /// It cannot be written.
    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), Error>>;

    /// Waits until no other user of the store, in this process or another, has this lock; it is
    /// held until it is dropped. Tokens are renewed under it, so that programs that share a store
    /// do not spend each other's refresh tokens. Default: nobody else uses the store.
    ///
    /// # Errors
    /// The lock is held by somebody else for too long.
    fn lock<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<StoreLock, Error>> {
        Box::pin(async { Ok(StoreLock::none()) })
    }
}

/// Held as long as nobody else may renew tokens.
pub struct StoreLock(
    #[expect(dead_code, reason = "what it does is being dropped")] Option<Box<dyn Any + Send>>,
);

impl StoreLock {
    /// A lock that locks nothing.
    pub fn none() -> Self {
        Self(None)
    }

    /// A lock that is given back when `guard` is dropped.
    pub fn new(guard: impl Send + 'static) -> Self {
        Self(Some(Box::new(guard)))
    }
}

impl fmt::Debug for StoreLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreLock")
    }
}
