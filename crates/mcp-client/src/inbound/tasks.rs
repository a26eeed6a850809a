//! Server requests as tasks: elicitation and sampling that are answered later (2025-11-25).
//!
//! The tasks belong to the connection and end with it, so no other server can access them.
//!
//! Specification:
//! [tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use mcp_jsonrpc::{ErrorObject, RawJson, decode, decode_params};
use mcp_protocol::task::{
    MemoryTaskStore, Task, TaskCall, TaskOutcome, TaskState, TaskStore, TaskStoreError, Timestamp,
    short_id,
};
use mcp_protocol::{BoxFuture, Delivery, Link, Outcome, Payload, Reply, Revision, lock};
use mcp_types::{
    CreateTaskResult, GetTaskRequestParams, JsonObject, ListTasksResult, Meta,
    PaginatedRequestParams, TaskMetadata, method,
};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::request::round_trips::{json, outcome};

/// Number of tasks on one page of the list.
const PAGE: usize = 100;
/// Maximum number of attempts to store a change that conflicts with another change.
const MAX_ATTEMPTS: usize = 8;

/// Limits for the tasks that a server creates at the client: see
/// [`ClientBuilder::tasks`](crate::ClientBuilder::tasks).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskLimits {
    /// Time to live of a task if the server does not request a time to live. Default: 1 h.
    pub ttl: Duration,
    /// Maximum time to live. Default: 24 h.
    pub max_ttl: Duration,
    /// Suggested interval between polls. Default: 1 s.
    pub poll_interval: Duration,
    /// Maximum number of tasks, including ended tasks. Default: 256. Further requests are rejected. At most 16 requests to the
    /// user or the model are open at the same time, with or without a task.
    pub max_tasks: usize,
    /// Maximum size of all tasks in bytes, estimated. Default: 16 MiB.
    pub max_bytes: usize,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(3_600),
            max_ttl: Duration::from_secs(24 * 3_600),
            poll_interval: Duration::from_secs(1),
            max_tasks: 256,
            max_bytes: 16 << 20,
        }
    }
}

/// The tasks of one connection.
pub(crate) struct ServerTasks {
    limits: TaskLimits,
    store: MemoryTaskStore,
    running: Mutex<BTreeMap<String, AbortHandle>>,
    /// Notified when a task has ended.
    ended: Notify,
    began: (Instant, Timestamp),
    link: OnceLock<Weak<dyn Link>>,
}

