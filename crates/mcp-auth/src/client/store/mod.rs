//! Stores that keep tokens for the next run of a program.

mod file;

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mcp_protocol::{BoxFuture, lock};

pub use self::file::FileTokenStore;
use crate::Secret;
use crate::error::Error;

/// Storage for text under names: a file, the keychain of the system, a database.
///
/// A program that can read the content can act for the user, so the content must be protected. Names are not secret: they contain
/// the URLs of servers and authorization servers.
pub trait TokenStore: Send + Sync + 'static {
    /// Returns the text with this name; `None` if the store has no such text.
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

    /// Waits until no other user of the store holds the lock with this name, in this process or in another process. The returned
    /// lock is held until it is dropped. The client holds the lock while it renews tokens. Two programs that share a store
    /// therefore never use the same refresh token. Default: no lock, for stores that are not shared.
    ///
    /// # Errors
    /// Returns an error if the lock is held by another user for too long.
    fn lock<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Result<StoreLock, Error>> {
        Box::pin(async { Ok(StoreLock::none()) })
    }
}

/// A lock of a [`TokenStore`], released on drop.
#[derive(Debug)]
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

/// A token store in memory. The user has to sign in once in each run of the program. Clones share their content.
#[derive(Debug, Clone, Default)]
pub struct MemoryTokenStore(Arc<Mutex<HashMap<String, Secret>>>);

impl MemoryTokenStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, Secret>) -> T) -> T {
        work(&mut lock(&self.0))
    }
}

impl TokenStore for MemoryTokenStore {
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, Error>> {
        let found = self.with(|all| all.get(name).cloned());
        Box::pin(async { Ok(found) })
    }

    fn save<'a>(&'a self, name: &'a str, text: &'a Secret) -> BoxFuture<'a, Result<(), Error>> {
        self.with(|all| all.insert(name.to_owned(), text.clone()));
        Box::pin(async { Ok(()) })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        self.with(|all| all.remove(name));
        Box::pin(async { Ok(()) })
    }
}
