//! Tasks: calls that outlive their request. Records, stores and wire forms.
//!
//! A [`Task`] is the record of such a call; its methods are the state transitions that the protocol
//! allows. A [`TaskStore`] stores records; [`MemoryTaskStore`] is the store without dependencies.
//! Time is an argument.
//!
//! One record serves both wire forms of tasks: the core tasks of 2025-11-25 and the extension of
//! 2026-07-28.
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

/// Returns the part of an id that may appear in logs: it identifies the task but gives no access.
#[doc(hidden)]
pub fn short_id(id: &str) -> &str {
    let end = id.char_indices().nth(8).map_or(id.len(), |(end, _)| end);
    &id[..end]
}

#[cfg(test)]
mod tests;
