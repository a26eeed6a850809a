//! Tasks that the server asks for: questions that are answered later (2025-11-25).
//!
//! They live as long as the connection and belong to it, so that no other server sees them.
//!
//! Specification: [tasks](https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks).

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use mcp_jsonrpc::{ErrorObject, RawJson, decode};
use mcp_protocol::task::{
    MemoryStore, StoreError, Task, TaskCall, TaskOutcome, TaskState, TaskStore, Timestamp,
};
use mcp_protocol::{BoxFuture, Delivery, Link, Outcome, Payload, Reply, Revision, guarded};
use mcp_types::{
    CreateTaskResult, GetTaskRequestParams, JsonObject, ListTasksResult, Meta,
    PaginatedRequestParams, TaskMetadata, method,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use crate::sync::lock;

/// Tasks on one page of the list.
const PAGE: usize = 100;
/// How often a change is tried that another one overtakes.
const MAX_ATTEMPTS: usize = 8;

/// How tasks are kept that a server asks for: see [`Builder::tasks`](crate::Builder::tasks).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskLimits {
    /// How long a task is kept whose server does not say how long it wants it; default: 1 h.
    pub ttl: Duration,
    /// How long a task is kept at most, whatever the server wants; default: 24 h.
    pub max_ttl: Duration,
    /// How long the server is told to wait between two looks; default: 1 s.
    pub poll_interval: Duration,
    /// How many tasks are kept, those that have ended included; default: 256. More are store_error.
    /// Of those that have not ended there are 16 at most, as of all questions.
    pub max_tasks: usize,
    /// How many bytes all of them may take, estimated; default: 16 MiB.
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
    store: MemoryStore,
    running: Mutex<BTreeMap<String, AbortHandle>>,
    /// Something has ended.
    ended: Notify,
    began: (Instant, Timestamp),
    link: OnceLock<Weak<dyn Link>>,
}

impl ServerTasks {
    pub(crate) fn new(limits: TaskLimits) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let store = MemoryStore::new()
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

    /// The way to the server, for saying how a task stands.
    pub(super) fn opened(&self, link: Weak<dyn Link>) {
        // There is one connection.
        let _ = self.link.set(link);
    }

    /// The connection has ended, and nobody will ask for anything.
    pub(super) fn close(&self) {
        for running in std::mem::take(&mut *lock(&self.running)).into_values() {
            running.abort();
        }
    }

