//! Tool calls that the server continues as tasks.
//!
//! Specification: [tasks](https://modelcontextprotocol.io/seps/2663-tasks-extension), an extension of 2026-07-28. The [tasks of
//! 2025-11-25][old] use other messages, but this module treats both in the same way.
//!
//! [old]: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks

pub(crate) mod abandoned;
mod poller;
pub(crate) mod preference;
mod reference;
mod request;
mod retry;

use std::fmt;
use std::sync::{Arc, Mutex};

use mcp_jsonrpc::RawJson;
use mcp_protocol::{Timeouts, lock};
use mcp_types::{CallToolResult, method};
use serde::Deserialize;
use tokio::time::{Instant, timeout, timeout_at};

use crate::Error;
use crate::connect::negotiation::KnownVersion;
use crate::request::progress::ProgressEntry;
use crate::request::{Outcome, decode, within_idle};
use crate::shared::Shared;
use crate::task_status::state::{OnStatus, Snapshot, TaskState};
use poller::TaskPoller;
use request::{CANCEL_TIMEOUT, cancel};

pub use reference::TaskRef;

/// The first response to a tool call: see [`ToolCall::start`](crate::ToolCall::start).
#[derive(Debug)]
#[non_exhaustive]
pub enum CallStart {
    /// The call is complete.
    Done(CallToolResult),
    /// The server continues the call as a task.
    Task(TaskHandle),
}

/// A tool call that the server continues as a task.
///
/// Dropping the handle does not affect the task: it continues to run, and
/// [`Client::task`](crate::Client::task) creates another handle.
#[derive(Clone)]
pub struct TaskHandle {
    shared: Arc<Shared>,
    task: TaskRef,
    timeouts: Timeouts,
    pub(crate) on_status: Option<OnStatus>,
    immediate_response: Option<String>,
    /// The state of the task when it was created. The first [`wait`](Self::wait) removes it.
    first: Arc<Mutex<Option<Snapshot>>>,
    /// The entry through which the client receives progress notifications while the task runs.
    _progress: Option<Arc<ProgressEntry>>,
}

impl TaskHandle {
    /// Creates a handle from the result that created the task.
    pub(crate) fn created(
        shared: &Arc<Shared>,
        tool: String,
        outcome: Outcome,
        timeouts: Timeouts,
    ) -> Result<Self, Error> {
        let first = Snapshot::created(method::TOOLS_CALL, &outcome.raw)?;
        let interval = first
            .state
            .poll_interval
            .map(|interval| interval.as_millis());
        let task = TaskRef {
            id: first.id.clone(),
            tool,
            created_at: first.state.created_at.clone(),
            poll_interval_ms: interval.and_then(|millis| u64::try_from(millis).ok()),
            server: KnownVersion::of(shared.agreed.revision),
        };
        tracing::info!(task = task.short_id(), tool = ?task.tool, "the server continues a call \
         as a task");
        Ok(Self {
            shared: Arc::clone(shared),
            task,
            timeouts,
            on_status: None,
            immediate_response: immediate_response(&outcome.raw),
            first: Arc::new(Mutex::new(Some(first))),
            _progress: outcome.progress.map(Arc::new),
        })
    }

    pub(crate) fn resumed(shared: &Arc<Shared>, task: TaskRef) -> Self {
        Self {
            shared: Arc::clone(shared),
            task,
            timeouts: shared.timeouts,
            on_status: None,
            immediate_response: None,
            first: Arc::default(),
            _progress: None,
        }
    }

    /// Returns a reference to the task. A host can store the reference to wait for the task later.
    pub fn task_ref(&self) -> &TaskRef {
        &self.task
    }

    /// Returns the text that the server suggests for the model while the task runs (2025-11-25).
    pub fn immediate_response(&self) -> Option<&str> {
        self.immediate_response.as_deref()
    }

    /// Calls `callback` with each state that [`wait`](Self::wait) receives and that differs from
    /// the previous state. The callback must not block.
    #[must_use]
    pub fn on_status(mut self, callback: impl Fn(&TaskState) + Send + Sync + 'static) -> Self {
        self.on_status = Some(Arc::new(callback));
        self
    }

