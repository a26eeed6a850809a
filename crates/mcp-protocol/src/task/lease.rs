//! The lease of a running task.

use serde::{Deserialize, Serialize};

use super::{Task, TaskEnded, Timestamp};

/// The right of one process to run a task, in a store that several processes use.
///
/// The process renews the lease while the handler runs. After the lease has ended, another process may run the task again or end
/// the task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskLease {
    /// A random id of the process.
    pub worker: String,
    /// The time at which the lease ends.
    pub until: Timestamp,
}

impl TaskLease {
    /// Creates a lease.
    pub fn new(worker: impl Into<String>, until: Timestamp) -> Self {
        Self {
            worker: worker.into(),
            until,
        }
    }
}

impl Task {
    /// Returns the lease of the process that runs the task; `None` if only one process uses the store.
    pub fn lease(&self) -> Option<&TaskLease> {
        self.lease.as_ref()
    }

    /// Sets the lease. Does not change the time of the last change.
    ///
    /// # Errors
    /// The task has already ended.
    pub fn set_lease(&mut self, lease: TaskLease) -> Result<(), TaskEnded> {
        if self.has_ended() {
            return Err(TaskEnded);
        }
        self.lease = Some(lease);
        Ok(())
    }
}
