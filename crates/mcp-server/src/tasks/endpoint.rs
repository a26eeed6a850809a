//! Requests about tasks.

use std::sync::Arc;
use std::time::Instant;

use mcp_jsonrpc::{ErrorObject, Request, decode};
use mcp_protocol::task::{Task, TaskState};
use mcp_protocol::{Outcome, Payload, Principal, Reply, RequestContext, SharedText};
use mcp_types::{JsonObject, ListTasksResult, PaginatedRequestParams, method};
use serde::Deserialize;
use serde_json::Value;

use super::record::{Keeper, patiently};
use super::requests::attend;
use super::table::{Setup, Tasks};
use super::wire::{declares, failed, relate, shown, undeclared};
use crate::random;
use crate::registry::cursor;
use crate::server::core::Core;
use crate::server::settings::{Guarded, Settings};

/// Longest id that is looked up, in bytes.
const LONGEST_ID: usize = 256;
/// Tasks on one page of a list.
const PAGE: usize = 100;
/// Attempts to keep a cancellation.
const TRIES: u32 = 4;

/// The params of a request about one task. Its `_meta` is not looked at: `taskId` alone says
/// which task it is about (TASK-059, TASK-061).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    task_id: String,
    #[serde(default)]
    input_responses: JsonObject,
}

/// Who asks for what, where.
pub(super) struct Asked {
    tasks: Arc<Tasks>,
    setup: Arc<Setup>,
    pub(super) context: RequestContext,
}

impl Core {
    /// Serves a request about tasks.
    pub(crate) fn serve_task(
        self: &Arc<Self>,
        request: &Request<'_>,
        context: RequestContext,
        settings: &Settings,
    ) -> Result<Reply, ErrorObject> {
        // Before anything else (M-TASK-051).
        if context.rules().stateless && !declares(&context) {
            return Err(undeclared());
        }
        self.tasks.admit(&context, Instant::now())?;
        self.wake_tasks();
        let method = &*request.method;
        let guard = |target: Option<&str>| {
            settings.check(&Guarded {
                method,
                target,
                context: &context,
            })
        };
        let params = request.params.unwrap_or("{}");
        let invalid = |error| ErrorObject::invalid_params(format!("invalid params: {error}"));
        if method == method::TASKS_LIST {
            guard(None)?;
            let params: PaginatedRequestParams = decode(params).map_err(invalid)?;
            let asked = self.asked(context);
            let after = params.cursor.as_deref().map(open).transpose()?;
            let size = settings.page_size.clamp(1, PAGE);
            return Ok(Reply::Pending(Box::pin(asked.list(after, size))));
        }
        let about: About = decode(params).map_err(invalid)?;
        guard(Some(&about.task_id))?;
        let asked = self.asked(context);
        Ok(Reply::Pending(match method {
            method::TASKS_GET => Box::pin(asked.get(about.task_id)),
            method::TASKS_UPDATE => Box::pin(asked.update(about)),
            method::TASKS_CANCEL => Box::pin(asked.cancel(about.task_id)),
            method::TASKS_RESULT => {
                asked.context.exchange().set_endless();
                Box::pin(asked.result(about.task_id))
            }
            other => return Err(ErrorObject::method_not_found(other)),
        }))
    }

    pub(super) fn asked(&self, context: RequestContext) -> Asked {
        Asked {
            tasks: Arc::clone(&self.tasks),
            setup: self.tasks.setup(),
            context,
        }
    }
}