    /// Waits for the end of the task, without a time limit. Polls the task at the interval that the server suggests, and answers
    /// its input requests with the handlers of the [`ClientBuilder`](crate::ClientBuilder). If the server is unreachable, polling
    /// continues until the time to live of the task has passed. For a task without a time to live, polling ends when the server
    /// has been unreachable for [`Timeouts::total`].
    ///
    /// # Errors
    /// The error of the call; [`Error::TaskCancelled`]; [`Error::TaskLost`]; or [`Error::InputFailed`] if an input request has no
    /// result. After [`Error::InputFailed`] the task continues to run.
    ///
    /// # Cancel safety
    /// Dropping the future drops the handlers of input requests. The task continues to run.
    pub async fn wait(&self) -> Result<CallToolResult, Error> {
        self.check_server()?;
        let shared = &self.shared;
        let first = lock(&self.first).take();
        let poller = TaskPoller::new(shared, &self.task, self.timeouts, self.on_status.as_ref());
        let raw = poller.run(first).await;
        let (task, tool) = (self.task.short_id(), &self.task.tool);
        match &raw {
            Ok(_) => tracing::info!(task, ?tool, "a task was completed"),
            Err(error) => tracing::info!(task, ?tool, %error, "waiting for a task failed"),
        }
        let result: CallToolResult = decode(method::TOOLS_CALL, &raw?)?;
        shared.tools.check_output(&self.task.tool, &result).await?;
        Ok(result)
    }

    /// Requests the current state of the task, once.
    ///
    /// # Errors
    /// [`Error::TaskLost`] if the server does not know the task, and the errors of any call.
    pub async fn status(&self) -> Result<TaskState, Error> {
        self.check_server()?;
        let poller = TaskPoller::new(&self.shared, &self.task, self.timeouts, None);
        match poller.send(method::TASKS_GET, &[]).await? {
            Ok(text) => Ok(Snapshot::read(method::TASKS_GET, text)?.state),
            Err(rejection) if retry::is_final(&rejection) => {
                Err(poller.lost_error(rejection.message.into_owned()))
            }
            Err(rejection) => Err(Error::Rejected(rejection)),
        }
    }

    /// Asks the server to cancel the task. A server of 2026-07-28 only acknowledges the request, and the task may already have
    /// ended. Use [`wait`](Self::wait) to receive the result.
    ///
    /// # Errors
    /// The server rejects the request, for example because it does not know the task or the task
    /// has ended.
    pub async fn cancel(&self) -> Result<(), Error> {
        self.check_server()?;
        let call = cancel(&self.shared, &self.task.id)?;
        let after = self.timeouts.idle.min(self.timeouts.total);
        let answer = within_idle(method::TASKS_CANCEL, after, call).await?;
        answer?.map_err(Error::Rejected)?;
        Ok(())
    }

    /// Waits for the end of the task like [`wait`](Self::wait), but only up to the total timeout, counted from `began`, the start
    /// of the call. Cancels the task if it has not ended by then.
    pub(crate) async fn finish(self, began: Instant) -> Result<CallToolResult, Error> {
        let after = self.timeouts.total;
        let mut guard = CancelOnDrop(Some(&self));
        let result = timeout_at(began + after, self.wait()).await;
        let result = result.unwrap_or(Err(Error::Timeout {
            method: method::TOOLS_CALL.into(),
            setting: "Timeouts::total",
            after,
            reason: None,
        }));
        // A task that has ended or that is unreachable cannot be cancelled.
        if matches!(
            result,
            Ok(_)
                | Err(Error::Rejected(_)
                    | Error::Output { .. }
                    | Error::TaskCancelled { .. }
                    | Error::TaskLost { .. }
                    | Error::Closed(_))
        ) {
            guard.0 = None;
        }
        result
    }

    /// Returns an error if the server of this connection cannot know the task, because the task was created under a revision with
    /// other task messages.
    fn check_server(&self) -> Result<(), Error> {
        let (task, client) = (self.task.server.revision(), self.shared.agreed.revision);
        if task.is_stateless() == client.is_stateless() {
            if client.is_stateless() && !self.shared.has_tasks() {
                let problem = "the client did not declare tasks; call ClientBuilder::task_calls before \
                 connecting";
                return Err(Error::invalid(problem.to_owned()));
            }
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the task was created with revision {task}, but this connection uses {client}"
        )))
    }
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskHandle").field(&self.task).finish()
    }
}

/// A guard that cancels the task when the call that waits for the task is dropped.
struct CancelOnDrop<'a>(Option<&'a TaskHandle>);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        let (Some(task), Ok(runtime)) = (self.0, tokio::runtime::Handle::try_current()) else {
            return;
        };
        let shared = Arc::clone(&task.shared);
        let Ok(call) = cancel(&shared, &task.task.id) else {
            return;
        };
        runtime.spawn(async move {
            // The connection must stay open until the response.
            let _shared = shared;
            match timeout(CANCEL_TIMEOUT, call).await {
                Ok(Ok(Ok(_))) => {}
                other => tracing::debug!(?other, "a task was not cancelled"),
            }
        });
    }
}

fn immediate_response(result: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct WireMeta {
        #[serde(rename = "_meta")]
        meta: Option<mcp_types::Meta>,
    }
    let wire: WireMeta = result.decode().ok()?;
    wire.meta?.model_immediate_response().map(str::to_owned)
}
