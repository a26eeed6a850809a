//! A task store for Model Context Protocol servers in a single file.
//!
//! [`RedbTaskStore`] is a [`TaskStore`] on the embedded database `redb`, without a server to
//! install or run. Every completed operation is on the disk: after a crash or a power failure, the
//! tasks are available when the process starts again.
//!
//! Only one process can open the file. Servers with several processes need a store that all of them
//! reach over a network; [`TaskStore`] documents the contract.
//!
//! With the feature `sessions`, the sessions of an HTTP endpoint are kept in the same file and survive a
//! restart: see `RedbTaskStore::session_store`.
//!
//! ```no_run
//! use mcp_store_redb::RedbTaskStore;
//!
//! # fn main() -> Result<(), mcp_store_redb::OpenError> {
//! let store = RedbTaskStore::open("tasks.redb")?;
//! // Server::builder("reports", "1.0.0").task_store(store)
//! # drop(store);
//! # Ok(())
//! # }
//! ```

mod error;
mod file;
mod job;
mod options;
#[cfg(feature = "sessions")]
mod sessions;
mod store;
mod tables;
mod thread;

pub use error::OpenError;
pub use options::RedbOptions;
#[cfg(feature = "sessions")]
pub use sessions::RedbSessionStore;
pub use store::RedbTaskStore;

#[cfg(doc)]
use mcp_protocol::task::TaskStore;

#[cfg(test)]
mod tests;
