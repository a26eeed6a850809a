//! A stored task, and the functions that save its changes.

use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::BoxFuture;
use mcp_protocol::task::{Task, TaskEnded, TaskStoreError};
use tokio::time::{sleep, timeout};

use crate::task_table::TaskConfig;

/// Timeout of one operation of a store.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);
/// Delay after the first failure of a store operation. The delay doubles after each further failure, up to [`MAX_BACKOFF`].
const MIN_BACKOFF: Duration = Duration::from_millis(50);
/// Maximum delay after a failure of a store operation.
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// A function that changes a task. It is called again after each conflict.
pub(super) type Change<'a> = &'a (dyn Fn(&mut Task) -> Result<(), TaskEnded> + Sync);

/// A task as the store holds it.
pub(super) struct TaskRecord {
    pub(super) config: Arc<TaskConfig>,
    pub(super) task: Task,
    /// Whether only the process that has the task's lease may change the task.
    pub(super) is_leased: bool,
}

impl TaskRecord {
    /// Saves a change, in at most `max_attempts` attempts. Returns `false` if the task has ended or no longer exists, or if
    /// another process has the lease of the task.
    pub(super) async fn change(
        &mut self,
        max_attempts: u32,
        change: Change<'_>,
    ) -> Result<bool, TaskStoreError> {
        let mut failed = TaskStoreError::Conflict;
        let mut wait = MIN_BACKOFF;
        for _ in 0..max_attempts {
            let mut next = self.task.clone();
            if change(&mut next).is_err() {
                return Ok(false);
            }
            if next == self.task {
                return Ok(true);
            }
            match with_timeout(self.config.store.put(next)).await {
                Ok(kept) => {
                    self.task = kept;
                    return Ok(true);
                }
                Err(TaskStoreError::Conflict) => match self.read().await {
                    Ok(true) => continue,
                    Ok(false) => return Ok(false),
                    Err(error) => failed = error,
                },
                Err(full @ TaskStoreError::Full { .. }) => return Err(full),
                Err(error) => failed = error,
            }
            tracing::warn!(error = %failed, "cannot save a change of a task; trying again");
            sleep(wait).await;
            wait = (wait * 2).min(MAX_BACKOFF);
        }
        Err(failed)
    }

    /// Reads the task again. Returns `false` if the task no longer exists, or if another process has the lease of the task.
    async fn read(&mut self) -> Result<bool, TaskStoreError> {
        let kept = with_timeout(self.config.store.get(self.task.id())).await?;
        let Some(kept) = kept else { return Ok(false) };
        let worker = |task: &Task| task.lease().map(|lease| lease.worker.clone());
        if self.is_leased && worker(&kept) != worker(&self.task) {
            return Ok(false);
        }
        self.task = kept;
        Ok(true)
    }
}

/// Waits for a store operation, for at most [`STORE_TIMEOUT`].
pub(super) async fn with_timeout<T>(
    operation: BoxFuture<'_, Result<T, TaskStoreError>>,
) -> Result<T, TaskStoreError> {
    match timeout(STORE_TIMEOUT, operation).await {
        Ok(done) => done,
        Err(_) => Err(TaskStoreError::Unavailable(format!(
            "the store did not answer within {} s",
            STORE_TIMEOUT.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use mcp_jsonrpc::RawJson;
    use mcp_protocol::Revision;
    use mcp_protocol::task::{TaskCall, TaskLease, TaskStore as _, Timestamp};

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(0);

    /// Saves a status message after another writer has changed the task's lease. Returns whether the message was saved.
    async fn saved(is_leased: bool, worker: &str) -> bool {
        let config = Arc::new(TaskConfig::default());
        let call = TaskCall::new("tools/call", "t", RawJson::copy("{}"), Revision::LATEST);
        let mut task = Task::new("id", None, call, NOW, None);
        let lease =
            |worker: &str, seconds| TaskLease::new(worker, NOW.after(Duration::from_secs(seconds)));
        task.set_lease(lease("one", 1)).unwrap();
        config.store.create(task.clone()).await.unwrap();
        let stored = config.store.get("id").await.unwrap().unwrap();
        let mut changed = stored.clone();
        changed.set_lease(lease(worker, 2)).unwrap();
        config.store.put(changed).await.unwrap();
        let mut record = TaskRecord {
            config,
            task: stored,
            is_leased,
        };
        let change = |task: &mut Task| task.set_message("at work", NOW);
        record.change(2, &change).await.unwrap()
    }

    #[tokio::test]
    async fn a_change_is_repeated_after_a_conflict_unless_another_process_has_the_lease() {
        assert!(saved(true, "one").await);
        assert!(!saved(true, "two").await);
        assert!(saved(false, "two").await);
    }
}
