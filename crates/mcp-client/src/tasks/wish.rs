//! Which calls ask for a task (2025-11-25). Since 2026-07-28 the server decides alone.
//!
//! Specification: [tool-level negotiation][spec].
//!
//! [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#tool-level-negotiation

use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_types::{TaskMetadata, TaskSupport};

use crate::client::Shared;
use crate::{Client, Error};

/// What a host would like.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wish {
    /// Whether a call should be a task where it may be one.
    pub(crate) task: bool,
    /// How long the server should keep it.
    pub(crate) ttl: Option<Duration>,
}

impl Wish {
    /// How to ask for a task in a call of this tool; `None` if there is nothing to ask for. Tools
    /// that were never listed are: a server that takes tasks may have tools that run as nothing
    /// else, and says so nowhere but there.
    ///
    /// # Errors
    /// The tools cannot be listed, and the host would like a task.
    pub(crate) async fn of_call(
        self,
        client: &Client,
        tool: &str,
    ) -> Result<Option<TaskMetadata>, Error> {
        let shared = client.shared();
        if !takes_tasks(shared) {
            return Ok(None);
        }
        let unknown = shared.tools.task_support(tool).is_none();
        if unknown && (self.task || !shared.tools.were_listed()) {
            match client.list_tools().await {
                Err(error) if self.task => return Err(error),
                Err(error) => tracing::debug!(%error, "calling a tool that nobody has listed"),
                Ok(_) => {}
            }
        }
        Ok(match shared.tools.task_support(tool) {
            Some(TaskSupport::Required) => Some(self.metadata()),
            Some(TaskSupport::Optional) if self.task => Some(self.metadata()),
            _ => None,
        })
    }

    /// The same after a plain call was refused: by a tool that runs as a task only, perhaps.
    ///
    /// # Errors
    /// The tools cannot be listed.
    pub(crate) async fn after(
        self,
        client: &Client,
        tool: &str,
        refused: &ErrorObject,
    ) -> Result<Option<TaskMetadata>, Error> {
        let shared = client.shared();
        let all = refused.code == ErrorCode::INVALID_REQUEST;
        if !takes_tasks(shared) || !(all || refused.code == ErrorCode::METHOD_NOT_FOUND) {
            return Ok(None);
        }
        if shared.tools.task_support(tool).is_none() {
            client.list_tools().await?;
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
fn takes_tasks(shared: &Shared) -> bool {
    let tasks = shared.agreed.capabilities.tasks.as_ref();
    let tools = tasks
        .and_then(|tasks| tasks.requests.as_ref())
        .and_then(|requests| requests.tools.as_ref());
    shared.rules().tasks && tools.is_some_and(|tools| tools.call.is_some())
}
