//! A task in the background, until it ends.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson, members};
use mcp_protocol::task::{StoreError, Task, TaskOutcome, TaskState};
use mcp_protocol::{BoxFuture, Delivery, Outcome, Running, Session};
use mcp_types::method;
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep_until};

use super::record::TaskRecord;
use super::table::{RunningGuard, Tasks};
use super::wire::short_id;

/// Attempts to keep a change on the way, and the end.
const TRIES: u32 = 8;
const MAX_ATTEMPTS_AT_END: u32 = 24;
/// How long a task is kept that was ended because its time was over, for its client to see why.
const RETENTION_AFTER_EXPIRY: Duration = Duration::from_secs(60);

/// What runs one task.
pub(super) struct TaskRunner {
    pub(super) tasks: Arc<Tasks>,
    pub(super) guard: RunningGuard,
    pub(super) record: TaskRecord,
    /// Where its client hears of it, where clients have sessions.
    pub(super) session: Arc<Session>,
}

/// Why a task does not run any more.
enum End {
    /// Its handler is done.
    Outcome(Outcome),
    /// Its time is over.
    Expired,
    /// What happens on the way cannot be kept.
    StoreFailed(StoreError),
    /// It was ended from outside, and that is kept already.
    EndedElsewhere,
}

enum Event {
    Outcome(Outcome),
    Expired,
    Changed(u64),
}

impl TaskRunner {
    /// Runs the handler in the background.
    pub(super) fn spawn(self, handler: BoxFuture<'static, Outcome>, runtime: &Handle) {
        background(runtime, self.run(handler));
    }

    async fn run(mut self, handler: BoxFuture<'static, Outcome>) {
        let exchange = self.guard.running_task.exchange.clone();
        let mut running = Running::new(exchange.clone(), handler);
        let end = self.work(&mut running).await;
        if running.is_pending() {
            // What it drops may panic, and that is no reason to leave the task as it is.
            let _ = running.end(Err(ErrorObject::internal("the task has ended")));
        }
        // PROG-014: nothing is sent any more, whatever of the handler lives on elsewhere.
        let was_cancelled = !exchange.settle();
        match end {
            End::EndedElsewhere => {}
            End::Outcome(_) if was_cancelled => {}
            End::Outcome(outcome) => {
                let outcome = to_outcome(outcome, self.session.revision().rules().stateless);
                self.end(outcome, Duration::ZERO).await;
            }
            End::Expired => {
                let ttl = self.record.task.ttl().unwrap_or_default().as_secs_f64();
                let error = format!("the task did not end within its time to live of {ttl} s");
                let outcome = TaskOutcome::Error(ErrorObject::internal(error));
                self.end(outcome, RETENTION_AFTER_EXPIRY).await;
            }
            End::StoreFailed(error) => {
                tracing::error!(task = short_id(self.record.task.id()), %error, "a task cannot be kept");
                let error = ErrorObject::internal(match error {
                    StoreError::Full { limit } => {
                        format!("the task has more to remember than can be kept: {limit}")
                    }
                    _ => "the task store failed while the task ran".to_owned(),
                });
                self.end(TaskOutcome::Error(error), Duration::ZERO).await;
            }
        }
    }

    /// Runs the handler and keeps what changes.
    async fn work(&mut self, running: &mut Running) -> End {
        let pending = Arc::clone(&self.guard.running_task.pending);
        let mut sleep = self.sleep();
        let mut seen = 0;
        loop {
            let mut changed = pin!(pending.changed(seen));
            let event = poll_fn(|cx| {
                if let Poll::Ready(outcome) = Pin::new(&mut *running).poll(cx) {
                    return Poll::Ready(Event::Outcome(outcome));
                }
                if let Some(sleep) = &mut sleep
                    && sleep.as_mut().poll(cx).is_ready()
                {
                    return Poll::Ready(Event::Expired);
                }
                changed.as_mut().poll(cx).map(Event::Changed)
            })
            .await;
            match event {
                Event::Outcome(_) if running.exchange().is_cancelled() => {
                    return End::EndedElsewhere;
                }
                Event::Outcome(outcome) => return End::Outcome(outcome),
                Event::Expired => return End::Expired,
                Event::Changed(number) => seen = number,
            }
            match self.save().await {
                Ok(true) => {}
                Ok(false) => return End::EndedElsewhere,
                Err(error) => return End::StoreFailed(error),
            }
        }
    }

    /// Until its time is over; tokio's clock runs beside the one on the wall.
    fn sleep(&self) -> Option<Pin<Box<Sleep>>> {
        self.record.task.ttl()?;
        let left = self
            .record
            .task
            .expires()
            .since(self.record.config.options.now());
        let at = Instant::now().checked_add(left)?;
        Some(Box::pin(sleep_until(at)))
    }

