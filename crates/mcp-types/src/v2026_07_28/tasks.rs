//! Tasks, an extension of the revision. These types are written by hand, because the schema of the revision does not contain
//! them.
//!
//! A server answers a long call with a [`CreateTaskResult`]. The client then polls the [`Task`] with [`GetTaskRequest`], answers
//! its input requests with [`UpdateTaskRequest`] and cancels it with [`CancelTaskRequest`]. Each of these requests must declare
//! the extension in its client capabilities, under [`TASKS_EXTENSION`].
//!
//! Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension>

use std::collections::BTreeMap;

use mcp_jsonrpc::ErrorObject;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::method::{self, Notification, Request};
use crate::v2026_07_28::{
    EmptyResult, InputRequests, InputResponses, RequestMeta, ResultType, SubscriptionFilter,
};
use crate::{JsonObject, Meta, TaskStatus};

/// The name of the extension in the capabilities of both sides. The extension has no settings.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// Returns a map that contains only this extension, for the member `extensions` of the capabilities. The map can be merged with
/// other extensions.
///
/// ```
/// use mcp_types::v2026_07_28::{ClientCapabilities, tasks_extension};
///
/// let declared = ClientCapabilities::new().with_extensions(tasks_extension());
/// assert_eq!(
///     serde_json::to_string(&declared)?,
///     r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn tasks_extension() -> BTreeMap<String, JsonObject> {
    BTreeMap::from([(TASKS_EXTENSION.to_owned(), JsonObject::new())])
}

/// The current state of a task, with the data that belongs to its status. The params of [`TaskNotification`] have the same type.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#tasks>
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// The id that the server gave to the task. Any client that knows the id can use the task.
    pub task_id: String,
    /// The status of the task.
    pub status: TaskStatus,
    /// A description of the status for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// The time when the task was created, as an ISO 8601 timestamp.
    pub created_at: String,
    /// The time when the task last changed, as an ISO 8601 timestamp.
    pub last_updated_at: String,
    /// How long the task is kept after its creation, in milliseconds. Null means that there is no limit.
    #[serde(deserialize_with = "crate::number::nullable")]
    pub ttl_ms: Option<u64>,
    /// How long the client should wait between two polls, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// The unanswered input requests of the task. Present if the status is [`TaskStatus::InputRequired`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// The result of the request, unchanged. Present if the status is [`TaskStatus::Completed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// The error of the request. Present if the status is [`TaskStatus::Failed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
    /// Metadata that the protocol defines for the message, and custom metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// The type of the result. Only [`CreateTaskResult`] and [`GetTaskResult`] write it.
    #[serde(skip_serializing)]
    result_type: Option<ResultType>,
}

impl Task {
    /// Creates a task from its required members. `None` for `ttl_ms` means that the task is kept without limit.
    pub fn new(
        task_id: impl Into<String>,
        status: impl Into<TaskStatus>,
        created_at: impl Into<String>,
        last_updated_at: impl Into<String>,
        ttl_ms: Option<u64>,
    ) -> Self {
        Self {
            task_id: task_id.into(),
            status: status.into(),
            status_message: None,
            created_at: created_at.into(),
            last_updated_at: last_updated_at.into(),
            ttl_ms,
            poll_interval_ms: None,
            input_requests: None,
            result: None,
            error: None,
            meta: None,
            result_type: None,
        }
    }

    /// Sets [`status_message`](Self::status_message).
    #[must_use]
    pub fn with_status_message(mut self, status_message: impl Into<String>) -> Self {
        self.status_message = Some(status_message.into());
        self
    }

    /// Sets [`poll_interval_ms`](Self::poll_interval_ms).
    #[must_use]
    pub fn with_poll_interval_ms(mut self, poll_interval_ms: u64) -> Self {
        self.poll_interval_ms = Some(poll_interval_ms);
        self
    }

    /// Sets [`input_requests`](Self::input_requests).
    #[must_use]
    pub fn with_input_requests(mut self, input_requests: InputRequests) -> Self {
        self.input_requests = Some(input_requests);
        self
    }

    /// Sets [`result`](Self::result).
    #[must_use]
    pub fn with_result(mut self, result: Box<RawValue>) -> Self {
        self.result = Some(result);
        self
    }

    /// Sets [`error`](Self::error).
    #[must_use]
    pub fn with_error(mut self, error: ErrorObject) -> Self {
        self.error = Some(error);
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// A task together with `resultType`.
#[derive(Serialize)]
struct Typed<'a> {
    #[serde(rename = "resultType")]
    result_type: ResultType,
    #[serde(flatten)]
    task: &'a Task,
}

/// The result of a request that continues as a task.
///
/// Its `resultType` is `task`. Other values are rejected.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-creation>
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Task")]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The new task. Poll it to get its outcome.
    pub task: Task,
}

impl CreateTaskResult {
    /// The `resultType` of this result.
    pub const RESULT_TYPE: &'static str = "task";

