//! What a process before this one left unfinished.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RequestId, text_of};
use mcp_protocol::modern::PendingInput;
use mcp_protocol::task::{StoreError, Task, TaskOutcome};
use mcp_protocol::{Exchange, Link, RequestContext, Session};
use mcp_types::PROGRESS_TOKEN_KEY;
use serde_json::json;
use tokio::runtime::Handle;

use super::link::Line;
use super::record::{Keeper, patiently};
use super::run::Drive;
use super::run::background;
use super::table::{Live, Setup};
use super::wire::shown;
use crate::registry::tool::ToolEntry;
use crate::server::core::Core;

/// Tasks that are read at a time.
const PAGE: usize = 100;
/// Attempts to read the store, and to keep the end of a task.
const TRIES: u32 = 24;
/// How often an answer of a client is asked for until it fits.
const ANSWERS: u32 = 8;

/// Tasks are being taken up; however that ends, nobody waits for it any longer.
struct Recovering<'a>(&'a Core);

impl Drop for Recovering<'_> {
    fn drop(&mut self) {
        self.0.tasks.recovering.send_replace(false);
    }
}

impl Core {
    /// Takes up what is unfinished, the first time there is a runtime to do it in.
    pub(crate) fn wake_tasks(self: &Arc<Self>) {
        if self.tasks.awake.load(Ordering::Acquire) {
            return;
        }
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if self.tasks.awake.swap(true, Ordering::AcqRel) {
            return;
        }
        let setup = self.tasks.setup();
        if setup.lasts && setup.options.recovery {
            let core = Arc::clone(self);
            let its = runtime.clone();
            self.tasks.recovering.send_replace(true);
            background(&runtime, async move {
                let _recovering = Recovering(&core);
                core.recover(setup, its).await;
            });
        }
    }

    async fn recover(self: &Arc<Self>, setup: Arc<Setup>, runtime: Handle) {
        let mut after: Option<String> = None;
        let mut tries = 0;
        loop {
            let tasks = match patiently(setup.store.unfinished(after.as_deref(), PAGE)).await {
                Ok(tasks) => tasks,
                Err(error) if tries < TRIES => {
                    tries += 1;
                    tracing::warn!(%error, "unfinished tasks cannot be read yet");
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    continue;
                }
                Err(error) => {
                    tracing::error!(%error, "unfinished tasks are left as they are");
                    return;
                }
            };
            let Some(last) = tasks.last() else { return };
            after = Some(last.id().to_owned());
            for task in tasks {
                // What runs here was not left behind.
                if self.tasks.running(task.id()).is_none() {
                    self.take_up(task, &setup, &runtime).await;
                    self.tasks.recovering.send_replace(true);
                }
            }
        }
    }

    /// Runs a task again, or ends it with the reason why not.
    async fn take_up(self: &Arc<Self>, task: Task, setup: &Arc<Setup>, runtime: &Handle) {
        let session = Session::of_task(&task);
        let tools = self.tools.snapshot();
        let tool = tools.get(&task.call().target, &session);
        let id = shown(task.id()).to_owned();
        let keeper = Keeper {
            setup: Arc::clone(setup),
            task,
        };
        let taken = match tool.filter(|it| it.plan.is_some_and(|plan| plan.resumes)) {
            Some(tool) => {
                self.resume(keeper, Arc::clone(tool), session, runtime)
                    .await
            }
            None => interrupted(keeper, setup).await,
        };
        match taken {
            Ok(true) => {}
            Ok(false) => tracing::debug!(task = id, "task was taken up by somebody else"),
            Err(error) => tracing::error!(task = id, %error, "task cannot be taken up"),
        }
    }

    async fn resume(
        self: &Arc<Self>,
        keeper: Keeper,
        tool: Arc<ToolEntry>,
        session: Arc<Session>,
        runtime: &Handle,
    ) -> Result<bool, StoreError> {
        let mut keeper = keeper;
        let task = &keeper.task;
        let line: Arc<dyn Link> = Arc::new(Line::of_task(task, Arc::clone(&session)));
        let exchange = Exchange::new(RequestId::from(task.id()), line);
        let mut context = RequestContext::new(exchange.clone(), Arc::clone(&session));
        if let Some(token) = &task.call().token {
            context.set_meta(&text_of(&json!({ PROGRESS_TOKEN_KEY: token })));
        }
        let tries = if session.revision().rules().stateless {
            ANSWERS
        } else {
            1
        };
        let pending = PendingInput::detached(task.call_state().clone(), tries);
        if let Some(questions) = task.input_requests() {
            pending.restore_requests(questions);
        }
        context.set_pending_input(Arc::clone(&pending));
        let live = Live {
            id: task.id().into(),
            owner: task.owner().cloned(),
            pending,
            exchange,
            ended: tokio::sync::watch::Sender::new(false),
        };
        let place = match self.tasks.place(live, usize::MAX) {
            Ok(place) => place,
            Err(error) => return Err(StoreError::Unavailable(error.to_string())),
        };
        // The next version is ours: of two processes that see it, one gets the task. Who cancels it from
        // here on finds it running.
        keeper.task = match patiently(keeper.setup.store.put(keeper.task.clone())).await {
            Ok(task) => task,
            Err(StoreError::Conflict) => return Ok(false),
            Err(error) => return Err(error),
        };
        let task = &keeper.task;
        tracing::info!(task = shown(task.id()), owner = ?task.owner(), "task resumed");
        let arguments = task.call().arguments.clone();
        let handler = super::start::run(tool, arguments, context, runtime.clone());
        let drive = Drive {
            tasks: Arc::clone(&self.tasks),
            place,
            keeper,
            session,
        };
        drive.spawn(Box::pin(handler), runtime);
        Ok(true)
    }
}

/// Ends a task that cannot be run again.
async fn interrupted(mut keeper: Keeper, setup: &Setup) -> Result<bool, StoreError> {
    let now = setup.options.now();
    let error = ErrorObject::internal("the server was restarted while the task ran");
    let outcome = TaskOutcome::Error(error);
    let ended = keeper
        .change(TRIES, &|task| task.end(outcome.clone(), now))
        .await?;
    if ended {
        let task = &keeper.task;
        tracing::info!(task = shown(task.id()), owner = ?task.owner(), "task was interrupted");
    }
    Ok(ended)
}
