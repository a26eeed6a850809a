//! What is kept of a call that outlives its request, and how it may change.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson, members};
use mcp_types::{ClientCapabilities, Implementation, JsonObject, LoggingLevel, ProgressToken};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Timestamp, keep};
use crate::modern::CallState;
use crate::{Principal, Revision};

/// Longest status message, in characters; longer ones are cut.
const LONGEST_MESSAGE: usize = 1_024;

/// A call that outlives its request.
///
/// It starts [working](TaskState::Working), may wait for answers and go on any number of times,
/// and ends once: what has ended does not change any more. It can be written with serde as JSON
/// (that is what a durable store keeps) and read again by any later version of this crate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    id: Box<str>,
    #[serde(with = "keep::owner", default, skip_serializing_if = "Option::is_none")]
    owner: Option<Principal>,
    #[serde(with = "keep::shared")]
    call: Arc<TaskCall>,
    state: TaskState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    created: Timestamp,
    updated: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ttl: Option<Duration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    poll: Option<Duration>,
    #[serde(default)]
    recorded: CallState,
    version: u64,
}

/// What a task runs, and for whom: enough to run it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskCall {
    /// The method.
    pub method: String,
    /// The tool, or whatever else the method names; empty if it names nothing.
    pub target: String,
    /// The arguments, or the params of a method that has none: a JSON object.
    #[serde(with = "keep::raw")]
    pub arguments: RawJson,
    /// The token under which the client wants progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<ProgressToken>,
    /// The revision the call was made in.
    #[serde(with = "keep::revision")]
    pub revision: Revision,
    /// Who the client says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Implementation>,
    /// What the client can be asked.
    #[serde(default)]
    pub capabilities: ClientCapabilities,
    /// The least serious log message the client wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LoggingLevel>,
    /// Whether it came from whoever started the process; see [`Link::is_local`](crate::Link).
    #[serde(default)]
    pub local: bool,
    /// What the request was granted; see [`Grant`](crate::Grant).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

impl TaskCall {
    /// A call of `method` on `target`, of a client that says nothing of itself.
    pub fn new(
        method: impl Into<String>,
        target: impl Into<String>,
        arguments: RawJson,
        revision: Revision,
    ) -> Self {
        Self {
            method: method.into(),
            target: target.into(),
            arguments,
            token: None,
            revision,
            client: None,
            capabilities: ClientCapabilities::default(),
            log_level: None,
            local: false,
            scopes: Vec::new(),
        }
    }
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskState {
    /// It is being worked on.
    Working,
    /// It waits for answers to these questions: by key, each with its method and params.
    InputRequired(JsonObject),
    /// It has ended as any call does.
    Ended(TaskOutcome),
    /// It was given up before it ended.
    Cancelled,
}

/// What a task came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskOutcome {
    /// The result of the call.
    Result {
        /// Its JSON.
        #[serde(with = "keep::raw")]
        json: RawJson,
        /// Whether it says `isError`, which some revisions count as a failure of the task.
        is_error: bool,
    },
    /// The error that the call would have been answered with.
    Error(ErrorObject),
}

impl TaskOutcome {
    /// A result, from its JSON text.
    pub fn of_result(json: RawJson) -> Self {
        let is_error = members(&json)
            .map_while(Result::ok)
            .any(|member| member == ("isError", "true"));
        Self::Result { json, is_error }
    }

    /// The result, or the error.
    ///
    /// # Errors
    /// The error, if it is one.
    pub fn as_result(&self) -> Result<&RawJson, &ErrorObject> {
        match self {
            Self::Result { json, .. } => Ok(json),
            Self::Error(error) => Err(error),
        }
    }
}

/// Nothing can be changed, because the task has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskEnded;

impl fmt::Display for TaskEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task has ended and does not change any more")
    }
}

impl std::error::Error for TaskEnded {}

impl Task {
    /// A task that starts now. Nobody but its owner can know `id`: it has 128 random bits or
    /// more. `ttl` counts from the start; `None` means for ever.
    pub fn new(
        id: impl Into<Box<str>>,
        owner: Option<Principal>,
        call: TaskCall,
        now: Timestamp,
        ttl: Option<Duration>,
    ) -> Self {
        Self {
            id: id.into(),
            owner,
            call: Arc::new(call),
            state: TaskState::Working,
            message: None,
            created: now,
            updated: now,
            ttl,
            poll: None,
            recorded: CallState::default(),
            version: 0,
        }
    }

    /// Sets how long a client should wait from one look at the task to the next.
    #[must_use]
    pub fn with_poll_interval(mut self, poll: Duration) -> Self {
        self.poll = Some(poll);
        self
    }

    /// The name clients know it by.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// On whose behalf it runs, if that was verified; nobody else may see it.
    pub fn owner(&self) -> Option<&Principal> {
        self.owner.as_ref()
    }

    /// What it runs.
    pub fn call(&self) -> &Arc<TaskCall> {
        &self.call
    }

    /// Where it stands.
    pub fn state(&self) -> &TaskState {
        &self.state
    }

