//! Requests about tasks.

use std::sync::Arc;
use std::time::Instant;

use mcp_jsonrpc::{ErrorObject, Request, decode_params};
use mcp_protocol::task::{Task, TaskState, short_id};
use mcp_protocol::{Outcome, Payload, Principal, Reply, RequestContext, SharedText};
use mcp_types::{JsonObject, ListTasksResult, PaginatedRequestParams, method};
use serde::Deserialize;
use serde_json::Value;

use super::record::{TaskRecord, with_timeout};
use super::requests::send_requests;
use super::wire::{declares_tasks, missing_extension, relate_to_task, store_error};
use crate::registry::cursor::Cursors;
use crate::round_trip::StateKeys;
use crate::server::core::Core;
use crate::server::settings::GuardedRequest;
use crate::task_table::{TaskConfig, Tasks};

/// Maximum length of a task id that is looked up, in bytes.
const MAX_ID: usize = 256;
/// Maximum number of tasks on one page of a list.
const PAGE: usize = 100;
/// Maximum number of attempts to save a cancellation.
const TRIES: u32 = 4;

/// The params of a request about one task. `_meta` is ignored: `taskId` alone identifies the task
/// (TASK-059, TASK-061).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskParams {
    task_id: String,
    #[serde(default)]
    input_responses: JsonObject,
}

/// A request about tasks, with the server's tasks and the configuration at the time of the request.
pub(super) struct TaskRequest {
    tasks: Arc<Tasks>,
    config: Arc<TaskConfig>,
    keys: Arc<StateKeys>,
    pub(super) context: RequestContext,
}

impl Core {
    /// Handles a request about tasks.
    pub(crate) fn serve_task(
        self: &Arc<Self>,
        request: &Request<'_>,
        context: RequestContext,
    ) -> Result<Reply, ErrorObject> {
        // This check comes first (M-TASK-051).
        if context.rules().stateless && !declares_tasks(&context) {
            return Err(missing_extension());
        }
        self.tasks.admit(&context, Instant::now())?;
        self.start_recovery();
        let method = &*request.method;
        let guard = |target: Option<&str>| {
            self.settings.check(&GuardedRequest {
                method,
                target,
                context: &context,
            })
        };
        if method == method::TASKS_LIST {
            guard(None)?;
            let params: PaginatedRequestParams = decode_params(request.params)?;
            let task_request = self.task_request(context);
            let after = params.cursor.as_deref();
            let after = after.map(|cursor| task_request.cursors().decode_text(cursor));
            let after = after.transpose()?;
            let size = self.settings.page_size.clamp(1, PAGE);
            return Ok(Reply::Pending(Box::pin(task_request.list(after, size))));
        }
        let params: TaskParams = decode_params(request.params)?;
        guard(Some(&params.task_id))?;
        let task_request = self.task_request(context);
        Ok(Reply::Pending(match method {
            method::TASKS_GET => Box::pin(task_request.get(params.task_id)),
            method::TASKS_UPDATE => Box::pin(task_request.update(params)),
            method::TASKS_CANCEL => Box::pin(task_request.cancel(params.task_id)),
            method::TASKS_RESULT => {
                task_request.context.exchange().set_unlimited();
                Box::pin(task_request.result(params.task_id))
            }
            other => return Err(ErrorObject::method_not_found(other)),
        }))
    }

    pub(super) fn task_request(&self, context: RequestContext) -> TaskRequest {
        TaskRequest {
            tasks: Arc::clone(&self.tasks),
            config: Arc::clone(&self.tasks.config),
            keys: Arc::clone(&self.settings.keys),
            context,
        }
    }
}

impl TaskRequest {
    /// Returns the task with this id if it belongs to the principal of the request. The error is
    /// the same for an unknown task and for a task of another principal.
    pub(super) async fn find(&self, id: &str) -> Result<Task, ErrorObject> {
        let unknown = || ErrorObject::invalid_params("unknown task; it may have expired");
        if id.len() > MAX_ID {
            return Err(unknown());
        }
        let task = with_timeout(self.config.store.get(id))
            .await
            .map_err(|error| store_error(&error))?;
        let task = task.ok_or_else(unknown)?;
        if task.owner() != self.owner() {
            tracing::warn!(task = short_id(id), owner = ?self.owner(), "request for a task of \
             another principal");
            return Err(unknown());
        }
        if task.is_expired(self.config.options.now()) && task.has_ended() {
            return Err(unknown());
        }
        Ok(task)
    }

    fn owner(&self) -> Option<&Principal> {
        self.context.principal()
    }

    async fn get(self, id: String) -> Outcome {
        let task = self.find(&id).await?;
        if self.context.rules().stateless {
            if task.has_ended() {
                self.log_retrieved(&task);
            }
            return Ok(Payload::Shared(SharedText::new(task.to_detailed())));
        }
        Ok(Payload::of(task.to_core()))
    }

