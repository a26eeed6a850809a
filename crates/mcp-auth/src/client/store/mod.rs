//! Stores that keep tokens between two runs of a program.

mod file;
mod memory;
mod token_store;

pub use self::file::FileStore;
pub use self::memory::MemoryStore;
pub use self::token_store::{StoreLock, TokenStore};
