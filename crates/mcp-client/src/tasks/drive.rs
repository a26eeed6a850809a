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
use mcp_types::{JsonObject, TaskStatus, method};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::lost::{Patience, is_final};
use super::state::{Snapshot, TaskState};
use super::watch::Watching;
use super::{OnStatus, TaskTicket};
use crate::Error;
use crate::client::Shared;
use crate::envelope::add;
use crate::rounds::{all, ask, object, unanswered};

/// The first wait after a server has not answered, where it never said how long to wait.
const RETRY: Duration = Duration::from_secs(1);
/// Questions that one task may ask in its life.
const MAX_QUESTIONS: usize = 1_000;
/// How often answers are handed over that the server refuses for a reason that may pass.
const MAX_REFUSALS: u32 = 8;

/// One task, and who waits for it.
pub(super) struct Drive<'a> {
    pub(super) shared: &'a Shared,
    pub(super) task: &'a TaskTicket,
    pub(super) timeouts: Timeouts,
    on_status: Option<&'a OnStatus>,
    /// The keys of questions that were handed to whoever answers them.
    asked: BTreeSet<String>,
    patience: Patience,
    told: Option<TaskState>,
    /// What `tasks/result` was refused with.
    refused: Option<ErrorObject>,
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
    Told(RawJson),
    Done(Done),
}