    /// What the status is about, for people.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// When it started.
    pub fn created(&self) -> Timestamp {
        self.created
    }

    /// When it last changed.
    pub fn updated(&self) -> Timestamp {
        self.updated
    }

    /// How long it is kept, from its start; `None` means for ever.
    pub fn ttl(&self) -> Option<Duration> {
        self.ttl
    }

    /// How long a client should wait from one look to the next.
    pub fn poll_interval(&self) -> Option<Duration> {
        self.poll
    }

    /// Answers and notes of the handler, for running it again.
    pub fn call_state(&self) -> &CallState {
        &self.recorded
    }

    /// How often it was stored; see [`TaskStore::put`](super::TaskStore::put).
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The same record as it is stored next, for those who write a store.
    #[must_use]
    pub fn next_version(mut self) -> Self {
        self.version += 1;
        self
    }

    /// When it may be forgotten; [`Timestamp::MAX`] for never.
    pub fn expires(&self) -> Timestamp {
        self.ttl
            .map_or(Timestamp::MAX, |ttl| self.created.after(ttl))
    }

    /// Whether its time is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires() <= now
    }

    /// Whether it has ended, one way or the other.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, TaskState::Ended(_) | TaskState::Cancelled)
    }

    /// The questions it waits for.
    pub fn input_requests(&self) -> Option<&JsonObject> {
        match &self.state {
            TaskState::InputRequired(questions) => Some(questions),
            _ => None,
        }
    }

    /// About how many bytes it takes to keep.
    pub fn weight(&self) -> usize {
        let state = match &self.state {
            TaskState::InputRequired(questions) => json_length(questions),
            TaskState::Ended(TaskOutcome::Result { json, .. }) => json.len(),
            TaskState::Ended(TaskOutcome::Error(error)) => json_length(error),
            _ => 0,
        };
        let message = self.message.as_ref().map_or(0, String::len);
        512 + self.call.arguments.len() + state + message + json_length(&self.recorded)
    }

    /// Asks these questions, all that are open; none means that it goes on.
    ///
    /// # Errors
    /// It has ended.
    pub fn require_input(
        &mut self,
        questions: JsonObject,
        now: Timestamp,
    ) -> Result<(), TaskEnded> {
        self.change(now)?;
        self.state = if questions.is_empty() {
            TaskState::Working
        } else {
            TaskState::InputRequired(questions)
        };
        Ok(())
    }

    /// Keeps answers and notes of the handler.
    ///
    /// # Errors
    /// It has ended.
    pub fn set_call_state(&mut self, recorded: CallState, now: Timestamp) -> Result<(), TaskEnded> {
        self.change(now)?;
        self.recorded = recorded;
        Ok(())
    }

    /// Tells people what it is about; beyond 1,024 characters the text is cut.
    ///
    /// # Errors
    /// It has ended.
    pub fn set_message(&mut self, message: &str, now: Timestamp) -> Result<(), TaskEnded> {
        self.change(now)?;
        self.message = Some(message.chars().take(LONGEST_MESSAGE).collect());
        Ok(())
    }

    /// Ends it. What failed says so in its message.
    ///
    /// # Errors
    /// It has ended before.
    pub fn end(&mut self, outcome: TaskOutcome, now: Timestamp) -> Result<(), TaskEnded> {
        self.change(now)?;
        self.message = match &outcome {
            TaskOutcome::Error(error) => {
                Some(error.message.chars().take(LONGEST_MESSAGE).collect())
            }
            TaskOutcome::Result { json, is_error } if *is_error => Some(first_text(json)),
            TaskOutcome::Result { .. } => self.message.take(),
        };
        self.state = TaskState::Ended(outcome);
        self.recorded = CallState::default();
        Ok(())
    }

    /// Gives it up.
    ///
    /// # Errors
    /// It has ended before.
    pub fn cancel(&mut self, now: Timestamp) -> Result<(), TaskEnded> {
        self.change(now)?;
        self.message = Some("the task was cancelled".to_owned());
        self.state = TaskState::Cancelled;
        self.recorded = CallState::default();
        Ok(())
    }

    /// Keeps it for that much longer.
    pub fn extend(&mut self, span: Duration) {
        self.ttl = self.ttl.map(|ttl| ttl.saturating_add(span));
    }

    fn change(&mut self, now: Timestamp) -> Result<(), TaskEnded> {
        if self.has_ended() {
            return Err(TaskEnded);
        }
        // Clocks may go back; what a task tells does not.
        self.updated = self.updated.max(now);
        Ok(())
    }
}

/// The first text of a failed result, for people.
fn first_text(result: &RawJson) -> String {
    let result: Value = result.decode().unwrap_or_default();
    let mut blocks = result["content"].as_array().into_iter().flatten();
    let text = blocks
        .find(|block| block["type"] == "text")
        .and_then(|block| block["text"].as_str());
    let text = text.unwrap_or("the tool failed");
    text.chars().take(LONGEST_MESSAGE).collect()
}

fn json_length(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |text| text.len())
}
