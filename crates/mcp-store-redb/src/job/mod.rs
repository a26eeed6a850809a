//! The operations that the stores send to their thread.

#[cfg(feature = "http")]
pub(crate) mod event;
#[cfg(feature = "http")]
pub(crate) mod session;

use mcp_protocol::task::{Task, TaskStoreError, Timestamp};
use tokio::sync::oneshot;

/// The channel that returns a result to the caller.
pub(crate) type Reply<T> = oneshot::Sender<Result<T, TaskStoreError>>;

/// An operation for the thread of the store.
#[derive(Debug)]
pub(crate) enum Job {
    Write(Write, Reply<usize>),
    Read(Query, Reply<Vec<Task>>),
    #[cfg(feature = "http")]
    Session(session::SessionJob),
    /// Writes all queued events.
    #[cfg(feature = "http")]
    Events,
    /// Reads the events of a stream after the event `after`.
    #[cfg(feature = "http")]
    Replay {
        key: mcp_transport_http::StreamKey,
        after: u64,
        bytes: usize,
        found: oneshot::Sender<Result<mcp_transport_http::Replay, String>>,
    },
}

/// A change of tasks. Its result is the number of removed tasks.
#[derive(Debug)]
pub(crate) enum Write {
    Create { record: TaskRow, now: Timestamp },
    Put { record: TaskRow, expected: u64 },
    Remove(Box<str>),
    Sweep(Timestamp),
}

/// A query for tasks.
#[derive(Debug)]
pub(crate) enum Query {
    One(Box<str>),
    Owned {
        owner: Option<Box<str>>,
        after: Option<Box<str>>,
        limit: usize,
    },
    Unfinished {
        after: Option<Box<str>>,
        limit: usize,
    },
}

/// A task as a row: its JSON text, and the columns for the indexes.
#[derive(Debug)]
pub(crate) struct TaskRow {
    pub(crate) id: Box<str>,
    pub(crate) owner: Option<Box<str>>,
    pub(crate) version: u64,
    pub(crate) expires: u64,
    pub(crate) ended: bool,
    pub(crate) json: Vec<u8>,
}

impl TaskRow {
    pub(crate) fn of(task: &Task) -> Result<Self, TaskStoreError> {
        let json = serde_json::to_vec(task).map_err(|error| {
            TaskStoreError::Unavailable(format!("the task cannot be written as JSON: {error}"))
        })?;
        Ok(Self {
            id: task.id().into(),
            owner: task.owner().map(|owner| owner.as_str().into()),
            version: task.version(),
            expires: task.expires().as_millis(),
            ended: task.has_ended(),
            json,
        })
    }
}
