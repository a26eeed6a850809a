//! The settings of the builder for tasks.

use std::sync::Arc;

use mcp_protocol::task::TaskStore;

use super::ServerBuilder;
use crate::TaskOptions;

impl<S: Clone + Send + Sync + 'static> ServerBuilder<S> {
    /// Stores tasks in `store`. Default: a [`MemoryTaskStore`](crate::MemoryTaskStore), which loses the tasks when the process
    /// ends.
    ///
    /// With any other store, the server reads the unfinished tasks when it starts. Unfinished tasks of
    /// [resumable](crate::Tool::resumable) tools run again; all other tasks end with an error.
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
