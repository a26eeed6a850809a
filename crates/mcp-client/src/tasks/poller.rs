//! Waits for one task: polls its state, answers its input requests, fetches its outcome.
//!
//! Since 2026-07-28 the response to `tasks/get` contains the input requests and the outcome, and `tasks/update` sends the input
//! responses. Up to 2025-11-25 `tasks/result` returns the outcome, and the server sends its input requests while `tasks/result`
//! is in flight.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject, RawJson};
use mcp_protocol::{Answer, BoxFuture, Timeouts};
use mcp_types::{TaskStatus, method};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::reference::TaskRef;
use super::request::request;
use super::retry::{RetrySchedule, is_final};
use crate::Error;
use crate::request::round_trips::{all, input_failed, object, start_handler};
use crate::request::within_idle;
use crate::shared::Shared;
use crate::task_status::state::{OnStatus, Snapshot, TaskState};
use crate::task_status::watch::StatusWatch;

/// Delay after the first failed poll, if the server has not suggested an interval.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// Maximum number of input requests of one task.
const MAX_INPUT_REQUESTS: usize = 1_000;
/// Maximum number of times that input responses are sent again after the server rejected them with an error that may be
/// temporary.
const MAX_REJECTIONS: u32 = 8;

pub(super) struct TaskPoller<'a> {
    pub(super) shared: &'a Shared,
    pub(super) task: &'a TaskRef,
    pub(super) timeouts: Timeouts,
    on_status: Option<&'a OnStatus>,
    /// The keys of the input requests for which a handler was started.
    started: BTreeSet<String>,
    retries: RetrySchedule,
    reported: Option<TaskState>,
}

/// Work that runs while the client polls the task.
type BackgroundWork = BoxFuture<'static, Result<Done, Error>>;

enum Done {
    /// The results of input requests. Each item is the key of an input request and its result as JSON text.
    Answers(Vec<(String, String)>),
    /// The outcome from the response to `tasks/result`, or `None` if the request failed.
    Outcome(Option<RawJson>),
}

enum Event {
    /// The time for the next poll has come.
    Due,
    /// The server sent a status notification with the state of the task.
    Status(RawJson),
    Done(Done),
}

