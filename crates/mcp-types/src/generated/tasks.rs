// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Long-running requests whose result is fetched later.

use crate::{JsonObject, Meta};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// The task to cancel.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelTaskRequestParams {
    /// The id that the receiver gave to the task.
    pub task_id: String,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelTaskRequestParams {
    /// Creates a value from its required members.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            meta: None,
        }
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The task after its cancellation.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelTaskResult {
    /// The id that the receiver gave to the task.
    pub task_id: String,
    /// The status of the task.
    pub status: TaskStatus,
    /// A description of the status, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When the task was created, as an ISO 8601 timestamp.
    pub created_at: String,
    /// When the status last changed, as an ISO 8601 timestamp.
    pub last_updated_at: String,
    /// How long the task is kept after its creation, in milliseconds; null means without limit.
    #[serde(deserialize_with = "crate::number::nullable")]
    pub ttl: Option<u64>,
    /// How long the requester should wait between two polls, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelTaskResult {
    /// Creates a value from its required members.
    pub fn new(
        task_id: impl Into<String>,
        status: impl Into<TaskStatus>,
        created_at: impl Into<String>,
        last_updated_at: impl Into<String>,
        ttl: Option<u64>,
    ) -> Self {
        Self {
            task_id: task_id.into(),
            status: status.into(),
            status_message: None,
            created_at: created_at.into(),
            last_updated_at: last_updated_at.into(),
            ttl,
            poll_interval: None,
            meta: None,
        }
    }

    /// Sets [`status_message`](Self::status_message).
    #[must_use]
    pub fn with_status_message(mut self, status_message: impl Into<String>) -> Self {
        self.status_message = Some(status_message.into());
        self
    }

    /// Sets [`poll_interval`](Self::poll_interval).
    #[must_use]
    pub fn with_poll_interval(mut self, poll_interval: u64) -> Self {
        self.poll_interval = Some(poll_interval);
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The immediate result of a request that runs as a task.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task, whose result is fetched later.
    pub task: Task,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateTaskResult {
    /// Creates a value from its required members.
    pub fn new(task: Task) -> Self {
        Self { task, meta: None }
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The task whose result to wait for.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskPayloadRequestParams {
    /// The id that the receiver gave to the task.
    pub task_id: String,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetTaskPayloadRequestParams {
    /// Creates a value from its required members.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            meta: None,
        }
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The result of a task: the result of the original request.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GetTaskPayloadResult(JsonObject);
impl GetTaskPayloadResult {
    /// Creates a value without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the members as a map.
    pub fn into_inner(self) -> JsonObject {
        self.0
    }
}

impl Deref for GetTaskPayloadResult {
    type Target = JsonObject;

    fn deref(&self) -> &JsonObject {
        &self.0
    }
}

impl DerefMut for GetTaskPayloadResult {
    fn deref_mut(&mut self) -> &mut JsonObject {
        &mut self.0
    }
}

impl From<JsonObject> for GetTaskPayloadResult {
    fn from(members: JsonObject) -> Self {
        Self(members)
    }
}

impl From<GetTaskPayloadResult> for JsonObject {
    fn from(open: GetTaskPayloadResult) -> Self {
        open.0
    }
}

/// The task to poll.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskRequestParams {
    /// The id that the receiver gave to the task.
    pub task_id: String,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetTaskRequestParams {
    /// Creates a value from its required members.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
            meta: None,
        }
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The current state of the task.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskResult {
    /// The id that the receiver gave to the task.
    pub task_id: String,
    /// The status of the task.
    pub status: TaskStatus,
    /// A description of the status, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When the task was created, as an ISO 8601 timestamp.
    pub created_at: String,
    /// When the status last changed, as an ISO 8601 timestamp.
    pub last_updated_at: String,
    /// How long the task is kept after its creation, in milliseconds; null means without limit.
    #[serde(deserialize_with = "crate::number::nullable")]
    pub ttl: Option<u64>,
    /// How long the requester should wait between two polls, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetTaskResult {
    /// Creates a value from its required members.
    pub fn new(
        task_id: impl Into<String>,
        status: impl Into<TaskStatus>,
        created_at: impl Into<String>,
        last_updated_at: impl Into<String>,
        ttl: Option<u64>,
    ) -> Self {
        Self {
            task_id: task_id.into(),
            status: status.into(),
            status_message: None,
            created_at: created_at.into(),
            last_updated_at: last_updated_at.into(),
            ttl,
            poll_interval: None,
            meta: None,
        }
    }

    /// Sets [`status_message`](Self::status_message).
    #[must_use]
    pub fn with_status_message(mut self, status_message: impl Into<String>) -> Self {
        self.status_message = Some(status_message.into());
        self
    }

    /// Sets [`poll_interval`](Self::poll_interval).
    #[must_use]
    pub fn with_poll_interval(mut self, poll_interval: u64) -> Self {
        self.poll_interval = Some(poll_interval);
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// One page of the tasks of the receiver.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListTasksResult {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// The cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListTasksResult {
    /// Creates a value from its required members.
    pub fn new(tasks: Vec<Task>) -> Self {
        Self {
            tasks,
            next_cursor: None,
            meta: None,
        }
    }

    /// Sets [`next_cursor`](Self::next_cursor).
    #[must_use]
    pub fn with_next_cursor(mut self, next_cursor: impl Into<String>) -> Self {
        self.next_cursor = Some(next_cursor.into());
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The metadata entry that connects a message to a task, see [`Meta::related_task`](crate::Meta::related_task).
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RelatedTaskMetadata {
    /// The id that the receiver gave to the task.
    pub task_id: String,
}

impl RelatedTaskMetadata {
    /// Creates a value from its required members.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
        }
    }
}

/// A request that continues after its first response.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// The id that the receiver gave to the task.
    pub task_id: String,
    /// The status of the task.
    pub status: TaskStatus,
    /// A description of the status, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When the task was created, as an ISO 8601 timestamp.
    pub created_at: String,
    /// When the status last changed, as an ISO 8601 timestamp.
    pub last_updated_at: String,
    /// How long the task is kept after its creation, in milliseconds; null means without limit.
    #[serde(deserialize_with = "crate::number::nullable")]
    pub ttl: Option<u64>,
    /// How long the requester should wait between two polls, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
}

impl Task {
    /// Creates a value from its required members.
    pub fn new(
        task_id: impl Into<String>,
        status: impl Into<TaskStatus>,
        created_at: impl Into<String>,
        last_updated_at: impl Into<String>,
        ttl: Option<u64>,
    ) -> Self {
        Self {
            task_id: task_id.into(),
            status: status.into(),
            status_message: None,
            created_at: created_at.into(),
            last_updated_at: last_updated_at.into(),
            ttl,
            poll_interval: None,
        }
    }

    /// Sets [`status_message`](Self::status_message).
    #[must_use]
    pub fn with_status_message(mut self, status_message: impl Into<String>) -> Self {
        self.status_message = Some(status_message.into());
        self
    }

    /// Sets [`poll_interval`](Self::poll_interval).
    #[must_use]
    pub fn with_poll_interval(mut self, poll_interval: u64) -> Self {
        self.poll_interval = Some(poll_interval);
        self
    }
}

/// The requested retention of a task.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskMetadata {
    /// How long to keep the task after its creation, in milliseconds; the receiver may choose another value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

impl TaskMetadata {
    /// Creates a value without members; all are optional.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`ttl`](Self::ttl).
    #[must_use]
    pub fn with_ttl(mut self, ttl: u64) -> Self {
        self.ttl = Some(ttl);
        self
    }
}

/// The status of a task; the last three are final.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskStatus {
    /// The task was cancelled before it completed.
    Cancelled,
    /// The task succeeded and its result can be fetched.
    Completed,
    /// The task failed.
    Failed,
    /// The task waits for input from the requester.
    InputRequired,
    /// The task is running.
    Working,
    /// A value that this crate does not know, unchanged.
    Unknown(Box<str>),
}

impl TaskStatus {
    /// The value on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::InputRequired => "input_required",
            Self::Working => "working",
            Self::Unknown(text) => text,
        }
    }
}

impl From<&str> for TaskStatus {
    fn from(text: &str) -> Self {
        match text {
            "cancelled" => Self::Cancelled,
            "completed" => Self::Completed,
            "failed" => Self::Failed,
            "input_required" => Self::InputRequired,
            "working" => Self::Working,
            other => Self::Unknown(other.into()),
        }
    }
}

impl<'de> Deserialize<'de> for TaskStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a TaskStatus string")
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for TaskStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A task whose status has changed.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskStatusNotificationParams {
    /// The id that the receiver gave to the task.
    pub task_id: String,
    /// The status of the task.
    pub status: TaskStatus,
    /// A description of the status, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When the task was created, as an ISO 8601 timestamp.
    pub created_at: String,
    /// When the status last changed, as an ISO 8601 timestamp.
    pub last_updated_at: String,
    /// How long the task is kept after its creation, in milliseconds; null means without limit.
    #[serde(deserialize_with = "crate::number::nullable")]
    pub ttl: Option<u64>,
    /// How long the requester should wait between two polls, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TaskStatusNotificationParams {
    /// Creates a value from its required members.
    pub fn new(
        task_id: impl Into<String>,
        status: impl Into<TaskStatus>,
        created_at: impl Into<String>,
        last_updated_at: impl Into<String>,
        ttl: Option<u64>,
    ) -> Self {
        Self {
            task_id: task_id.into(),
            status: status.into(),
            status_message: None,
            created_at: created_at.into(),
            last_updated_at: last_updated_at.into(),
            ttl,
            poll_interval: None,
            meta: None,
        }
    }

    /// Sets [`status_message`](Self::status_message).
    #[must_use]
    pub fn with_status_message(mut self, status_message: impl Into<String>) -> Self {
        self.status_message = Some(status_message.into());
        self
    }

    /// Sets [`poll_interval`](Self::poll_interval).
    #[must_use]
    pub fn with_poll_interval(mut self, poll_interval: u64) -> Self {
        self.poll_interval = Some(poll_interval);
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}
