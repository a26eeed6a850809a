//! Where tasks are kept.

use std::fmt;
use std::sync::Arc;

use super::{Task, Timestamp};
use crate::{BoxFuture, Principal};

/// Keeps tasks, in memory or beyond the life of the process.
///
/// For those who write one on a database:
///
/// - A record is opaque: write it with serde as JSON. Beside it a store needs only
///   [`id`](Task::id), [`owner`](Task::owner), [`version`](Task::version),
///   [`expires`](Task::expires) and [`has_ended`](Task::has_ended), in columns or keys of its own.
/// - A method that completes without an error has happened: a reader in any process that shares
///   the store sees it. Where replicas lag behind, it waits until they do not, or reads from the
///   one that is written.
/// - A future that is dropped may or may not have happened. Callers read again.
/// - A store reads no clock. Expired records may be seen until [`sweep`](Self::sweep) or a
///   [`create`](Self::create) removes them; callers look at [`Task::is_expired`].
/// - It has limits, and refuses what is over them with [`StoreError::Full`]; it never makes room by
///   forgetting what is not expired.
///
/// Feature `testing` has a suite that shows whether a store keeps to this:
/// `task::contract::check`.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a new task. Its [`created`](Task::created) time is the present: expired records may
    /// be removed on the way.
    ///
    /// # Errors
    /// [`Conflict`](StoreError::Conflict) if the id is known, whoever owns it;
    /// [`Full`](StoreError::Full) beyond a limit; [`Unavailable`](StoreError::Unavailable).
    fn create(&self, task: Task) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The task of this id, whoever owns it.
    ///
    /// # Errors
    /// [`Unavailable`](StoreError::Unavailable).
    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Task>, StoreError>>;

    /// Keeps a change: compares and sets. What is kept must exist, must have the version of `task`, and must
    /// not have ended; then `task` takes its place with the version [next_version](Task::next_version) by one.
    /// Returns the record as it is kept now.
    ///
    /// # Errors
    /// [`Conflict`](StoreError::Conflict) if what is kept is not as described, and nothing has
    /// changed; [`Full`](StoreError::Full) if it has grown beyond a limit;
    /// [`Unavailable`](StoreError::Unavailable).
    fn put(&self, task: Task) -> BoxFuture<'_, Result<Task, StoreError>>;

    /// At most `limit` tasks of this owner, `None` being an owner like any other, in ascending
    /// order of their ids (as bytes), from the first whose id is greater than `after`.
    ///
    /// # Errors
    /// [`Unavailable`](StoreError::Unavailable).
    fn list<'a>(
        &'a self,
        owner: Option<&'a Principal>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, StoreError>>;

    /// At most `limit` tasks that have not ended, whoever owns them, in the same order. Read once
    /// when a server starts.
    ///
    /// # Errors
    /// [`Unavailable`](StoreError::Unavailable).
    fn unfinished<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, StoreError>>;

    /// Forgets a task; whether there was one.
    ///
    /// # Errors
    /// [`Unavailable`](StoreError::Unavailable).
    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Forgets the tasks that are expired at `now`, whether they have ended or not; how many.
    ///
    /// # Errors
    /// [`Unavailable`](StoreError::Unavailable).
    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<usize, StoreError>>;
}

impl<S: TaskStore + ?Sized> TaskStore for Arc<S> {
    fn create(&self, task: Task) -> BoxFuture<'_, Result<(), StoreError>> {
        (**self).create(task)
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Task>, StoreError>> {
        (**self).get(id)
    }

    fn put(&self, task: Task) -> BoxFuture<'_, Result<Task, StoreError>> {
        (**self).put(task)
    }

    fn list<'a>(
        &'a self,
        owner: Option<&'a Principal>,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, StoreError>> {
        (**self).list(owner, after, limit)
    }

    fn unfinished<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, StoreError>> {
        (**self).unfinished(after, limit)
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        (**self).remove(id)
    }

    fn sweep(&self, now: Timestamp) -> BoxFuture<'_, Result<usize, StoreError>> {
        (**self).sweep(now)
    }
}

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreError {
    /// A limit is reached.
    Full {
        /// Which one, for people: "1000 tasks of one owner".
        limit: String,
    },
    /// What is kept is not what was expected.
    Conflict,
    /// The store cannot be reached, or failed; for people. Clients never see this text.
    Unavailable(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { limit } => write!(f, "the task store is full: {limit}"),
            Self::Conflict => f.write_str("the task was changed by somebody else"),
            Self::Unavailable(why) => write!(f, "the task store is unavailable: {why}"),
        }
    }
}

impl std::error::Error for StoreError {}
