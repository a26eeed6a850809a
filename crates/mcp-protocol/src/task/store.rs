//! The trait of task stores.

use std::fmt;
use std::sync::Arc;

use super::{Task, Timestamp};
use crate::{BoxFuture, Principal};

/// A store of tasks, in memory or durable.
///
/// Rules for implementations:
///
/// - A record is opaque: write it as JSON with serde. In addition, a store needs only [`id`](Task::id), [`owner`](Task::owner),
///   [`version`](Task::version), [`expires`](Task::expires) and [`has_ended`](Task::has_ended), in separate columns or keys.
/// - When a method completes without an error, its change is visible to every process that shares the store. A store with
///   replicas waits until all replicas have the change, or reads from the replica that it writes.
/// - If the future of a method is dropped, the change may or may not have been made. Callers read the record again.
/// - A store reads no clock. Expired records may be visible until [`sweep`](Self::sweep) or
///   [`create`](Self::create) removes them; callers check [`Task::is_expired`].
/// - A store has limits. It rejects a record that exceeds a limit with [`TaskStoreError::Full`]. To make room for
///   another record, it removes only expired records.
///
/// With the feature `testing`, `task::contract::check` tests these rules.
pub trait TaskStore: Send + Sync + 'static {
    /// Stores a new task. The [`created`](Task::created) time of the task is the current time. The store may remove records that
    /// are expired at this time.
    ///
    /// # Errors
    /// [`Conflict`](TaskStoreError::Conflict) if a task with this id exists, even for another owner;
    /// [`Full`](TaskStoreError::Full) if the task exceeds a limit; [`Unavailable`](TaskStoreError::Unavailable).
    fn create(&self, task: Task) -> BoxFuture<'_, Result<(), TaskStoreError>>;

    /// Returns the task with this id. The owner of the task does not matter.
    ///
    /// # Errors
    /// [`Unavailable`](TaskStoreError::Unavailable).
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Task>, TaskStoreError>>;

    /// Replaces the stored record of a task (compare and set). The stored record must exist, must have the version of `task`, and
    /// must not have ended. If these conditions are met, stores `task` with the [next version](Task::next_version) and returns
    /// the new record.
    ///
    /// # Errors
    /// [`Conflict`](TaskStoreError::Conflict) if a condition is not met; the store then changes nothing.
    /// [`Full`](TaskStoreError::Full) if the record exceeds a limit; [`Unavailable`](TaskStoreError::Unavailable).
    fn put(&self, task: Task) -> BoxFuture<'_, Result<Task, TaskStoreError>>;

    /// Returns at most `limit` tasks of this owner in ascending order of their ids (as bytes), starting with the first id greater
    /// than `after`. The owner `None` is treated like any other owner.
    ///
    /// # Errors
    /// [`Unavailable`](TaskStoreError::Unavailable).
    fn list<'a>(
        &'a self,
        owner: Option<&'a Principal>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>>;

    /// Returns at most `limit` tasks of all owners that have not ended, in the order of [`list`](Self::list). Called
    /// when a server starts and, if the store [is shared](Self::is_shared), at intervals afterwards.
    ///
    /// # Errors
    /// [`Unavailable`](TaskStoreError::Unavailable).
    fn unfinished<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>>;

    /// Removes a task; returns whether it existed.
    ///
    /// # Errors
    /// [`Unavailable`](TaskStoreError::Unavailable).
    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, TaskStoreError>>;

    /// Removes all tasks that are expired at `now`; returns their number.
    ///
    /// # Errors
    /// [`Unavailable`](TaskStoreError::Unavailable).
    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<usize, TaskStoreError>>;

    /// Returns whether several processes use the store at the same time. Servers then renew a [lease](Task::lease) for each task
    /// that they run, and recover the tasks of other processes whose lease has ended. Default: `false`.
    fn is_shared(&self) -> bool {
        false
    }
}

impl<S: TaskStore + ?Sized> TaskStore for Arc<S> {
    fn create(&self, task: Task) -> BoxFuture<'_, Result<(), TaskStoreError>> {
        (**self).create(task)
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Task>, TaskStoreError>> {
        (**self).get(id)
    }

    fn put(&self, task: Task) -> BoxFuture<'_, Result<Task, TaskStoreError>> {
        (**self).put(task)
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a Principal>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>> {
        (**self).list(owner, after, limit)
    }

    fn unfinished<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, TaskStoreError>> {
        (**self).unfinished(after, limit)
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, TaskStoreError>> {
        (**self).remove(id)
    }

    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<usize, TaskStoreError>> {
        (**self).sweep(now)
    }

    fn is_shared(&self) -> bool {
        (**self).is_shared()
    }
}

/// Error of a task store.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskStoreError {
    /// A limit is reached.
    Full {
        /// A description of the limit, for example "1000 tasks of one owner".
        limit: String,
    },
    /// The stored record differs from the expected record.
    Conflict,
    /// The store is not reachable or has failed. Clients never see this text.
    Unavailable(String),
}

impl fmt::Display for TaskStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { limit } => write!(f, "the task store is full: {limit}"),
            Self::Conflict => f.write_str("the task was changed concurrently; read it again"),
            Self::Unavailable(why) => write!(f, "the task store is unavailable: {why}"),
        }
    }
}

impl std::error::Error for TaskStoreError {}
