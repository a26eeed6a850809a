//! The states of a task.

use crate::TaskStatus;

impl TaskStatus {
    /// Whether the task has ended and stays as it is. A status this crate does not know may still change.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Completed | Self::Failed)
    }
}
