//! Task status.

use crate::TaskStatus;

impl TaskStatus {
    /// Whether the status is final. A status that this crate does not know may still change.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Completed | Self::Failed)
    }
}
