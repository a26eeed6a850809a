//! Tasks of a Model Context Protocol server, kept in one file.
//!
//! [`RedbStore`] is a [`TaskStore`] on the embedded database `redb`: nothing to install, nothing to
//! run. What it says it keeps is on the disk; a process that is killed, or a machine that loses
//! power, finds it there when it starts again.
//!
//! One process at a time has the file. Servers of several processes need a store that they reach
//! over a network; the contract for that stands at [`TaskStore`].
//!
//! ```no_run
//! use mcp_tasks_redb::RedbStore;
//!
//! # fn main() -> Result<(), mcp_tasks_redb::OpenError> {
//! let store = RedbStore::open("tasks.redb")?;
//! // Server::new("reports", "1.0.0").task_store(store)
//! # drop(store);
//! # Ok(())
//! # }
//! ```

mod error;
mod file;
mod job;
mod options;
mod query;
mod store;
mod tables;
mod thread;

pub use error::OpenError;
pub use options::RedbOptions;
pub use store::RedbStore;

#[cfg(doc)]
use mcp_protocol::task::TaskStore;

#[cfg(test)]
mod tests;
