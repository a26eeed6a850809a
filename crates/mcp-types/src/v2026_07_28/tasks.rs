//! Tasks, which an extension adds to the revision: written by hand, since its schema does not have them.
//!
//! A server that takes its time answers a call with a [`CreateTaskResult`]; its client then asks for the [`Task`] by
//! [`GetTaskRequest`], answers its questions by [`UpdateTaskRequest`] and gives it up by [`CancelTaskRequest`]. All of
//! it needs the extension among the capabilities of the request, under [`TASKS_EXTENSION`].
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

/// The name of the extension among the capabilities of both sides; it has no settings.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The extension as capabilities declare it, to be merged with other extensions.
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

/// A task as it stands, with what its status brings along; the params of [`TaskNotification`], too.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#tasks>
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// The id the server gave to the task; whoever knows it may use the task.
    pub task_id: String,
    /// How far the task has come.
    pub status: TaskStatus,
    /// A sentence on the status, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status_message: Option<String>,
    /// When the task was created, as an ISO 8601 timestamp.
    pub created_at: String,
    /// When the task last changed, as an ISO 8601 timestamp.
    pub last_updated_at: String,
    /// How long the task is kept after its creation, in milliseconds; null is without limit.
    #[serde(deserialize_with = "crate::number::nullable")]
    pub ttl_ms: Option<u64>,
    /// How long the client should wait between two polls, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_interval_ms: Option<u64>,
    /// All that the task asks its client and has no answer to; with [`TaskStatus::InputRequired`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_requests: Option<InputRequests>,
    /// What the request would have answered, as it was written; with [`TaskStatus::Completed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Box<RawValue>>,
    /// The error the request would have been answered with; with [`TaskStatus::Failed`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
    /// What the protocol says about the message, and free metadata beside it.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// What kind of result the task came as; written by the wrappers below.
    #[serde(skip_serializing)]
    result_type: Option<ResultType>,
}

impl Task {
    /// Makes one from its required members; no `ttl_ms` is without limit.
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

/// A task with the member that says what kind of result it is.
#[derive(Serialize)]
struct Typed<'a> {
    #[serde(rename = "resultType")]
    result_type: ResultType,
    #[serde(flatten)]
    task: &'a Task,
}

/// The answer to a request that goes on as a task.
///
/// Its `resultType` is `task`; it is read from nothing else.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-creation>
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Task")]
#[non_exhaustive]
pub struct CreateTaskResult {
    /// The task as it began; its outcome is fetched later.
    pub task: Task,
}

impl CreateTaskResult {
    /// The `resultType` of such a result, and of no other.
    pub const RESULT_TYPE: &'static str = "task";

    /// Makes one from its required members.
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

/// The answer to [`GetTaskRequest`]: the task as it stands.
///
/// Its `resultType` is `complete`. Reading does not look at it, since examples in circulation have `task` there.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#response>
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GetTaskResult {
    /// The task.
    pub task: Task,
}

impl GetTaskResult {
    /// Makes one from its required members.
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

/// Which task to look at.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-polling>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct GetTaskRequestParams {
    /// The id the server gave to the task.
    pub task_id: String,
    /// What the protocol says about the message, and free metadata beside it.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl GetTaskRequestParams {
    /// Makes one from its required members.
    pub fn new(task_id: impl Into<String>, meta: RequestMeta) -> Self {
        Self {
            task_id: task_id.into(),
            meta,
        }
    }
}

/// Answers to what a task asks.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-update-requests>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UpdateTaskRequestParams {
    /// The id the server gave to the task.
    pub task_id: String,
    /// The answers, under the keys of the questions; some of them are enough.
    pub input_responses: InputResponses,
    /// What the protocol says about the message, and free metadata beside it.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl UpdateTaskRequestParams {
    /// Makes one from its required members.
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

/// Which task to give up.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-cancellation>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelTaskRequestParams {
    /// The id the server gave to the task.
    pub task_id: String,
    /// What the protocol says about the message, and free metadata beside it.
    #[serde(rename = "_meta")]
    pub meta: RequestMeta,
}

impl CancelTaskRequestParams {
    /// Makes one from its required members.
    pub fn new(task_id: impl Into<String>, meta: RequestMeta) -> Self {
        Self {
            task_id: task_id.into(),
            meta,
        }
    }
}

/// `tasks/get`: looks at a task.
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

/// `tasks/update`: answers what a task asks. Its result says nothing on how the task stands.
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

/// `tasks/cancel`: gives a task up. Its result says nothing on how the task stands.
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

/// `notifications/tasks`: a task has changed; goes to subscriptions that name it.
///
/// Specification: <https://modelcontextprotocol.io/seps/2663-tasks-extension#task-status-notifications>
#[derive(Debug)]
#[non_exhaustive]
pub enum TaskNotification {}
impl Notification for TaskNotification {
    const METHOD: &'static str = method::NOTIFICATIONS_TASKS;
    type Params = Task;
}

/// The member that the extension adds to the filter of a subscription.
const TASK_IDS: &str = "taskIds";

impl SubscriptionFilter {
    /// The tasks to tell of; an extension's member, so it stands among [`extra`](Self::extra). What is no string is
    /// left out.
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