impl Asked {
    /// The task of this id, if whoever asks may know of it. Everybody else hears the same of
    /// a task that there is and of one that there is not.
    pub(super) async fn find(&self, id: &str) -> Result<Task, ErrorObject> {
        let unknown = || ErrorObject::invalid_params("unknown task; it may have expired");
        if id.len() > LONGEST_ID {
            return Err(unknown());
        }
        let task = patiently(self.setup.store.get(id))
            .await
            .map_err(|error| failed(&error))?;
        let task = task.ok_or_else(unknown)?;
        if task.owner() != self.owner() {
            tracing::warn!(task = shown(id), owner = ?self.owner(), "task of somebody else");
            return Err(unknown());
        }
        if task.is_expired(self.setup.options.now()) && task.has_ended() {
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
                self.note(&task);
            }
            return Ok(Payload::Shared(SharedText::new(task.to_detailed())));
        }
        Ok(Payload::of(task.to_core()))
    }

    /// Takes answers. It is answered once they are kept, so that none is lost.
    async fn update(self, about: About) -> Outcome {
        let task = self.find(&about.task_id).await?;
        if task.has_ended() {
            return Ok(Payload::Empty);
        }
        let Some(live) = self.tasks.taken_up(&about.task_id).await else {
            if self.find(&about.task_id).await?.has_ended() {
                return Ok(Payload::Empty);
            }
            return Err(ErrorObject::internal(
                "the task runs in another process of this server; \
                 requests about it have to reach that one, Mcp-Name says which task they are about",
            ));
        };
        for (key, answer) in about.input_responses {
            live.pending.deliver(&key, Ok(answer));
        }
        let mut ended = live.ended.subscribe();
        let mut saving = std::pin::pin!(live.pending.wait_saved());
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
        let modern = self.context.rules().stateless;
        let mut keeper = Keeper {
            setup: Arc::clone(&self.setup),
            task,
        };
        let now = self.setup.options.now();
        let cancelled = keeper
            .change(TRIES, &|task| task.cancel(now))
            .await
            .map_err(|error| failed(&error))?;
        if cancelled {
            // It is kept already; now the handler stops.
            if let Some(live) = self.tasks.running(&id) {
                live.exchange.cancel();
            }
            tracing::info!(task = shown(&id), owner = ?self.owner(), "task cancelled");
            self.tasks.tell(self.context.session(), &keeper.task);
        }
        if modern {
            return Ok(Payload::Empty);
        }
        if !cancelled {
            let status = keeper.task.status(mcp_protocol::task::TaskForm::Core);
            return Err(ErrorObject::invalid_params(format!(
                "the task has ended as {status} and cannot be cancelled"
            )));
        }
        Ok(Payload::of(keeper.task.to_core()))
    }

    /// Waits for the end, and meanwhile puts the questions of the task.
    async fn result(self, id: String) -> Outcome {
        loop {
            let task = self.find(&id).await?;
            if task.has_ended() {
                self.note(&task);
                return ended(&task);
            }
            match self.tasks.running(&id) {
                Some(live) => attend(&live, self.context.exchange().link()).await,
                // Another process runs it.
                None => tokio::time::sleep(self.setup.options.poll_interval).await,
            }
        }
    }

    async fn list(self, after: Option<String>, size: usize) -> Outcome {
        let list = self
            .setup
            .store
            .list(self.owner(), after.as_deref(), size + 1);
        let mut tasks = patiently(list).await.map_err(|error| failed(&error))?;
        let more = tasks.len() > size;
        tasks.truncate(size);
        let next = tasks.last().filter(|_| more).map(|last| seal(last.id()));
        let now = self.setup.options.now();
        tasks.retain(|task| !(task.is_expired(now) && task.has_ended()));
        let mut result = ListTasksResult::new(tasks.iter().map(Task::to_core).collect());
        result.next_cursor = next;
        Ok(Payload::of(result))
    }

    /// Somebody fetched what a task came to.
    fn note(&self, task: &Task) {
        tracing::info!(task = shown(task.id()), owner = ?self.owner(), "task retrieved");
    }
}

/// What the call itself would have been answered with, and which task it was.
fn ended(task: &Task) -> Outcome {
    match task.state() {
        TaskState::Ended(outcome) => {
            let json = outcome.as_result().map_err(Clone::clone)?;
            let mut result: Value = json
                .decode()
                .map_err(|_| ErrorObject::internal("the result of the task is no JSON"))?;
            if task.call().revision.rules().stateless
                && let Value::Object(members) = &mut result
            {
                members.remove("resultType");
            }
            relate(&mut result, task.id());
            Ok(Payload::of(result))
        }
        _ => Err(ErrorObject::internal("the task was cancelled")),
    }
}

/// The cursor after the task of this id.
fn seal(id: &str) -> String {
    format!("{id}.{:032x}", random::tag(&(method::TASKS_LIST, id)))
}

/// The id in a cursor.
fn open(cursor: &str) -> Result<String, ErrorObject> {
    let id = cursor.rsplit_once('.').map(|(id, _)| id);
    let id = id.filter(|id| id.len() <= LONGEST_ID && seal(id) == cursor);
    id.map(str::to_owned).ok_or_else(cursor::invalid)
}
