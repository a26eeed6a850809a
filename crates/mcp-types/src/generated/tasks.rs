// Generated from the official schema: do not edit. Run `cargo xtask codegen`.

//!

use crate::{JsonObject, Meta};
use serde::Deserialize;
use serde::Deserializer;
use serde::Serialize;
use serde::Serializer;
use std::fmt;
use std::ops::Deref;
use std::ops::DerefMut;

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelTaskRequestParams {
    ///
    pub task_id: String,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelTaskRequestParams {
    /// A `CancelTaskRequestParams` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelTaskResult {
    ///
    pub task_id: String,
    ///
    pub status: TaskStatus,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    ///
    pub created_at: String,
    ///
    pub last_updated_at: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    ///
    #[serde(deserialize_with = "crate::number::nullable")]
    pub ttl: Option<u64>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelTaskResult {
    /// A `CancelTaskResult` with its required members.
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
            poll_interval: None,
            ttl,
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CreateTaskResult {
    ///
    pub task: Task,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CreateTaskResult {
    /// A `CreateTaskResult` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskPayloadRequestParams {
    ///
    pub task_id: String,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetTaskPayloadRequestParams {
    /// A `GetTaskPayloadRequestParams` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GetTaskPayloadResult(JsonObject);
impl GetTaskPayloadResult {
    /// No members yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The members as a plain map.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskRequestParams {
    ///
    pub task_id: String,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetTaskRequestParams {
    /// A `GetTaskRequestParams` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskResult {
    ///
    pub task_id: String,
    ///
    pub status: TaskStatus,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    ///
    pub created_at: String,
    ///
    pub last_updated_at: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    ///
    #[serde(deserialize_with = "crate::number::nullable")]
    pub ttl: Option<u64>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl GetTaskResult {
    /// A `GetTaskResult` with its required members.
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
            poll_interval: None,
            ttl,
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListTasksResult {
    ///
    pub tasks: Vec<Task>,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListTasksResult {
    /// A `ListTasksResult` with its required members.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RelatedTaskMetadata {
    ///
    pub task_id: String,
}

impl RelatedTaskMetadata {
    /// A `RelatedTaskMetadata` with its required members.
    pub fn new(task_id: impl Into<String>) -> Self {
        Self {
            task_id: task_id.into(),
        }
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    ///
    pub task_id: String,
    ///
    pub status: TaskStatus,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    ///
    pub created_at: String,
    ///
    pub last_updated_at: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    ///
    #[serde(deserialize_with = "crate::number::nullable")]
    pub ttl: Option<u64>,
}

impl Task {
    /// A `Task` with its required members.
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
            poll_interval: None,
            ttl,
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskMetadata {
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

impl TaskMetadata {
    /// An empty `TaskMetadata`; every member is optional.
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

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TaskStatus {
    ///
    Cancelled,
    ///
    Completed,
    ///
    Failed,
    ///
    InputRequired,
    ///
    Working,
    /// A value this crate does not know, kept as it came.
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

impl<'de> Deserialize<'de> for TaskStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::open(deserializer, "a TaskStatus string")
    }
}

///
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskStatusNotificationParams {
    ///
    pub task_id: String,
    ///
    pub status: TaskStatus,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    ///
    pub created_at: String,
    ///
    pub last_updated_at: String,
    ///
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval: Option<u64>,
    ///
    #[serde(deserialize_with = "crate::number::nullable")]
    pub ttl: Option<u64>,
    ///
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl TaskStatusNotificationParams {
    /// A `TaskStatusNotificationParams` with its required members.
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
            poll_interval: None,
            ttl,
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