impl<'a> Drive<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        task: &'a TaskTicket,
        timeouts: Timeouts,
        on_status: Option<&'a OnStatus>,
    ) -> Self {
        Self {
            shared,
            task,
            timeouts,
            on_status,
            asked: BTreeSet::new(),
            patience: Patience::new(timeouts.total, Instant::now()),
            told: None,
            refused: None,
        }
    }

    /// Waits for the end of the task; the raw result. `seed` is how it stood a moment ago.
    pub(super) async fn run(mut self, seed: Option<Snapshot>) -> Result<RawJson, Error> {
        let watching = self.shared.inbound.tasks.open(&self.task.id);
        let mut now = match seed {
            Some(seed) => {
                self.patience.answered(&seed.state, Instant::now());
                seed
            }
            None => self.look().await?,
        };
        let mut due = Instant::now() + now.state.pause();
        let mut work: Vec<Work> = Vec::new();
        loop {
            self.tell(&now.state);
            if now.state.status.is_final() {
                return self.end(&now, work.pop()).await;
            }
            if now.state.status == TaskStatus::InputRequired {
                work.extend(self.begin(&now, work.is_empty())?);
            }
            loop {
                match next(&mut work, due, &watching).await? {
                    Event::Due => {
                        now = self.look().await?;
                        due = Instant::now() + now.state.pause();
                        break;
                    }
                    Event::Told(text) => {
                        now = Snapshot::read(method::NOTIFICATIONS_TASKS_STATUS, text)?;
                        break;
                    }
                    Event::Done(Done::Outcome(Some(Ok(result)))) => return Ok(result),
                    Event::Done(Done::Outcome(Some(Err(refused)))) => self.refused = Some(refused),
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

    fn tell(&mut self, state: &TaskState) {
        if self.told.as_ref() == Some(state) {
            return;
        }
        tracing::debug!(task = self.task.shown(), status = %state.status, "how a task stands");
        if let Some(on_status) = self.on_status {
            on_status(state);
        }
        self.told = Some(state.clone());
    }

    /// Begins to give the task what it wants; `None` if all of it is under way or done.
    fn begin(&mut self, now: &Snapshot, idle: bool) -> Result<Option<Work>, Error> {
        if !self.shared.rules().stateless {
            if !idle {
                return Ok(None);
            }
            let call = self.request(method::TASKS_RESULT, None);
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
        for (key, question) in now.questions()? {
            if self.asked.insert(key.to_owned()) {
                replies.push(ask(
                    method::TOOLS_CALL,
                    &self.shared.inbound,
                    key,
                    question,
                )?);
            }
        }
        if self.asked.len() > MAX_QUESTIONS {
            return Err(Error::Protocol(format!(
                "a task asks over {MAX_QUESTIONS} questions"
            )));
        }
        if replies.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::pin(async move {
            let answers = all(replies).await;
            answers
                .map(Done::Answers)
                .map_err(|(key, reason)| unanswered(method::TOOLS_CALL, &key, reason))
        })))
    }

    /// Hands over the answers that are still wanted. If the server refuses them and the task has
    /// ended, it is how that stands.
    async fn update(
        &mut self,
        now: &Snapshot,
        mut answers: Vec<(String, String)>,
    ) -> Result<Option<Snapshot>, Error> {
        let wanted = now.questions()?;
        answers.retain(|(key, _)| wanted.iter().any(|(it, _)| it == key));
        let Some((first, _)) = answers.first() else {
            return Ok(None);
        };
        let text = object(&answers);
        let mut refusals = 0;
        loop {
            let answer = self.send(method::TASKS_UPDATE, Some(("inputResponses", &text)));
            match answer.await {
                Ok(Ok(_)) => return Ok(None),
                Ok(Err(refused)) => {
                    let later = self.look().await?;
                    if later.state.status.is_final() {
                        return Ok(Some(later));
                    }
                    refusals += 1;
                    if is_final(&refused) || refusals == MAX_REFUSALS {
                        return Err(unanswered(method::TASKS_UPDATE, first, refused));
                    }
                    sleep(later.state.pause()).await;
                }
                Err(error) => self.endure(error).await?,
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
            if let Some(refused) = self.refused.take() {
                return Err(self.outcome(now, refused));
            }
            let asked = match work.take() {
                Some(work) => timeout(self.timeouts.idle, work).await,
                None => Ok(self
                    .send(method::TASKS_RESULT, None)
                    .await
                    .map(|answer| Done::Outcome(Some(answer)))),
            };
            match asked {
                Ok(Ok(Done::Outcome(Some(Ok(result))))) => return Ok(result),
                Ok(Ok(Done::Outcome(Some(Err(refused))))) => self.refused = Some(refused),
                Ok(Err(error)) => self.endure(error).await?,
                // One that was asked for before the end may have been lost.
                Err(_) | Ok(Ok(_)) => {}
            }
        }
    }

    /// The failure behind a refusal of `tasks/result`: that of the call, unless the task is gone.
    fn outcome(&self, now: &Snapshot, refused: ErrorObject) -> Error {
        if now.state.status == TaskStatus::Completed && refused.code == ErrorCode::INVALID_PARAMS {
            return self.lost(refused.message.into_owned());
        }
        Error::Rejected(refused)
    }

    /// Looks at the task, again and again if the server does not answer.
    async fn look(&mut self) -> Result<Snapshot, Error> {
        loop {
            let failure = match self.send(method::TASKS_GET, None).await {
                Ok(Ok(text)) => {
                    let now = Snapshot::read(method::TASKS_GET, text)?;
                    self.patience.answered(&now.state, Instant::now());
                    return Ok(now);
                }
                Ok(Err(refused)) if is_final(&refused) => {
                    return Err(self.lost(refused.message.into_owned()));
                }
                Ok(Err(refused)) => Error::Rejected(refused),
                Err(error) => error,
            };
            self.endure(failure).await?;
        }
    }

    /// Waits before the next try; fails if there is to be none.
    async fn endure(&mut self, failure: Error) -> Result<(), Error> {
        if let Error::Closed(_) = failure {
            return Err(failure);
        }
        let pause = self.told.as_ref().map_or(RETRY, TaskState::pause);
        match self.patience.failed(pause, Instant::now()) {
            Some(wait) => {
                tracing::debug!(task = self.task.shown(), %failure, ?wait, "asking again for a task");
                sleep(wait).await;
                Ok(())
            }
            None => Err(self.lost(failure.to_string())),
        }
    }

    pub(super) fn lost(&self, reason: String) -> Error {
        Error::TaskLost {
            task: self.task.id.clone(),
            reason,
        }
    }

    /// Sends one request about the task and waits for its answer.
    pub(super) async fn send(
        &self,
        method: &'static str,
        extra: Option<(&str, &str)>,
    ) -> Result<Answer, Error> {
        let patience = self.timeouts.idle.min(self.timeouts.total);
        let answer = timeout(patience, self.request(method, extra)).await;
        let answer = answer.map_err(|_| Error::Timeout {
            method,
            setting: "idle",
            after: patience,
        })?;
        Ok(answer?)
    }

    fn request(&self, method: &'static str, extra: Option<(&str, &str)>) -> Call {
        request(self.shared, &self.task.id, method, extra)
    }
}

/// A request about a task, with another member whose value is JSON text.
pub(super) fn request(
    shared: &Shared,
    id: &str,
    method: &'static str,
    extra: Option<(&str, &str)>,
) -> Call {
    let mut params = JsonObject::new();
    params.insert("taskId".to_owned(), Value::from(id));
    let mut sent = match &shared.agreed.envelope {
        Some(envelope) => envelope.open(&params, None),
        None => {
            let mut text = Value::Object(params).to_string().into_bytes();
            text.pop();
            text
        }
    };
    if let Some((name, value)) = extra {
        add(&mut sent, name, value);
    }
    sent.push(b'}');
    shared.link.request(method, Some(sent))
}

/// What happens next.
async fn next(work: &mut Vec<Work>, due: Instant, watching: &Watching) -> Result<Event, Error> {
    let told = watching.told();
    tokio::pin!(told);
    let event = poll_fn(|cx| {
        for index in 0..work.len() {
            if let Poll::Ready(done) = work[index].as_mut().poll(cx) {
                drop(work.swap_remove(index));
                return Poll::Ready(done.map(Event::Done));
            }
        }
        told.as_mut().poll(cx).map(|text| Ok(Event::Told(text)))
    });
    timeout_at(due, event).await.unwrap_or(Ok(Event::Due))
}
