//! From a task to its outcome: looking at it, answering what it asks, fetching what it came to.
//!
//! Since 2026-07-28 all of it stands in the answer to `tasks/get`, and answers go back by
//! `tasks/update`. Up to 2025-11-25 a task that wants input asks by requests, which come along
//! with the answer to `tasks/result`; that is how its outcome is fetched, too.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject, RawJson};
use mcp_protocol::{Answer, BoxFuture, Call, Timeouts};
use mcp_types::{TaskStatus, method};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::reference::TaskRef;
use super::request::request;
use super::retry::{RetrySchedule, is_final};
use super::state::{OnStatus, Snapshot, TaskState};
use super::watch::StatusWatch;
use crate::Error;
use crate::call::round_trips::{all, input_failed, object, start_handler};
use crate::shared::Shared;

/// The first wait after a server has not answered, where it never said how long to wait.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// Questions that one task may ask in its life.
const MAX_INPUT_REQUESTS: usize = 1_000;
/// How often answers are handed over that the server refuses for a reason that may pass.
const MAX_REJECTIONS: u32 = 8;

/// One task, and who waits for it.
pub(super) struct TaskPoller<'a> {
    pub(super) shared: &'a Shared,
    pub(super) task: &'a TaskRef,
    pub(super) timeouts: Timeouts,
    on_status: Option<&'a OnStatus>,
    /// The keys of questions that were handed to whoever answers them.
    started: BTreeSet<String>,
    retries: RetrySchedule,
    reported: Option<TaskState>,
    /// What `tasks/result` was rejection with.
    rejection: Option<ErrorObject>,
}

/// What goes on beside the looking.
type Work = BoxFuture<'static, Result<Done, Error>>;

enum Done {
    /// Keys and answers, as JSON text.
    Answers(Vec<(String, String)>),
    /// What `tasks/result` was answered with, if it was.
    Outcome(Option<Answer>),
}

enum Event {
    /// It is time to look again.
    Due,
    /// The server has said how the task stands.
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
            rejection: None,
        }
    }

    /// Waits for the end of the task; the raw result. `first` is how it stood a moment ago.
    pub(super) async fn run(mut self, first: Option<Snapshot>) -> Result<RawJson, Error> {
        let watch = self.shared.inbound.tasks.open(&self.task.id);
        let mut now = match first {
            Some(first) => {
                self.retries.answered(&first.state, Instant::now());
                first
            }
            None => self.poll().await?,
        };
        let mut due = Instant::now() + now.state.interval();
        let mut work: Vec<Work> = Vec::new();
        loop {
            self.report(&now.state);
            if now.state.status.is_final() {
                return self.end(&now, work.pop()).await;
            }
            if now.state.status == TaskStatus::InputRequired {
                work.extend(self.begin(&now, work.is_empty())?);
            }
            loop {
                match next(&mut work, due, &watch).await? {
                    Event::Due => {
                        now = self.poll().await?;
                        due = Instant::now() + now.state.interval();
                        break;
                    }
                    Event::Status(text) => {
                        now = Snapshot::read(method::NOTIFICATIONS_TASKS_STATUS, text)?;
                        break;
                    }
                    Event::Done(Done::Outcome(Some(Ok(result)))) => return Ok(result),
                    Event::Done(Done::Outcome(Some(Err(rejection)))) => {
                        self.rejection = Some(rejection)
                    }
                    // It is asked for again after the next look.
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
        tracing::debug!(task = self.task.short_id(), status = %state.status, "how a task stands");
        if let Some(on_status) = self.on_status {
            on_status(state);
        }
        self.reported = Some(state.clone());
    }

    /// Begins to give the task what it wants; `None` if all of it is under way or done.
    fn begin(&mut self, now: &Snapshot, idle: bool) -> Result<Option<Work>, Error> {
        if !self.shared.rules().stateless {
            if !idle {
                return Ok(None);
            }
            let call = self.request(method::TASKS_RESULT, &[]);
            return Ok(Some(Box::pin(async move {
                match call.await.map_err(Error::from) {
                    Ok(answer) => Ok(Done::Outcome(Some(answer))),
                    Err(error @ Error::Closed(_)) => Err(error),
                    Err(error) => {
                        tracing::debug!(%error, "the outcome of a task has not come");
                        Ok(Done::Outcome(None))
                    }
                }
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
            return Err(Error::Protocol(format!(
                "a task asks over {MAX_INPUT_REQUESTS} questions"
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

    /// Hands over the answers that are still wanted. If the server refuses them and the task has
    /// ended, it is how that stands.
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

    /// What a task has come to that has ended.
    async fn end(&mut self, now: &Snapshot, work: Option<Work>) -> Result<RawJson, Error> {
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
            Error::Protocol(format!(
                "a task that is {} has no {what}: {words}",
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

    /// Fetches the outcome, up to 2025-11-25.
    async fn fetch(&mut self, now: &Snapshot, mut work: Option<Work>) -> Result<RawJson, Error> {
        loop {
            if let Some(rejection) = self.rejection.take() {
                return Err(self.outcome(now, rejection));
            }
            let asked = match work.take() {
                Some(work) => timeout(self.timeouts.idle, work).await,
                None => Ok(self
                    .send(method::TASKS_RESULT, &[])
                    .await
                    .map(|answer| Done::Outcome(Some(answer)))),
            };
            match asked {
                Ok(Ok(Done::Outcome(Some(Ok(result))))) => return Ok(result),
                Ok(Ok(Done::Outcome(Some(Err(rejection))))) => self.rejection = Some(rejection),
                Ok(Err(error)) => self.retry_after(error).await?,
                // One that was asked for before the end may have been lost.
                Err(_) | Ok(Ok(_)) => {}
            }
        }
    }

    /// The failure behind a refusal of `tasks/result`: that of the call, unless the task is gone.
    fn outcome(&self, now: &Snapshot, rejection: ErrorObject) -> Error {
        if now.state.status == TaskStatus::Completed && rejection.code == ErrorCode::INVALID_PARAMS
        {
            return self.lost_error(rejection.message.into_owned());
        }
        Error::Rejected(rejection)
    }

    /// Looks at the task, again and again if the server does not answer.
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

    /// Waits before the next try; fails if there is to be none.
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
                tracing::debug!(task = self.task.short_id(), %failure, ?wait, "asking again for a task");
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

    /// Sends one request about the task and waits for its answer.
    pub(super) async fn send(
        &self,
        method: &'static str,
        more: &[(&str, String)],
    ) -> Result<Answer, Error> {
        let limit = self.timeouts.idle.min(self.timeouts.total);
        let answer = timeout(limit, self.request(method, more)).await;
        let answer = answer.map_err(|_| Error::Timeout {
            method,
            setting: "idle",
            after: limit,
        })?;
        Ok(answer?)
    }

    fn request(&self, method: &'static str, more: &[(&str, String)]) -> Call {
        request(self.shared, &self.task.id, method, more)
    }
}

/// What happens next.
async fn next(work: &mut Vec<Work>, due: Instant, watch: &StatusWatch) -> Result<Event, Error> {
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
