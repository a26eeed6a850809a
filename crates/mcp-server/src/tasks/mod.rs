//! Calls that outlive their request.
//!
//! `begin` decides whether a call becomes a task and starts it, `drive` runs it in the background
//! and keeps what changes, `serve` answers requests about tasks, `recover` takes up what a
//! process before this one left unfinished. `table` knows what runs here.
//!
//! Specification: [tasks][legacy], [the extension][extension].
//!
//! [legacy]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
//! [extension]: https://modelcontextprotocol.io/seps/2663-tasks-extension

mod begin;
mod drive;
mod keep;
mod line;
mod listen;
mod options;
mod questions;
mod recover;
mod serve;
mod table;

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use mcp_protocol::task::{StoreError, Task, TaskStore};
use mcp_protocol::{BoxFuture, Payload, RequestContext};
use mcp_types::v2026_07_28::TASKS_EXTENSION;
use mcp_types::{CreateTaskResult, JsonObject, RELATED_TASK_KEY};
use ring::rand;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::Server;

pub(crate) use begin::Called;
pub(crate) use options::Plan;
pub use options::{TaskMode, TaskOptions};
pub(crate) use table::Tasks;

impl<S: Clone + Send + Sync + 'static> Server<S> {
    /// Keeps tasks in this store; default: a [`MemoryStore`](crate::MemoryStore), which forgets
    /// them when the process ends.
    ///
    /// With a store that lasts, the server looks into it when it starts: tools that say they
    /// [resume](crate::Tool::resumes) are run again, other tasks fail with a reason.
    #[must_use]
    pub fn task_store(self, store: impl TaskStore) -> Self {
        self.core.tasks.set_store(store);
        self
    }

    /// Sets limits and times of tasks; the defaults stand at [`TaskOptions`].
    #[must_use]
    pub fn task_options(self, options: TaskOptions) -> Self {
        self.core.tasks.set_options(options);
        self
    }
}

/// Does something beside everything else. In a box, so that what a runtime needs for a task is there once.
fn background(runtime: &Handle, work: impl Future<Output = ()> + Send + 'static) {
    let work: BoxFuture<'static, ()> = Box::pin(work);
    runtime.spawn(work);
}

/// An id that nobody guesses.
fn fresh_id() -> Result<String, ErrorObject> {
    use std::fmt::Write as _;
    let random = rand::SystemRandom::new();
    let bytes: [u8; 32] = rand::generate(&random)
        .map_err(|_| ErrorObject::internal("no random id can be made for the task"))?
        .expose();
    Ok(bytes.iter().fold(String::new(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    }))
}

/// As much of an id as a log may show: it finds the task, and opens nothing.
fn shown(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

/// Whether the request says that its client knows the extension.
fn declares(context: &RequestContext) -> bool {
    let capabilities = context.session().client_capabilities();
    let extensions = capabilities.and_then(|it| it.extensions.as_ref());
    extensions.is_some_and(|it| it.contains_key(TASKS_EXTENSION))
}

/// The answer to who does not know the extension and has to.
fn undeclared() -> ErrorObject {
    ErrorObject::new(
        ErrorCode::MISSING_CLIENT_CAPABILITY,
        format!("the request does not declare the client extension {TASKS_EXTENSION:?}"),
    )
    .with_data(json!({ "requiredCapabilities": { "extensions": { TASKS_EXTENSION: {} } } }))
}

/// What clients hear of a store that failed; the rest is for the log.
fn failed(error: &StoreError) -> ErrorObject {
    match error {
        StoreError::Full { limit } => ErrorObject::internal(format!(
            "no more tasks can be kept: {limit}, the limit; try again later"
        )),
        error => {
            tracing::error!(%error, "the task store failed");
            ErrorObject::internal("the task store failed; try again later")
        }
    }
}

/// The result that tells of a new task.
fn created(task: &Task, modern: bool) -> Payload {
    if modern {
        return match serde_json::from_str::<Value>(&task.to_created()) {
            Ok(result) => Payload::of(result),
            Err(_) => Payload::Empty,
        };
    }
    let mut result = json!(CreateTaskResult::new(task.to_core()));
    relate(&mut result, task.id());
    Payload::of(result)
}

/// Says in `_meta` which task a message belongs to.
fn relate(message: &mut Value, id: &str) {
    let Value::Object(members) = message else {
        return;
    };
    let meta = members
        .entry("_meta")
        .or_insert_with(|| Value::Object(JsonObject::new()));
    if let Value::Object(meta) = meta {
        meta.insert(RELATED_TASK_KEY.to_owned(), json!({ "taskId": id }));
    }
}
