//! Decides which calls request a task (2025-11-25). Since 2026-07-28 the server decides.
//!
//! Specification: [tool-level negotiation][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_types::{TaskMetadata, TaskSupport};

use crate::Error;
use crate::lists;
use crate::shared::Shared;

/// The host's preference for tasks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskPreference {
    /// Whether the call should run as a task if the tool allows tasks but does not require them.
    pub(crate) is_wanted: bool,
    /// The requested time to live.
    pub(crate) ttl: Option<Duration>,
}

impl TaskPreference {
    /// Returns the task request for a call of this tool, or `None` for a call without a task. If the tool is unknown, may list
    /// the tools first, because only the list says which tools must be called as tasks.
    ///
    /// # Errors
    /// The tools cannot be listed, and the host prefers a task.
    pub(crate) async fn before_call(
        self,
        shared: &Arc<Shared>,
        tool: &str,
    ) -> Result<Option<TaskMetadata>, Error> {
        if !supports_task_calls(shared) {
            return Ok(None);
        }
        let lists_first = shared.lists_before_call && !shared.tools.were_listed();
        let unknown = shared.tools.task_support(tool).is_none();
        if unknown && (self.is_wanted || lists_first) {
            match lists::tools(shared).await {
                Err(error) if self.is_wanted => return Err(error),
                Err(error) => tracing::debug!(%error, "calling a tool that was not listed"),
                Ok(_) => {}
            }
        }
        Ok(match shared.tools.task_support(tool) {
            Some(TaskSupport::Required) => Some(self.metadata()),
            Some(TaskSupport::Optional) if self.is_wanted => Some(self.metadata()),
            _ => None,
        })
    }

    /// Returns the task request for the second attempt of a call that the server rejected. Returns `None` if the rejection does
    /// not mean that the call must run as a task.
    ///
    /// # Errors
    /// The tools cannot be listed.
    pub(crate) async fn after_rejection(
        self,
        shared: &Arc<Shared>,
        tool: &str,
        rejection: &ErrorObject,
    ) -> Result<Option<TaskMetadata>, Error> {
        let all = rejection.code == ErrorCode::INVALID_REQUEST;
        if !supports_task_calls(shared) || !(all || rejection.code == ErrorCode::METHOD_NOT_FOUND) {
            return Ok(None);
        }
        if shared.tools.task_support(tool).is_none() {
            lists::tools(shared).await?;
        }
        Ok(match shared.tools.task_support(tool) {
            Some(TaskSupport::Required) => Some(self.metadata()),
            // This error code means that the server requires a task for every call.
            Some(TaskSupport::Optional) if all => Some(self.metadata()),
            _ => None,
        })
    }

    fn metadata(self) -> TaskMetadata {
        let mut metadata = TaskMetadata::new();
        let ttl = self.ttl.map(|ttl| ttl.as_millis());
        metadata.ttl = ttl.map(|ttl| u64::try_from(ttl).unwrap_or(u64::MAX));
        metadata
    }
}

/// Returns whether the server supports tool calls as tasks.
fn supports_task_calls(shared: &Shared) -> bool {
    let tasks = shared.agreed.capabilities.tasks.as_ref();
    let tools = tasks
        .and_then(|tasks| tasks.requests.as_ref())
        .and_then(|requests| requests.tools.as_ref());
    shared.rules().tasks && tools.is_some_and(|tools| tools.call.is_some())
}
