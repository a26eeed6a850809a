//! Keeps the state of a Model Context Protocol server in one file, so that it survives restarts, crashes and power failures.
//!
//! A [`RedbStore`] is a file of the embedded database `redb`, without a server to install or run. Every completed operation is on
//! the disk. With the features `server` and `http`, two calls of `persist` keep the whole state in the file:
//!
//! ```no_run
//! # #[cfg(all(feature = "server", feature = "http"))]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use mcp_server::Server;
//! use mcp_store_redb::{Persist as _, RedbStore};
//! use mcp_transport_http::{Endpoint, ServerOptions};
//!
//! let store = RedbStore::open("state.redb")?;
//! let server = Server::builder("reports", "1.0.0").persist(&store);
//! let endpoint = Endpoint::with_options(server, ServerOptions::new().persist(&store))?;
//! # Ok(())
//! # }
//! ```
//!
//! | Feature | Keeps | Depends on |
//! | --- | --- | --- |
//! | none | tasks: [`RedbTaskStore`] | `mcp-protocol` |
//! | `server` | tasks, and the keys of call state and list cursors | `mcp-server` |
//! | `http` | sessions and the events of their streams: `RedbSessionStore`, `RedbEventStore` | `mcp-transport-http` |
//!
//! After a restart, clients reconnect and have their sessions, log levels, subscriptions and tasks, and get the events that they
//! missed. A call that was running fails, unless it is a task that can be resumed; the error says that the handler may have run.
//!
//! Only one process can open the file. Servers with several processes need a store that all of them reach over a network, such
//! as `mcp-store-redis`.
//!
//! The file contains state keys, session ids, events, arguments and results without encryption. Only its owner can read it. Keep
//! it where only the server can read.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
#[cfg(feature = "http")]
mod events;
mod file;
mod job;
mod options;
#[cfg(any(feature = "server", feature = "http"))]
mod persist;
#[cfg(feature = "http")]
mod sessions;
mod store;
mod tables;
mod tasks;
mod thread;

pub use error::OpenError;
#[cfg(feature = "http")]
pub use events::RedbEventStore;
pub use options::RedbOptions;
#[cfg(any(feature = "server", feature = "http"))]
pub use persist::Persist;
#[cfg(feature = "http")]
pub use sessions::RedbSessionStore;
pub use store::RedbStore;
pub use tasks::RedbTaskStore;

#[cfg(doc)]
use mcp_protocol::task::TaskStore;

#[cfg(test)]
mod tests;