    /// Delivers input responses to the task. Completes after the responses are saved, so that no response is lost.
    async fn update(self, params: TaskParams) -> Outcome {
        let task = self.find(&params.task_id).await?;
        if task.has_ended() {
            return Ok(Payload::Empty);
        }
        let Some(running_task) = self.tasks.wait_for_running(&params.task_id).await else {
            if self.find(&params.task_id).await?.has_ended() {
                return Ok(Payload::Empty);
            }
            return Err(ErrorObject::internal(
                "the task runs in another process of this server; route requests about it to \
                 that process by their Mcp-Name header",
            ));
        };
        for (key, answer) in params.input_responses {
            running_task.pending.deliver(&key, Ok(answer));
        }
        let mut ended = running_task.ended.subscribe();
        let mut saving = std::pin::pin!(running_task.pending.wait_saved());
        let mut ended = std::pin::pin!(ended.wait_for(|ended| *ended));
        std::future::poll_fn(|cx| {
            if ended.as_mut().poll(cx).is_ready() {
                return std::task::Poll::Ready(());
            }
            saving.as_mut().poll(cx)
        })
        .await;
        Ok(Payload::Empty)
    }

    async fn cancel(self, id: String) -> Outcome {
        let task = self.find(&id).await?;
        let stateless = self.context.rules().stateless;
        let mut record = TaskRecord {
            config: Arc::clone(&self.config),
            task,
            is_leased: false,
        };
        let now = self.config.options.now();
        let cancelled = record
            .change(TRIES, &|task| task.cancel(now))
            .await
            .map_err(|error| store_error(&error))?;
        if cancelled {
            // The cancellation is saved; stop the handler.
            if let Some(running_task) = self.tasks.running(&id) {
                running_task.exchange.cancel();
            }
            tracing::info!(task = short_id(&id), owner = ?self.owner(), "task cancelled");
            self.tasks.notify(self.context.session(), &record.task);
        }
        if stateless {
            return Ok(Payload::Empty);
        }
        if !cancelled {
            let status = record.task.status(mcp_protocol::task::TaskForm::Core);
            return Err(ErrorObject::invalid_params(format!(
                "the task has ended as {status} and cannot be cancelled"
            )));
        }
        Ok(Payload::of(record.task.to_core()))
    }

    /// Waits until the task ends, and returns its result. Meanwhile, sends the task's input requests to the client.
    async fn result(self, id: String) -> Outcome {
        loop {
            let task = self.find(&id).await?;
            if task.has_ended() {
                self.log_retrieved(&task);
                return final_result(&task);
            }
            match self.tasks.running(&id) {
                Some(running_task) => send_requests(&running_task, &self.context.link()).await,
                // Another process runs the task: poll the store.
                None => tokio::time::sleep(self.config.options.poll_interval).await,
            }
        }
    }

    /// Returns the encoder and decoder of the cursors of `tasks/list`.
    fn cursors(&self) -> Cursors<'_> {
        Cursors::new(method::TASKS_LIST, self.owner(), &self.keys)
    }

    async fn list(self, after: Option<String>, size: usize) -> Outcome {
        let list = self
            .config
            .store
            .list(self.owner(), after.as_deref(), size + 1);
        let mut tasks = with_timeout(list)
            .await
            .map_err(|error| store_error(&error))?;
        let more = tasks.len() > size;
        tasks.truncate(size);
        let next = tasks
            .last()
            .filter(|_| more)
            .map(|last| self.cursors().encode_text(last.id()));
        let now = self.config.options.now();
        tasks.retain(|task| !(task.is_expired(now) && task.has_ended()));
        let mut result = ListTasksResult::new(tasks.iter().map(Task::to_core).collect());
        result.next_cursor = next;
        Ok(Payload::of(result))
    }

    /// Logs that a client retrieved the result of a task.
    fn log_retrieved(&self, task: &Task) {
        tracing::info!(task = short_id(task.id()), owner = ?self.owner(), "task retrieved");
    }
}

/// Returns the result of the tool call that ran as a task. `_meta` contains the task's id.
fn final_result(task: &Task) -> Outcome {
    match task.state() {
        TaskState::Ended(outcome) => {
            let json = outcome.as_result().map_err(Clone::clone)?;
            let mut result: Value = json.decode().map_err(|_| {
                ErrorObject::internal(
                    "the stored result of the task is not valid \
                 JSON",
                )
            })?;
            if task.call().revision.rules().stateless
                && let Value::Object(members) = &mut result
            {
                members.shift_remove("resultType");
            }
            relate_to_task(&mut result, task.id());
            Ok(Payload::of(result))
        }
        _ => Err(ErrorObject::internal("the task was cancelled")),
    }
}
