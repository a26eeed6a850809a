//! Runs one task in the background until it ends.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson, is_member, members};
use mcp_protocol::task::{Task, TaskOutcome, TaskState, TaskStoreError, short_id};
use mcp_protocol::{BoxFuture, Delivery, Outcome, Running, Session};
use mcp_types::method;
use tokio::runtime::Handle;
use tokio::time::{Instant, Interval, MissedTickBehavior, Sleep, interval_at, sleep_until};

use super::record::TaskRecord;
use crate::task_table::{RunningGuard, Tasks};

/// Maximum number of attempts to save a change of a running task.
const MAX_ATTEMPTS: u32 = 8;
/// Maximum number of attempts to save the final status of a task.
const MAX_ATTEMPTS_AT_END: u32 = 24;
/// Number of attempts to renew a lease before the next renewal is due.
const RENEWALS: u32 = 2;
/// How long a task is kept after its time to live was exceeded. During this time, its client can read the error.
const RETENTION_AFTER_EXPIRY: Duration = Duration::from_secs(60);

/// The runner of one task, which polls the handler and saves the changes of the task.
pub(super) struct TaskRunner {
    pub(super) tasks: Arc<Tasks>,
    pub(super) guard: RunningGuard,
    pub(super) record: TaskRecord,
    /// The session that receives the task's notifications, in session-based revisions.
    pub(super) session: Arc<Session>,
}

/// The reason why a task stopped running.
enum End {
    /// The handler has finished.
    Outcome(Outcome),
    /// The time to live was exceeded.
    Expired,
    /// A change of the task could not be saved.
    StoreFailed(TaskStoreError),
    /// Another request or process has ended the task and saved its final state.
    EndedElsewhere,
}

enum Event {
    Outcome(Outcome),
    Expired,
    Changed(u64),
    /// The lease has to be renewed.
    Renew,
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
            // Drops the handler and catches a panic of its destructors, so that the task still ends.
            let _ = running.end(Err(ErrorObject::internal("the task has ended")));
        }
        // PROG-014: no more notifications, even if parts of the handler still run.
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
                tracing::error!(task = short_id(self.record.task.id()), %error, "cannot save a \
                 task");
                let error = ErrorObject::internal(match error {
                    TaskStoreError::Full { limit } => {
                        format!("the state of the task exceeds a limit of the store: {limit}")
                    }
                    _ => "the task store failed while the task ran".to_owned(),
                });
                self.end(TaskOutcome::Error(error), Duration::ZERO).await;
            }
        }
    }

    /// Polls the handler and saves changes.
    async fn work(&mut self, running: &mut Running) -> End {
        let pending = Arc::clone(&self.guard.running_task.pending);
        let mut sleep = self.sleep();
        let mut renewals = self.renewals();
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
                if let Some(renewals) = &mut renewals
                    && renewals.poll_tick(cx).is_ready()
                {
                    return Poll::Ready(Event::Renew);
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
                Event::Renew => {
                    if !self.renew().await {
                        return End::EndedElsewhere;
                    }
                    continue;
                }
            }
            match self.save().await {
                Ok(true) => {}
                Ok(false) => return End::EndedElsewhere,
                Err(error) => return End::StoreFailed(error),
            }
        }
    }

    /// Returns a timer that expires with the time to live. The timer uses tokio's clock, which approximates the wall clock.
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

    /// Returns the times at which the lease is renewed.
    fn renewals(&self) -> Option<Interval> {
        self.record.task.lease()?;
        let period = self.record.config.options.lease / 3;
        let mut renewals = interval_at(Instant::now() + period, period);
        renewals.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Some(renewals)
    }

    /// Renews the lease. Returns whether this process still has the lease. If the store fails, returns `true`; the next renewal
    /// shows whether the lease is lost.
    async fn renew(&mut self) -> bool {
        let Ok(Some(lease)) = self.tasks.lease() else {
            return true;
        };
        let renewed = self
            .record
            .change(RENEWALS, &|task| task.set_lease(lease.clone()))
            .await;
        renewed.unwrap_or_else(|error| {
            tracing::warn!(%error, "the lease of a task was not renewed");
            true
        })
    }

    /// Saves the pending input of the task, if it has changed. Returns whether the task still exists.
    async fn save(&mut self) -> Result<bool, TaskStoreError> {
        let snapshot = self.guard.running_task.pending.snapshot();
        let now = self.record.config.options.now();
        let before = self.record.task.clone();
        let is_there = self
            .record
            .change(MAX_ATTEMPTS, &|task| {
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

    /// Saves the outcome.
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
        if let Err(TaskStoreError::Full { limit }) = &saved {
            let error = format!("the result of the task exceeds a limit of the store: {limit}");
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
                self.tasks
                    .count_result(&self.guard.running_task.owner, task);
                self.tasks.notify(&self.session, task);
            }
            // Another process or request ended the task first.
            Ok(false) => tracing::debug!(
                task = id,
                ?owner,
                tool,
                "task was already ended by \
             another request or process"
            ),
            Err(error) => {
                tracing::error!(task = id, ?owner, tool, %error, "cannot save the end of a task");
            }
        }
    }
}

impl Tasks {
    /// Notifies subscribed clients of the state of a task.
    pub(super) fn notify(&self, session: &Session, task: &Task) {
        if session.revision().rules().tasks
            && let Ok(params) = serde_json::to_vec(&task.to_core())
        {
            // TASK-064: unlike other messages of a task, this notification has no task id in `_meta`.
            let method = method::NOTIFICATIONS_TASKS_STATUS;
            session.notify(method, Some(&params), Delivery::Always);
        }
        self.subscriptions.deliver_task(task);
    }
}

/// Converts the outcome of a handler to the form that is stored.
fn to_outcome(outcome: Outcome, stateless: bool) -> TaskOutcome {
    let payload = match outcome {
        Ok(payload) => payload,
        Err(error) => return TaskOutcome::Error(error),
    };
    let mut text = Vec::new();
    payload.write(&mut text);
    let Ok(mut text) = String::from_utf8(text) else {
        return TaskOutcome::Error(ErrorObject::internal(
            "the result of the handler is not valid \
         JSON",
        ));
    };
    let kind = members(&text)
        .map_while(Result::ok)
        .find(|(name, _)| is_member(name, "resultType"))
        .map(|(_, kind)| kind.to_owned());
    match kind.as_deref() {
        Some("\"complete\"") => {}
        Some(_) => {
            let problem =
                "the handler ended with an input request; a task must wait for the response";
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

/// Spawns `work` on the runtime. The future is boxed, so that the spawning code is compiled only once.
pub(super) fn background(runtime: &Handle, work: impl Future<Output = ()> + Send + 'static) {
    let work: BoxFuture<'static, ()> = Box::pin(work);
    runtime.spawn(work);
}
