//! A running task and what is kept of it.

use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::BoxFuture;
use mcp_protocol::task::{StoreError, Task, TaskEnded};
use tokio::time::{sleep, timeout};

use super::table::TaskConfig;

/// How long a store may take for one thing.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);
/// The first wait for a store that failed, and the longest; each is twice the one before.
const MIN_BACKOFF: Duration = Duration::from_millis(50);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// What is changed of a task, as often as it takes.
pub(super) type Change<'a> = &'a (dyn Fn(&mut Task) -> Result<(), TaskEnded> + Sync);

/// A task as it is kept.
pub(super) struct TaskRecord {
    pub(super) config: Arc<TaskConfig>,
    pub(super) task: Task,
}

impl TaskRecord {
    /// Keeps a change, in at most `max_attempts` attempts. `false` if there is nothing to change any more:
    /// the task has ended, or is gone.
    pub(super) async fn change(
        &mut self,
        max_attempts: u32,
        change: Change<'_>,
    ) -> Result<bool, StoreError> {
        let mut failed = StoreError::Conflict;
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
                Err(StoreError::Conflict) => match self.read().await {
                    Ok(true) => continue,
                    Ok(false) => return Ok(false),
                    Err(error) => failed = error,
                },
                Err(full @ StoreError::Full { .. }) => return Err(full),
                Err(error) => failed = error,
            }
            tracing::warn!(error = %failed, "a change of a task cannot be kept yet");
            sleep(wait).await;
            wait = (wait * 2).min(MAX_BACKOFF);
        }
        Err(failed)
    }

    /// Reads what is kept; `false` if the task is gone.
    async fn read(&mut self) -> Result<bool, StoreError> {
        let kept = with_timeout(self.config.store.get(self.task.id())).await?;
        let is_there = kept.is_some();
        if let Some(kept) = kept {
            self.task = kept;
        }
        Ok(is_there)
    }
}

/// Waits for a store, but not for ever.
pub(super) async fn with_timeout<T>(
    operation: BoxFuture<'_, Result<T, StoreError>>,
) -> Result<T, StoreError> {
    match timeout(STORE_TIMEOUT, operation).await {
        Ok(done) => done,
        Err(_) => Err(StoreError::Unavailable(format!(
            "no answer within {} s",
            STORE_TIMEOUT.as_secs()
        ))),
    }
}
