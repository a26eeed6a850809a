//! Recovery of the tasks that an earlier process left unfinished.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RequestId, text_of};
use mcp_protocol::modern::PendingInput;
use mcp_protocol::task::{Task, TaskOutcome, TaskStoreError, short_id};
use mcp_protocol::{Exchange, Link, Owner, RequestContext, Session};
use mcp_types::PROGRESS_TOKEN_KEY;
use serde_json::json;
use tokio::runtime::Handle;

use super::link::TaskLink;
use super::record::{TaskRecord, with_timeout};
use super::run::TaskRunner;
use super::run::background;
use crate::registry::tool::ToolEntry;
use crate::server::core::Core;
use crate::task_table::{RunningTask, TaskConfig};

/// Number of tasks that are read at a time.
const PAGE: usize = 100;
/// Maximum number of attempts to read the store, and to save the end of a task.
const TRIES: u32 = 24;
/// Maximum number of invalid input responses from the client before the tool call fails.
const MAX_ANSWERS: u32 = 8;

/// A guard that marks the recovery as finished when dropped. Requests that wait for the recovery then continue.
struct RecoveryGuard<'a>(&'a Core);

impl Drop for RecoveryGuard<'_> {
    fn drop(&mut self) {
        self.0.tasks.recovering.send_replace(false);
    }
}