impl ServerTasks {
    pub(crate) fn new(limits: TaskLimits) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let store = MemoryTaskStore::new()
            .with_max_tasks(limits.max_tasks)
            .with_max_tasks_per_owner(limits.max_tasks)
            .with_max_bytes(limits.max_bytes);
        Self {
            limits,
            store,
            running: Mutex::default(),
            ended: Notify::new(),
            began: (
                Instant::now(),
                Timestamp::default().after(now.unwrap_or_default()),
            ),
            link: OnceLock::new(),
        }
    }

    /// Sets the link for status notifications.
    pub(super) fn opened(&self, link: Weak<dyn Link>) {
        // There is only one connection, so the link is set once.
        let _ = self.link.set(link);
    }

    /// Cancels all tasks, because the connection has ended.
    pub(super) fn close(&self) {
        for running in std::mem::take(&mut *lock(&self.running)).into_values() {
            running.abort();
        }
    }

    /// Creates a task for a server request. `start` calls the handler.
    pub(super) fn create(
        self: &Arc<Self>,
        method: &str,
        params: &str,
        wanted: &str,
        start: impl FnOnce() -> Result<Reply, ErrorObject>,
    ) -> Result<Payload, ErrorObject> {
        let wanted: TaskMetadata = decode(wanted)
            .map_err(|error| ErrorObject::invalid_params(format!("invalid task: {error}")))?;
        let wanted = wanted.ttl.map_or(self.limits.ttl, Duration::from_millis);
        let ttl = wanted.min(self.limits.max_ttl);
        let call = TaskCall::new(method, "", RawJson::copy(params), Revision::V2025_11_25);
        let task = Task::new(new_task_id()?, None, call, self.now(), Some(ttl))
            .with_poll_interval(self.limits.poll_interval);
        let (id, shown) = (task.id().to_owned(), task.to_core());
        poll_now(self.store.create(task)).map_err(store_error)?;
        let reply = match start() {
            Ok(reply) => reply,
            Err(error) => {
                poll_now(self.store.remove(&id)).map_err(store_error)?;
                return Err(error);
            }
        };
        tracing::info!(
            task = short_id(&id),
            method,
            "created a task for a server request"
        );
        let this = Arc::clone(self);
        // The table is locked until it contains the task, because `end` must find the task in the
        // table to remove it.
        let mut running = lock(&self.running);
        let ran = id.clone();
        let task = tokio::spawn(async move {
            let outcome = timeout(ttl, outcome(reply)).await;
            let outcome = outcome.unwrap_or_else(|_| {
                Err(ErrorObject::internal(
                    "the task expired before the request was answered",
                ))
            });
            this.end(&ran, outcome);
        });
        running.insert(id, task.abort_handle());
        drop(running);
        Ok(Payload::of(CreateTaskResult::new(shown)))
    }

    /// Answers a request about tasks; returns `None` for other requests.
    pub(super) fn request(self: &Arc<Self>, method: &str, params: Option<&str>) -> Option<Reply> {
        let reply = match method {
            method::TASKS_GET => self.get(params),
            method::TASKS_CANCEL => self.cancel(params),
            method::TASKS_LIST => self.list(params),
            method::TASKS_RESULT => {
                return Some(match named(params).and_then(|id| self.find(&id)) {
                    Ok(task) => self.result(task.id().to_owned()),
                    Err(error) => Reply::error(error),
                });
            }
            _ => return None,
        };
        Some(Reply::Ready(reply))
    }

    fn get(&self, params: Option<&str>) -> Outcome {
        let task = self.find(&named(params)?)?;
        tracing::debug!(task = short_id(task.id()), "the server polls a task");
        Ok(Payload::of(task.to_core()))
    }

    fn list(&self, params: Option<&str>) -> Outcome {
        let params: PaginatedRequestParams = decode_params(params)?;
        let after = params.cursor.as_deref();
        if after.is_some_and(|cursor| !is_task_id(cursor)) {
            return Err(ErrorObject::invalid_params("unknown cursor"));
        }
        poll_now(self.store.sweep(self.now())).map_err(store_error)?;
        let tasks = poll_now(self.store.list(None, after, PAGE + 1)).map_err(store_error)?;
        let mut shown: Vec<_> = tasks.iter().map(Task::to_core).collect();
        shown.truncate(PAGE);
        let next = (tasks.len() > PAGE)
            .then(|| shown.last().map(|task| task.task_id.clone()))
            .flatten();
        let mut page = ListTasksResult::new(shown);
        page.next_cursor = next;
        Ok(Payload::of(page))
    }

    fn cancel(&self, params: Option<&str>) -> Outcome {
        let id = named(params)?;
        for _ in 0..MAX_ATTEMPTS {
            let mut task = self.find(&id)?;
            task.cancel(self.now())
                .map_err(|ended| ErrorObject::invalid_params(ended.to_string()))?;
            match poll_now(self.store.put(task)) {
                Err(TaskStoreError::Conflict) => {}
                Err(error) => return Err(store_error(error)),
                Ok(task) => {
                    if let Some(running) = lock(&self.running).remove(&id) {
                        running.abort();
                    }
                    tracing::info!(task = short_id(&id), "the server cancelled a task");
                    self.notify(&task);
                    return Ok(Payload::of(task.to_core()));
                }
            }
        }
        Err(ErrorObject::internal(
            "the task cannot be changed because of concurrent changes; \
         repeat the request",
        ))
    }

    /// Waits for the outcome of the task. If several requests wait for the result, all of them receive the outcome.
    fn result(self: &Arc<Self>, id: String) -> Reply {
        let this = Arc::clone(self);
        Reply::Pending(Box::pin(async move {
            loop {
                let ended = this.ended.notified();
                let task = this.find(&id)?;
                match task.state() {
                    TaskState::Ended(TaskOutcome::Result { json, .. }) => {
                        tracing::debug!(
                            task = short_id(&id),
                            "the server fetched the result of \
                         a task"
                        );
                        return related(json, &id);
                    }
                    TaskState::Ended(TaskOutcome::Error(error)) => return Err(error.clone()),
                    TaskState::Cancelled => {
                        return Err(ErrorObject::invalid_params("the task was cancelled"));
                    }
                    _ => ended.await,
                }
            }
        }))
    }

    fn end(&self, id: &str, outcome: Outcome) {
        lock(&self.running).remove(id);
        let mut outcome = match outcome {
            Ok(payload) => TaskOutcome::of_result(RawJson::copy(&json(&payload))),
            Err(error) => TaskOutcome::Error(error),
        };
        for _ in 0..MAX_ATTEMPTS {
            let Ok(Some(mut task)) = poll_now(self.store.get(id)) else {
                return;
            };
            if task.end(outcome.clone(), self.now()).is_err() {
                return;
            }
            match poll_now(self.store.put(task)) {
                Ok(task) => {
                    tracing::info!(task = short_id(id), "a task has ended");
                    self.notify(&task);
                    return;
                }
                Err(TaskStoreError::Conflict) => {}
                // The result exceeds the size limit.
                Err(error) => {
                    tracing::error!(%error, "the result of a task cannot be stored");
                    outcome = TaskOutcome::Error(store_error(error));
                }
            }
        }
    }

    /// Notifies the waiting requests and the server that the task changed.
    fn notify(&self, task: &Task) {
        self.ended.notify_waiters();
        let link = self.link.get().and_then(Weak::upgrade);
        let text = serde_json::to_vec(&task.to_core());
        if let (Some(link), Ok(text)) = (link, text) {
            let method = method::NOTIFICATIONS_TASKS_STATUS;
            if let Err(error) = link.notify(method, Some(&text), Delivery::Lossy) {
                tracing::debug!(%error, "the status notification of a task was not sent");
            }
        }
    }

    fn find(&self, id: &str) -> Result<Task, ErrorObject> {
        let task = poll_now(self.store.get(id)).map_err(store_error)?;
        task.filter(|task| !task.is_expired(self.now()))
            .ok_or_else(|| ErrorObject::invalid_params("the task does not exist or has expired"))
    }

    fn now(&self) -> Timestamp {
        let (instant, timestamp) = self.began;
        timestamp.after(instant.elapsed())
    }
}

