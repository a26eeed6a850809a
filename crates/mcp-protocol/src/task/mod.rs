//! Calls that outlive their request: what is kept of one, where, and how it is shown.
//!
//! A [`Task`] is the record of such a call; its methods are the transitions that the protocol
//! allows. A [`TaskStore`] keeps records; [`MemoryStore`] is the one that needs nothing else.
//! Time is an argument here, as everywhere in this crate.
//!
//! One record serves both forms that tasks have on the wire: those of 2025-11-25, and the
//! extension of 2026-07-28.
//!
//! Specification: [tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks),
//! [the extension](https://modelcontextprotocol.io/seps/2663-tasks-extension).

#[cfg(any(test, feature = "testing"))]
pub mod contract;
mod keep;
mod memory;
mod record;
mod store;
mod time;
mod wire;

pub use memory::MemoryStore;
pub use record::{Task, TaskCall, TaskEnded, TaskOutcome, TaskState};
pub use store::{StoreError, TaskStore};
pub use time::Timestamp;
pub use wire::TaskForm;

#[cfg(test)]
mod tests;