impl Core {
    /// Starts the recovery of unfinished tasks. Does nothing if the recovery was started before, or if there is no runtime yet.
    pub(crate) fn start_recovery(self: &Arc<Self>) {
        if self.tasks.recovery_started.load(Ordering::Acquire) {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if self.tasks.recovery_started.swap(true, Ordering::AcqRel) {
            return;
        }
        let config = Arc::clone(&self.tasks.config);
        if config.is_persistent && config.options.recovery {
            let core = Arc::clone(self);
            let handle = runtime.clone();
            self.tasks.recovering.send_replace(true);
            background(&runtime, async move {
                {
                    let _recovering = RecoveryGuard(&core);
                    core.recover(&config, &handle).await;
                }
                let core_ref = Arc::downgrade(&core);
                drop(core);
                while config.store.is_shared() {
                    tokio::time::sleep(config.options.lease / 2).await;
                    let Some(core) = core_ref.upgrade() else {
                        return;
                    };
                    core.recover(&config, &handle).await;
                }
            });
        }
    }

    async fn recover(self: &Arc<Self>, config: &Arc<TaskConfig>, runtime: &Handle) {
        let mut after: Option<String> = None;
        let mut failed_reads = 0;
        loop {
            let tasks = match with_timeout(config.store.unfinished(after.as_deref(), PAGE)).await {
                Ok(tasks) => tasks,
                Err(error) if failed_reads < TRIES => {
                    failed_reads += 1;
                    tracing::warn!(%error, "cannot read unfinished tasks; trying again");
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    continue;
                }
                Err(error) => {
                    tracing::error!(%error, "cannot read unfinished tasks; they are not recovered");
                    return;
                }
            };
            let Some(last) = tasks.last() else { return };
            after = Some(last.id().to_owned());
            for task in tasks {
                // A task that runs in this process or in another one needs no recovery.
                if self.tasks.running(task.id()).is_none() && !is_leased(&task, config) {
                    self.recover_task(task, config, runtime).await;
                    self.tasks.recovering.send_if_modified(|goes_on| *goes_on);
                }
            }
        }
    }

    /// Runs a task again, or ends it with an error.
    async fn recover_task(
        self: &Arc<Self>,
        task: Task,
        config: &Arc<TaskConfig>,
        runtime: &Handle,
    ) {
        let session = Session::of_task(&task, &self.settings.tolerance);
        let tools = self.tools.snapshot();
        let tool = tools.get(&task.call().target, &session);
        let id = short_id(task.id()).to_owned();
        let record = TaskRecord {
            config: Arc::clone(config),
            task,
            is_leased: false,
        };
        let recovered = match tool.filter(|it| {
            it.task_policy
                .is_some_and(|task_policy| task_policy.is_resumable)
        }) {
            Some(tool) => {
                self.resume(record, Arc::clone(tool), session, runtime)
                    .await
            }
            None => end_interrupted(record, config).await,
        };
        match recovered {
            Ok(true) => {}
            Ok(false) => tracing::debug!(task = id, "another process recovered the task"),
            Err(error) => tracing::error!(task = id, %error, "cannot recover the task"),
        }
    }

    async fn resume(
        self: &Arc<Self>,
        record: TaskRecord,
        tool: Arc<ToolEntry>,
        session: Arc<Session>,
        runtime: &Handle,
    ) -> Result<bool, TaskStoreError> {
        let mut record = record;
        let task = &record.task;
        let task_link: Arc<dyn Link> = Arc::new(TaskLink::of_task(task, Arc::clone(&session)));
        let exchange = Exchange::new(RequestId::from(task.id()), task_link);
        let mut context = RequestContext::new(exchange.clone(), Arc::clone(&session));
        if let Some(token) = &task.call().token {
            context.set_meta(&text_of(&json!({ PROGRESS_TOKEN_KEY: token })));
        }
        let pending = pending_input(task, &session);
        context.set_pending_input(Arc::clone(&pending));
        let running_task = RunningTask {
            id: task.id().into(),
            owner: Owner::new(task.owner().cloned(), None),
            bytes: 0,
            pending,
            exchange,
            ended: tokio::sync::watch::Sender::new(false),
        };
        let unavailable = |error: ErrorObject| TaskStoreError::Unavailable(error.to_string());
        let guard = match self.tasks.guard(running_task, None) {
            Ok(guard) => guard,
            Err(error) => return Err(unavailable(error)),
        };
        if let Some(lease) = self.tasks.lease().map_err(unavailable)? {
            record.is_leased = record.task.set_lease(lease).is_ok();
        }
        // Writing the next version claims the task: if two processes try, one write fails. A
        // cancellation that is saved later finds the task in the table of running tasks.
        record.task = match with_timeout(record.config.store.put(record.task.clone())).await {
            Ok(task) => task,
            Err(TaskStoreError::Conflict) => return Ok(false),
            Err(error) => return Err(error),
        };
        let task = &record.task;
        tracing::info!(task = short_id(task.id()), owner = ?task.owner(), "task resumed");
        let arguments = task.call().arguments.clone();
        let handler =
            super::start::run(Arc::clone(self), tool, arguments, context, runtime.clone());
        let runner = TaskRunner {
            tasks: Arc::clone(&self.tasks),
            guard,
            record,
            session,
        };
        runner.spawn(Box::pin(handler), runtime);
        Ok(true)
    }
}

/// Returns the pending input of a task, with the input requests that the task sent before it was interrupted.
fn pending_input(task: &Task, session: &Session) -> Arc<PendingInput> {
    let max_attempts = match session.revision().rules().stateless {
        true => MAX_ANSWERS,
        false => 1,
    };
    let pending = PendingInput::detached(task.call_state().clone(), max_attempts);
    if let Some(requests) = task.input_requests() {
        pending.restore_requests(requests);
    }
    pending
}

/// Returns whether a process has the lease of a task.
fn is_leased(task: &Task, config: &TaskConfig) -> bool {
    let now = config.options.now();
    config.store.is_shared() && task.lease().is_some_and(|lease| now < lease.until)
}

/// Ends a task that cannot be resumed.
async fn end_interrupted(
    mut record: TaskRecord,
    config: &TaskConfig,
) -> Result<bool, TaskStoreError> {
    let now = config.options.now();
    let error = match record.task.lease() {
        Some(_) => "the process that ran the task has ended",
        None => "the server was restarted while the task ran",
    };
    let outcome = TaskOutcome::Error(ErrorObject::internal(error));
    let saved = record
        .change(TRIES, &|task| match is_leased(task, config) {
            // The process that runs the task has just renewed the lease, so the task does not end.
            true => Ok(()),
            false => task.end(outcome.clone(), now),
        })
        .await?;
    let ended = saved && record.task.has_ended();
    if ended {
        let task = &record.task;
        tracing::info!(task = short_id(task.id()), owner = ?task.owner(), "task was interrupted");
    }
    Ok(ended)
}
