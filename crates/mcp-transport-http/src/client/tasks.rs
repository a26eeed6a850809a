//! The tasks of one connection. All of them end with it.

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Starts tasks and stops them together.
pub(crate) struct Tasks {
    /// Kept so that a call can be dropped outside of the runtime.
    runtime: Handle,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Creates an empty set of tasks on the current runtime.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime.
    pub(crate) fn new() -> Self {
        Self {
            runtime: Handle::current(),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Runs `task` until it completes or all tasks are stopped.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let task = self.stop.clone().run_until_cancelled_owned(task);
        self.tracker.spawn_on(task, &self.runtime);
    }

    /// Runs a task that is not stopped with the others.
    pub(crate) fn spawn_last(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(task);
    }

    pub(crate) fn spawn_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime.spawn_blocking(work)
    }

    /// Stops all tasks and completes when none is left. Cancel safe.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}