    /// Keeps what is new in the pending input; whether the task is still there.
    async fn save(&mut self) -> Result<bool, StoreError> {
        let snapshot = self.guard.running_task.pending.snapshot();
        let now = self.record.config.options.now();
        let before = self.record.task.clone();
        let is_there = self
            .record
            .change(TRIES, &|task| {
                if task.input_requests().cloned().unwrap_or_default() != snapshot.requests {
                    task.require_input(snapshot.requests.clone(), now)?;
                }
                if *task.call_state() != snapshot.call_state {
                    task.set_call_state(snapshot.call_state.clone(), now)?;
                }
                match &snapshot.message {
                    Some(message) if task.message() != Some(message) => {
                        task.set_message(message, now)
                    }
                    _ => Ok(()),
                }
            })
            .await?;
        self.guard.running_task.pending.mark_saved(snapshot.change);
        let after = &self.record.task;
        if is_there && (before.state(), before.message()) != (after.state(), after.message()) {
            self.tasks.notify(&self.session, after);
        }
        Ok(is_there)
    }

    /// Keeps the end.
    async fn end(&mut self, outcome: TaskOutcome, retention: Duration) {
        let options = &self.record.config.options;
        let now = options.now();
        let end = |outcome: &TaskOutcome| {
            let outcome = outcome.clone();
            move |task: &mut Task| {
                task.end(outcome.clone(), now)?;
                task.extend(retention);
                Ok(())
            }
        };
        let mut saved = self
            .record
            .change(MAX_ATTEMPTS_AT_END, &end(&outcome))
            .await;
        if let Err(StoreError::Full { limit }) = &saved {
            let error = format!("the result of the task is more than can be kept: {limit}");
            let replacement = TaskOutcome::Error(ErrorObject::internal(error));
            saved = self
                .record
                .change(MAX_ATTEMPTS_AT_END, &end(&replacement))
                .await;
        }
        let task = &self.record.task;
        let (id, owner, tool) = (short_id(task.id()), task.owner(), &*task.call().target);
        match saved {
            Ok(true) => {
                let failed = matches!(task.state(), TaskState::Ended(TaskOutcome::Error(_)));
                tracing::info!(task = id, ?owner, tool, failed, "task ended");
                self.tasks.notify(&self.session, task);
            }
            // Somebody else ended it first.
            Ok(false) => tracing::debug!(task = id, ?owner, tool, "task was ended elsewhere"),
            Err(error) => {
                tracing::error!(task = id, ?owner, tool, %error, "the end of a task is lost");
            }
        }
    }
}

impl Tasks {
    /// Tells who listens what became of a task.
    pub(super) fn notify(&self, session: &Session, task: &Task) {
        if session.revision().rules().tasks
            && let Ok(params) = serde_json::to_vec(&task.to_core())
        {
            // TASK-064: without the metadata that relates other messages to the task.
            let method = method::NOTIFICATIONS_TASKS_STATUS;
            session.notify(method, Some(&params), Delivery::Always);
        }
        self.subscriptions.deliver_task(task);
    }
}

/// What a handler came to, as it is kept.
fn to_outcome(outcome: Outcome, stateless: bool) -> TaskOutcome {
    let payload = match outcome {
        Ok(payload) => payload,
        Err(error) => return TaskOutcome::Error(error),
    };
    let mut text = Vec::new();
    payload.write(&mut text);
    let Ok(mut text) = String::from_utf8(text) else {
        return TaskOutcome::Error(ErrorObject::internal("the result is no JSON"));
    };
    let kind = members(&text)
        .map_while(Result::ok)
        .find(|(name, _)| *name == "resultType")
        .map(|(_, kind)| kind.to_owned());
    match kind.as_deref() {
        Some("\"complete\"") => {}
        Some(_) => {
            let problem =
                "the handler ended with a question; within a task it has to wait for the answer";
            return TaskOutcome::Error(ErrorObject::internal(problem));
        }
        None if stateless && text.ends_with('}') => {
            text.pop();
            let separate = !text.ends_with('{');
            text.push_str(if separate { "," } else { "" });
            text.push_str("\"resultType\":\"complete\"}");
        }
        None => {}
    }
    TaskOutcome::of_result(RawJson::copy(&text))
}

/// Does something beside everything else. In a box, so that what a runtime needs for a task is there once.
pub(super) fn background(runtime: &Handle, work: impl Future<Output = ()> + Send + 'static) {
    let work: BoxFuture<'static, ()> = Box::pin(work);
    runtime.spawn(work);
}
