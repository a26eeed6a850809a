//! Tasks are calls that outlive their request. This module has their records, stores and message formats.
//!
//! A [`Task`] is the record of such a call; its methods are the state transitions that the protocol allows. A [`TaskStore`]
//! stores records; [`MemoryTaskStore`] keeps the records in memory. Functions receive the current time as an argument.
//!
//! The same record is used for both message formats: the core tasks of 2025-11-25 and the extension of 2026-07-28.
//!
//! Specification:
//! [tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks), [the
//! extension](https://modelcontextprotocol.io/seps/2663-tasks-extension).

#[cfg(any(test, feature = "testing"))]
pub mod contract;
pub(crate) mod keep;
mod lease;
mod memory;
mod record;
mod store;
mod time;
mod wire;

pub use lease::TaskLease;
pub use memory::MemoryTaskStore;
pub use record::{Task, TaskCall, TaskEnded, TaskOutcome, TaskState};
pub use store::{TaskStore, TaskStoreError};
pub use time::Timestamp;
#[doc(hidden)]
pub use wire::TaskForm;

/// Returns the first 8 characters of a task id. Unlike the whole id, they give no access to the task, so they may be logged.
#[doc(hidden)]
pub fn short_id(id: &str) -> &str {
    let end = id.char_indices().nth(8).map_or(id.len(), |(end, _)| end);
    &id[..end]
}

#[cfg(test)]
mod tests;