impl<'a> TaskPoller<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        task: &'a TaskRef,
        timeouts: Timeouts,
        on_status: Option<&'a OnStatus>,
    ) -> Self {
        Self {
            shared,
            task,
            timeouts,
            on_status,
            started: BTreeSet::new(),
            retries: RetrySchedule::new(timeouts.total, Instant::now()),
            reported: None,
        }
    }

    /// Waits for the end of the task and returns the raw result. `first` is the state when the task
    /// was created.
    pub(super) async fn run(mut self, first: Option<Snapshot>) -> Result<RawJson, Error> {
        let mut watch = self.shared.inbound.tasks.open(&self.task.id);
        let mut now = match first {
            Some(first) => {
                self.retries.answered(&first.state, Instant::now());
                first
            }
            None => self.poll().await?,
        };
        let mut due = Instant::now() + now.state.interval();
        let mut work: Vec<BackgroundWork> = Vec::new();
        loop {
            self.report(&now.state);
            if now.state.status.is_final() {
                return self.end(&now, work.pop()).await;
            }
            if now.state.status == TaskStatus::InputRequired {
                work.extend(self.start_work(&now, work.is_empty())?);
            }
            loop {
                match next(&mut work, due, &mut watch).await? {
                    Event::Due => {
                        now = self.poll().await?;
                        due = Instant::now() + now.state.interval();
                        break;
                    }
                    Event::Status(text) => {
                        now = Snapshot::read(method::NOTIFICATIONS_TASKS_STATUS, text)?;
                        break;
                    }
                    Event::Done(Done::Outcome(Some(result))) => return Ok(result),
                    // The request is sent again after the next poll.
                    Event::Done(Done::Outcome(None)) => {}
                    Event::Done(Done::Answers(answers)) => {
                        if let Some(later) = self.update(&now, answers).await? {
                            now = later;
                            break;
                        }
                    }
                }
            }
        }
    }

    fn report(&mut self, state: &TaskState) {
        if self.reported.as_ref() == Some(state) {
            return;
        }
        tracing::debug!(task = self.task.short_id(), status = %state.status, "received the state \
         of a task");
        if let Some(on_status) = self.on_status {
            on_status(state);
        }
        self.reported = Some(state.clone());
    }

    /// Starts the next work that the state of the task requires. Returns `None` if there is nothing to start.
    fn start_work(&mut self, now: &Snapshot, idle: bool) -> Result<Option<BackgroundWork>, Error> {
        if !self.shared.rules().stateless {
            if !idle {
                return Ok(None);
            }
            let call = request(self.shared, &self.task.id, method::TASKS_RESULT, &[]);
            return Ok(Some(Box::pin(async move {
                let failure = match call.await.map_err(Error::from) {
                    Ok(Ok(result)) => return Ok(Done::Outcome(Some(result))),
                    Err(error @ Error::Closed(_)) => return Err(error),
                    // This is not always the error of the call, because the server may have been restarted. If the call has
                    // failed, the request after the end of the task returns the same error.
                    Ok(Err(rejection)) => Error::Rejected(rejection),
                    Err(error) => error,
                };
                tracing::debug!(error = %failure, "fetching the outcome of a task failed");
                Ok(Done::Outcome(None))
            })));
        }
        let mut replies = Vec::new();
        for (key, request) in now.input_requests()? {
            if self.started.insert(key.to_owned()) {
                let handlers = &*self.shared.inbound;
                replies.push(start_handler(method::TOOLS_CALL, handlers, key, request)?);
            }
        }
        if self.started.len() > MAX_INPUT_REQUESTS {
            return Err(Error::protocol(format!(
                "a task has more than {MAX_INPUT_REQUESTS} input requests"
            )));
        }
        if replies.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::pin(async move {
            let answers = all(replies).await;
            answers
                .map(Done::Answers)
                .map_err(|(key, reason)| input_failed(method::TOOLS_CALL, &key, reason))
        })))
    }

    /// Sends those input responses that the task still requires. If the server rejects the responses and the task has ended,
    /// returns the state of the task.
    async fn update(
        &mut self,
        now: &Snapshot,
        mut answers: Vec<(String, String)>,
    ) -> Result<Option<Snapshot>, Error> {
        let wanted = now.input_requests()?;
        answers.retain(|(key, _)| wanted.iter().any(|(name, _)| name == key));
        let Some((first, _)) = answers.first() else {
            return Ok(None);
        };
        let members = [("inputResponses", object(&answers))];
        let mut rejections = 0;
        loop {
            match self.send(method::TASKS_UPDATE, &members).await {
                Ok(Ok(_)) => return Ok(None),
                Ok(Err(rejection)) => {
                    let later = self.poll().await?;
                    if later.state.status.is_final() {
                        return Ok(Some(later));
                    }
                    rejections += 1;
                    if is_final(&rejection) || rejections == MAX_REJECTIONS {
                        return Err(input_failed(method::TASKS_UPDATE, first, rejection));
                    }
                    sleep(later.state.interval()).await;
                }
                Err(error) => self.retry_after(error).await?,
            }
        }
    }

    /// Returns the outcome of a task that has ended.
    async fn end(
        &mut self,
        now: &Snapshot,
        work: Option<BackgroundWork>,
    ) -> Result<RawJson, Error> {
        let message = || now.state.message.clone();
        if now.state.status == TaskStatus::Cancelled {
            return Err(Error::TaskCancelled {
                task: self.task.id.clone(),
                message: message(),
            });
        }
        if !self.shared.rules().stateless {
            return self.fetch(now, work).await;
        }
        let missing = |what| {
            let words = message().unwrap_or_default();
            Error::protocol(format!(
                "the server sent a task with status {} but without {what}: {words}",
                now.state.status
            ))
        };
        match now.state.status {
            TaskStatus::Failed => Err(now
                .error()
                .map_or_else(|| missing("error"), Error::Rejected)),
            _ => now.result().ok_or_else(|| missing("result")),
        }
    }

    /// Fetches the outcome with `tasks/result` (up to 2025-11-25).
    async fn fetch(
        &mut self,
        now: &Snapshot,
        mut work: Option<BackgroundWork>,
    ) -> Result<RawJson, Error> {
        loop {
            if let Some(work) = work.take() {
                match timeout(self.timeouts.idle, work).await {
                    Ok(Ok(Done::Outcome(Some(result)))) => return Ok(result),
                    Ok(Err(error)) => self.retry_after(error).await?,
                    // A request that was sent before the end of the task may have been lost, so it is sent again.
                    Err(_) | Ok(Ok(_)) => {}
                }
            }
            match self.send(method::TASKS_RESULT, &[]).await {
                Ok(Ok(result)) => return Ok(result),
                Ok(Err(rejection)) => return Err(self.outcome(now, rejection)),
                Err(error) => self.retry_after(error).await?,
            }
        }
    }

    /// Converts an error response to `tasks/result`. The response means that the task is lost, or it is the error of the tool
    /// call itself.
    fn outcome(&self, now: &Snapshot, rejection: ErrorObject) -> Error {
        if now.state.status == TaskStatus::Completed && rejection.code == ErrorCode::INVALID_PARAMS
        {
            return self.lost_error(rejection.message.into_owned());
        }
        Error::Rejected(rejection)
    }

    /// Polls the task. Repeats the request if the server does not respond.
    async fn poll(&mut self) -> Result<Snapshot, Error> {
        loop {
            let failure = match self.send(method::TASKS_GET, &[]).await {
                Ok(Ok(text)) => {
                    let now = Snapshot::read(method::TASKS_GET, text)?;
                    self.retries.answered(&now.state, Instant::now());
                    return Ok(now);
                }
                Ok(Err(rejection)) if is_final(&rejection) => {
                    return Err(self.lost_error(rejection.message.into_owned()));
                }
                Ok(Err(rejection)) => Error::Rejected(rejection),
                Err(error) => error,
            };
            self.retry_after(failure).await?;
        }
    }

    /// Waits before the next attempt. Returns the error `failure` if there are no attempts left.
    async fn retry_after(&mut self, failure: Error) -> Result<(), Error> {
        if let Error::Closed(_) = failure {
            return Err(failure);
        }
        let pause = self
            .reported
            .as_ref()
            .map_or(FIRST_DELAY, TaskState::interval);
        match self.retries.failed(pause, Instant::now()) {
            Some(wait) => {
                tracing::debug!(task = self.task.short_id(), %failure, ?wait, "polling a task \
                 again");
                sleep(wait).await;
                Ok(())
            }
            None => Err(self.lost_error(failure.to_string())),
        }
    }

    pub(super) fn lost_error(&self, reason: String) -> Error {
        Error::TaskLost {
            task: self.task.id.clone(),
            reason,
        }
    }

    /// Sends one request about the task and waits for the response.
    pub(super) async fn send(
        &self,
        method: &'static str,
        more: &[(&str, String)],
    ) -> Result<Answer, Error> {
        let limit = self.timeouts.idle.min(self.timeouts.total);
        let call = request(self.shared, &self.task.id, method, more);
        Ok(within_idle(method, limit, call).await??)
    }
}

async fn next(
    work: &mut Vec<BackgroundWork>,
    due: Instant,
    watch: &mut StatusWatch,
) -> Result<Event, Error> {
    let changed = watch.changed();
    tokio::pin!(changed);
    let event = poll_fn(|cx| {
        for index in 0..work.len() {
            if let Poll::Ready(done) = work[index].as_mut().poll(cx) {
                drop(work.swap_remove(index));
                return Poll::Ready(done.map(Event::Done));
            }
        }
        changed
            .as_mut()
            .poll(cx)
            .map(|text| Ok(Event::Status(text)))
    });
    timeout_at(due, event).await.unwrap_or(Ok(Event::Due))
}