    /// Creates a result from its required members.
    pub fn new(task: Task) -> Self {
        Self { task }
    }
}

impl Serialize for CreateTaskResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let result_type = ResultType::from(Self::RESULT_TYPE);
        let task = &self.task;
        Typed { result_type, task }.serialize(serializer)
    }
}

impl TryFrom<Task> for CreateTaskResult {
    type Error = &'static str;

    fn try_from(task: Task) -> Result<Self, Self::Error> {
        match &task.result_type {
            Some(kind) if kind.as_str() == Self::RESULT_TYPE => Ok(Self { task }),
            _ => Err("`resultType` of a created task is `task`"),
        }
    }
}

/// The result of [`GetTaskRequest`]: the current state of the task.
///
/// Its `resultType` is `complete`. Decoding ignores it, because published examples have `task` there.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#response>
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GetTaskResult {
    /// The task.
    pub task: Task,
}

impl GetTaskResult {
    /// Creates a result from its required members.
    pub fn new(task: Task) -> Self {
        Self { task }
    }
}

impl Serialize for GetTaskResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let result_type = ResultType::Complete;
        let task = &self.task;
        Typed { result_type, task }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for GetTaskResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Task::deserialize(deserializer).map(Self::new)
    }
}

/// The task to poll.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-polling>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskRequestParams {
    /// The id that the server gave to the task.
    pub task_id: String,
    /// Metadata that the protocol defines for the message, and custom metadata.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl GetTaskRequestParams {
    /// Creates params from their required members.
    pub fn new(task_id: impl Into<String>, meta: RequestMeta) -> Self {
        Self {
            task_id: task_id.into(),
            meta,
        }
    }
}

/// Responses to input requests of a task.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpdateTaskRequestParams {
    /// The id that the server gave to the task.
    pub task_id: String,
    /// The responses, by the keys of the input requests. Responses to some input requests may be missing.
    pub input_responses: InputResponses,
    /// Metadata that the protocol defines for the message, and custom metadata.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl UpdateTaskRequestParams {
    /// Creates params from their required members.
    pub fn new(
        task_id: impl Into<String>,
        input_responses: InputResponses,
        meta: RequestMeta,
    ) -> Self {
        Self {
            task_id: task_id.into(),
            input_responses,
            meta,
        }
    }
}

/// The task to cancel.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-cancellation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelTaskRequestParams {
    /// The id that the server gave to the task.
    pub task_id: String,
    /// Metadata that the protocol defines for the message, and custom metadata.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl CancelTaskRequestParams {
    /// Creates params from their required members.
    pub fn new(task_id: impl Into<String>, meta: RequestMeta) -> Self {
        Self {
            task_id: task_id.into(),
            meta,
        }
    }
}

/// `tasks/get`: polls a task.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-polling>
#[derive(Debug)]
#[non_exhaustive]
pub enum GetTaskRequest {}
impl Request for GetTaskRequest {
    const METHOD: &'static str = method::TASKS_GET;
    type Params = GetTaskRequestParams;
    type Result = GetTaskResult;
}

/// `tasks/update`: answers input requests of a task. Its result does not contain the status of the task.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests>
#[derive(Debug)]
#[non_exhaustive]
pub enum UpdateTaskRequest {}
impl Request for UpdateTaskRequest {
    const METHOD: &'static str = method::TASKS_UPDATE;
    type Params = UpdateTaskRequestParams;
    type Result = EmptyResult;
}

/// `tasks/cancel`: cancels a task. Its result does not contain the status of the task.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-cancellation>
#[derive(Debug)]
#[non_exhaustive]
pub enum CancelTaskRequest {}
impl Request for CancelTaskRequest {
    const METHOD: &'static str = method::TASKS_CANCEL;
    type Params = CancelTaskRequestParams;
    type Result = EmptyResult;
}

/// `notifications/tasks`: a task changed. It is sent on the subscriptions that contain the task's id.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-status-notifications>
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskNotification {}
impl Notification for TaskNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_TASKS;
    type Params = Task;
}

/// The member of the subscription filter that the extension adds.
const TASK_IDS: &str = "taskIds";

impl SubscriptionFilter {
    /// Returns the ids of the tasks whose changes the client wants. The extension's member is stored in [`extra`](Self::extra).
    /// Values that are not strings are left out.
    pub fn task_ids(&self) -> Option<Vec<&str>> {
        let ids = self.extra.get(TASK_IDS)?.as_array()?;
        Some(ids.iter().filter_map(serde_json::Value::as_str).collect())
    }

    /// Sets [`task_ids`](Self::task_ids).
    #[must_use]
    pub fn with_task_ids(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let ids: Vec<String> = ids.into_iter().map(Into::into).collect();
        self.extra.insert(TASK_IDS.to_owned(), ids.into());
        self
    }
}