/// Polls a store operation once and returns its result. The store in memory is always ready.
fn poll_now<T>(mut future: BoxFuture<'_, Result<T, TaskStoreError>>) -> Result<T, TaskStoreError> {
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(result) => result,
        Poll::Pending => Err(TaskStoreError::Unavailable("it waits".to_owned())),
    }
}

/// Converts a store error to the error response for the server.
fn store_error(error: TaskStoreError) -> ErrorObject {
    match error {
        TaskStoreError::Full { limit } => ErrorObject::internal(format!(
            "the limit of {limit} tasks is reached; repeat the \
             request later"
        )),
        error => {
            tracing::error!(%error, "the task store failed");
            ErrorObject::internal("the task store failed")
        }
    }
}

/// Adds the id of the task to the `_meta` of a result.
fn related(json: &RawJson, id: &str) -> Outcome {
    let broken = |_| ErrorObject::internal("the result is not an object");
    let mut result: JsonObject = json.decode().map_err(broken)?;
    let mut meta = match result.shift_remove("_meta") {
        Some(Value::Object(meta)) => Meta::from(meta),
        _ => Meta::new(),
    };
    meta.set_related_task(id);
    result.insert("_meta".to_owned(), Value::Object(meta.into()));
    Ok(Payload::of(result))
}

/// Returns the task id in the params. Ignores `_meta`.
fn named(params: Option<&str>) -> Result<String, ErrorObject> {
    decode_params::<GetTaskRequestParams>(params).map(|params| params.task_id)
}

/// Creates a task id that cannot be guessed: 128 random bits from the operating system, in hexadecimal digits.
fn new_task_id() -> Result<String, ErrorObject> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the operating system has no random bytes");
        ErrorObject::internal("the client cannot create the id of a task")
    })?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Returns whether a text has the form of a task id.
fn is_task_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
