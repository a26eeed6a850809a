//! Task references. A host can store them.

use std::fmt;

use mcp_protocol::task::short_id;
use serde::{Deserialize, Serialize};

use crate::connect::negotiation::KnownVersion;

/// A reference to a task. A host can store it, and use it to wait for the task on another connection or in another process.
///
/// A server without authentication lets every client that knows the id use the task. Treat the id as a secret.
///
/// ```
/// # fn main() -> Result<(), serde_json::Error> {
/// use mcp_client::TaskRef;
///
/// let stored = r#"{"id":"786512e2","tool":"report","created_at":"2026-08-01T10:30:00Z",
///     "poll_interval_ms":5000,"server":{"revision":"2026-07-28"}}"#;
/// let task: TaskRef = serde_json::from_str(stored)?;
/// assert_eq!(task.tool(), "report");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRef {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) created_at: String,
    pub(super) poll_interval_ms: Option<u64>,
    pub(super) server: KnownVersion,
}

impl TaskRef {
    /// Returns the id that the server gave to the task.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the name of the tool that was called.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Returns the time when the task was created, as an ISO 8601 timestamp of the server's clock.
    pub fn created_at(&self) -> &str {
        &self.created_at
    }

    /// Returns the negotiated version, for the [next connection](crate::Negotiation::Prior) to the
    /// server.
    pub fn known_version(&self) -> KnownVersion {
        self.server
    }

    /// Returns the first characters of the id. Unlike the whole id, they may be logged.
    pub(super) fn short_id(&self) -> &str {
        short_id(&self.id)
    }
}

impl fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskRef")
            .field("id", &format_args!("{}…", self.short_id()))
            .field("tool", &self.tool)
            .finish_non_exhaustive()
    }
}
