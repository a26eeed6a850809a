//! Calls that outlive their request.
//!
//! `begin` decides whether a call becomes a task and starts it, `runner` runs it in the background
//! and keeps what changes, `serve` answers requests about tasks, `recover` takes up what a
//! process before this one left unfinished. `table` knows what runs here.
//!
//! Specification: [tasks][legacy], [the extension][extension].
//!
//! [legacy]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
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

use crate::Server;

pub(crate) use options::TaskPolicy;
pub use options::{TaskMode, TaskOptions};
pub(crate) use start::ToolInvocation;
pub(crate) use table::Tasks;

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Keeps tasks in this store; default: a [`MemoryStore`](crate::MemoryStore), which forgets
    /// them when the process ends.
    ///
    /// With a store that lasts, the server looks into it when it starts: tools that say they
    /// [resume](crate::Tool::resumable) are run again, other tasks fail with a reason.
    #[must_use]
    pub fn task_store(self, store: impl TaskStore) -> Self {
        let server = self.for_building();
        server.core.tasks.set_store(store);
        server
    }

    /// Sets limits and times of tasks; the defaults stand at [`TaskOptions`].
    #[must_use]
    pub fn task_options(self, options: TaskOptions) -> Self {
        let server = self.for_building();
        server.core.tasks.set_options(options);
        server
    }
}
