//! A token store in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use mcp_protocol::BoxFuture;

use super::token_store::TokenStore;
use crate::Secret;
use crate::error::Error;
use crate::sync::lock;

/// A token store in memory: the user signs in once per run of the program. Clones share their
/// content.
#[derive(Clone, Default)]
pub struct MemoryStore(Arc<Mutex<HashMap<String, Secret>>>);

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, Secret>) -> T) -> T {
        work(&mut lock(&self.0))
    }
}

impl TokenStore for MemoryStore {
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

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}