    /// Answers a question later, and says so. `ask` hands it to whoever answers it.
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
        let task = Task::new(new_id()?, None, call, self.now(), Some(ttl))
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
        tracing::info!(task = %short_id(&id), method, "the server's question is a task");
        let this = Arc::clone(self);
        // Held until the task is on the table, so that it cannot be off before it is on.
        let mut running = lock(&self.running);
        let ran = id.clone();
        let task = tokio::spawn(async move {
            let outcome = timeout(ttl, outcome(reply)).await;
            let outcome = outcome.unwrap_or_else(|_| {
                Err(ErrorObject::internal(
                    "nobody answered as long as the task was kept",
                ))
            });
            this.end(&ran, outcome);
        });
        running.insert(id, task.abort_handle());
        drop(running);
        Ok(Payload::of(CreateTaskResult::new(shown)))
    }

    /// The answer to a request about tasks; `None` if it is about something else.
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
        tracing::debug!(task = %short_id(task.id()), "the server looks at a task");
        Ok(Payload::of(task.to_core()))
    }

    fn list(&self, params: Option<&str>) -> Outcome {
        let params: PaginatedRequestParams = decoded(params)?;
        let after = params.cursor.as_deref();
        if after.is_some_and(|cursor| !is_id(cursor)) {
            return Err(ErrorObject::invalid_params("no such cursor"));
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
                Err(StoreError::Conflict) => {}
                Err(error) => return Err(store_error(error)),
                Ok(task) => {
                    if let Some(running) = lock(&self.running).remove(&id) {
                        running.abort();
                    }
                    tracing::info!(task = %short_id(&id), "the server has cancelled a task");
                    self.notify(&task);
                    return Ok(Payload::of(task.to_core()));
                }
            }
        }
        Err(ErrorObject::internal("the task changes all the time"))
    }

    /// Waits for the outcome, which every caller gets.
    fn result(self: &Arc<Self>, id: String) -> Reply {
        let this = Arc::clone(self);
        Reply::Pending(Box::pin(async move {
            loop {
                let ended = this.ended.notified();
                let task = this.find(&id)?;
                match task.state() {
                    TaskState::Ended(TaskOutcome::Result { json, .. }) => {
                        tracing::debug!(task = %short_id(&id), "the server has fetched an answer");
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
            Ok(payload) => {
                let mut json = Vec::new();
                payload.write(&mut json);
                TaskOutcome::of_result(RawJson::copy(&String::from_utf8_lossy(&json)))
            }
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
                    tracing::info!(task = %short_id(id), "the answer to a task is there");
                    self.notify(&task);
                    return;
                }
                Err(StoreError::Conflict) => {}
                // The answer takes more room than there is.
                Err(error) => {
                    tracing::error!(%error, "the answer to a task is lost");
                    outcome = TaskOutcome::Error(store_error(error));
                }
            }
        }
    }

    /// Says how a task stands to those who wait for it: here, and at the other side.
    fn notify(&self, task: &Task) {
        self.ended.notify_waiters();
        let link = self.link.get().and_then(Weak::upgrade);
        let text = serde_json::to_vec(&task.to_core());
        if let (Some(link), Ok(text)) = (link, text) {
            let method = method::NOTIFICATIONS_TASKS_STATUS;
            if let Err(error) = link.notify(method, Some(&text), Delivery::Lossy) {
                tracing::debug!(%error, "nobody hears how a task stands");
            }
        }
    }

    fn find(&self, id: &str) -> Result<Task, ErrorObject> {
        let task = poll_now(self.store.get(id)).map_err(store_error)?;
        task.filter(|task| !task.is_expired(self.now()))
            .ok_or_else(|| ErrorObject::invalid_params("there is no such task, or not any more"))
    }

    fn now(&self) -> Timestamp {
        let (instant, timestamp) = self.began;
        timestamp.after(instant.elapsed())
    }
}

/// The outcome of a question; a panic is a failure.
async fn outcome(reply: Reply) -> Outcome {
    match reply {
        Reply::Ready(outcome) => outcome,
        Reply::Pending(mut future) => {
            poll_fn(|cx| {
                let polled = guarded(|| future.as_mut().poll(cx));
                polled.unwrap_or_else(|error| Poll::Ready(Err(error)))
            })
            .await
        }
        _ => Err(ErrorObject::internal("this cannot be answered later")),
    }
}

/// What a store in memory answers, which it does without waiting.
fn poll_now<T>(mut future: BoxFuture<'_, Result<T, StoreError>>) -> Result<T, StoreError> {
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(result) => result,
        Poll::Pending => Err(StoreError::Unavailable("it waits".to_owned())),
    }
}

/// What a server is told of a failure of the store.
fn store_error(error: StoreError) -> ErrorObject {
    match error {
        StoreError::Full { limit } => {
            ErrorObject::internal(format!("no more tasks are kept: {limit} is the limit"))
        }
        error => {
            tracing::error!(%error, "tasks cannot be kept");
            ErrorObject::internal("tasks cannot be kept")
        }
    }
}

/// A result with the id of its task, which says to whom it belongs.
fn related(json: &RawJson, id: &str) -> Outcome {
    let broken = |_| ErrorObject::internal("the answer is no object");
    let mut result: JsonObject = json.decode().map_err(broken)?;
    let mut meta = match result.remove("_meta") {
        Some(Value::Object(meta)) => Meta::from(meta),
        _ => Meta::new(),
    };
    meta.set_related_task(id);
    result.insert("_meta".to_owned(), Value::Object(meta.into()));
    Ok(Payload::of(result))
}

/// The id of the task that params name; what stands in their `_meta` does not count.
fn named(params: Option<&str>) -> Result<String, ErrorObject> {
    decoded::<GetTaskRequestParams>(params).map(|params| params.task_id)
}

fn decoded<T: DeserializeOwned>(params: Option<&str>) -> Result<T, ErrorObject> {
    decode(params.unwrap_or("{}"))
        .map_err(|error| ErrorObject::invalid_params(format!("invalid params: {error}")))
}

/// Creates an unguessable id: 128 random bits of the operating system, in hexadecimal.
fn new_id() -> Result<String, ErrorObject> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the operating system has no random bytes");
        ErrorObject::internal("the client cannot create the id of a task")
    })?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// As much of an id as may stand in a log.
fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or_default()
}
