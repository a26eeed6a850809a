//! Which calls ask for a task (2025-11-25). Since 2026-07-28 the server decides alone.
//!
//! Specification: [tool-level negotiation][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_types::{TaskMetadata, TaskSupport};

use crate::Error;
use crate::call::lists;
use crate::shared::Shared;

/// What a host would like.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskPreference {
    /// Whether a call should be a task where it may be one.
    pub(crate) is_wanted: bool,
    /// How long the server should keep it.
    pub(crate) ttl: Option<Duration>,
}

impl TaskPreference {
    /// How to ask for a task in a call of this tool; `None` if there is nothing to ask for. Tools
    /// that were never listed are: a server that takes tasks may have tools that run as nothing
    /// else, and says so nowhere but there.
    ///
    /// # Errors
    /// The tools cannot be listed, and the host would like a task.
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
                Err(error) => tracing::debug!(%error, "calling a tool that nobody has listed"),
                Ok(_) => {}
            }
        }
        Ok(match shared.tools.task_support(tool) {
            Some(TaskSupport::Required) => Some(self.metadata()),
            Some(TaskSupport::Optional) if self.is_wanted => Some(self.metadata()),
            _ => None,
        })
    }

    /// The same after a plain call was rejection: by a tool that runs as a task only, perhaps.
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
            // A server may want all calls to be tasks, and says so in this way.
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

/// Whether the server can be asked for tasks at all, whatever its tools say.
fn supports_task_calls(shared: &Shared) -> bool {
    let tasks = shared.agreed.capabilities.tasks.as_ref();
    let tools = tasks
        .and_then(|tasks| tasks.requests.as_ref())
        .and_then(|requests| requests.tools.as_ref());
    shared.rules().tasks && tools.is_some_and(|tools| tools.call.is_some())
}
