//! Tasks: tool calls that continue after their request was answered.
//!
//! - `start` decides whether a call becomes a task and starts it.
//! - `run` polls the handler in the background and saves changes.
//! - `endpoint` handles requests about tasks.
//! - `recover` resumes or ends the unfinished tasks of an earlier process.
//! - `table` holds the tasks that run in this process.
//!
//! Specification: [tasks][core], [the extension][extension].
//!
//! [core]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
//! [extension]: https://modelcontextprotocol.io/seps/2663-tasks-extension

mod endpoint;
mod link;
mod options;
mod record;
mod recover;
mod requests;
mod run;
mod start;
mod subscribe;
mod table;
mod wire;

use mcp_protocol::task::TaskStore;

use std::sync::Arc;

use crate::ServerBuilder;

pub(crate) use options::TaskPolicy;
pub use options::{TaskMode, TaskOptions};
pub(crate) use start::ToolInvocation;
pub(crate) use table::{TaskConfig, Tasks};

impl<S: Clone + Send + Sync + 'static> ServerBuilder<S> {
    /// Stores tasks in `store`. Default: a [`MemoryTaskStore`](crate::MemoryTaskStore), which loses
    /// them when the process ends.
    ///
    /// With any other store, the server reads the unfinished tasks when it starts. Tools that are
    /// [resumable](crate::Tool::resumable) run again; other tasks end with an error.
    pub fn task_store(mut self, store: impl TaskStore) -> Self {
        self.parts.tasks.store = Arc::new(store);
        self.parts.tasks.is_persistent = true;
        self
    }

    /// Sets limits and times of tasks. [`TaskOptions`] documents the defaults.
    pub fn task_options(mut self, options: TaskOptions) -> Self {
        self.parts.tasks.options = options;
        self
    }
}
