//! The record of a task and its state transitions.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson, is_member, members};
use mcp_types::{JsonObject, LoggingLevel, ProgressToken};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{TaskLease, Timestamp, keep};
use crate::budget::tree_bytes;
use crate::modern::{CallState, ClientIdentity};
use crate::{Principal, Revision};

/// Maximum length of a status message in characters; longer messages are clipped.
const MAX_MESSAGE: usize = 1_024;

/// The record of a call that outlives its request.
///
/// A task starts as [`TaskState::Working`], may wait for input any number of times, and ends once. After its end, a task does not
/// change. A durable store writes the record as JSON with serde. Every later version of this crate can read this JSON.
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
    #[serde(default, rename = "recorded")]
    call_state: CallState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lease: Option<TaskLease>,
    version: u64,
}

/// The call of a task, with the data needed to run it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TaskCall {
    /// The method.
    pub method: String,
    /// The name of the tool or other target; empty if the method has no target.
    pub target: String,
    /// The arguments of the tool, or the params of another method: a JSON object.
    #[serde(with = "keep::raw")]
    pub arguments: RawJson,
    /// The progress token of the call, if the client sent one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<ProgressToken>,
    /// The revision of the call.
    #[serde(with = "keep::revision")]
    pub revision: Revision,
    /// The client and its capabilities, shared with the session.
    #[serde(with = "keep::shared", default)]
    pub client: Arc<ClientIdentity>,
    /// The minimum level of log messages that the client wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_level: Option<LoggingLevel>,
    /// Whether the call came from the parent of the process; see
    /// [`RequestOrigin::is_local`](crate::RequestOrigin::is_local).
    #[serde(default)]
    pub local: bool,
    /// The granted scopes; see [`Grant`](crate::Grant).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

impl TaskCall {
    /// Creates a call of `method` on `target`, without data about the client.
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
            client: Arc::default(),
            log_level: None,
            local: false,
            scopes: Vec::new(),
        }
    }
}

/// The state of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskState {
    /// The handler is running.
    Working,
    /// The task waits for responses to these input requests. The object contains the method and params of each request, by key.
    InputRequired(JsonObject),
    /// The call has a result or an error.
    Ended(TaskOutcome),
    /// The task was cancelled.
    Cancelled,
}

/// The outcome of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TaskOutcome {
    /// The result of the call.
    Result {
        /// The result as JSON text.
        #[serde(with = "keep::raw")]
        json: RawJson,
        /// Whether `isError` is set, which some revisions treat as a failure of the task.
        is_error: bool,
    },
    /// The error response of the call.
    Error(ErrorObject),
}

impl TaskOutcome {
    /// Creates a result from its JSON text.
    pub fn of_result(json: RawJson) -> Self {
        let is_error = members(&json)
            .map_while(Result::ok)
            .any(|(key, value)| value == "true" && is_member(key, "isError"));
        Self::Result { json, is_error }
    }

    /// Returns the result of the call.
    ///
    /// # Errors
    /// The error of the call, if the outcome is an error.
    pub fn as_result(&self) -> Result<&RawJson, &ErrorObject> {
        match self {
            Self::Result { json, .. } => Ok(json),
            Self::Error(error) => Err(error),
        }
    }
}

/// The error for an attempt to change a task that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskEnded;

impl fmt::Display for TaskEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task has ended and cannot be changed")
    }
}

impl std::error::Error for TaskEnded {}

impl Task {
    /// Creates a task that starts now. `id` must have at least 128 random bits, so that only the owner knows it. `ttl` is the
    /// time to live, counted from the start. `None` means unlimited.
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
            call_state: CallState::default(),
            lease: None,
            version: 0,
        }
    }

    /// Sets the poll interval for clients.
    #[must_use]
    pub fn with_poll_interval(mut self, poll: Duration) -> Self {
        self.poll = Some(poll);
        self
    }

    /// Returns the task id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the verified principal that owns the task. Other principals may not see it.
    pub fn owner(&self) -> Option<&Principal> {
        self.owner.as_ref()
    }

    /// Returns the call.
    pub fn call(&self) -> &Arc<TaskCall> {
        &self.call
    }

    /// Returns the state.
    pub fn state(&self) -> &TaskState {
        &self.state
    }

    /// Returns the status message.
    pub fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// Returns the time at which the task was created.
    pub fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns the time of the last change.
    pub fn updated(&self) -> Timestamp {
        self.updated
    }

    /// Returns the time to live, counted from the start. `None` means unlimited.
    pub fn ttl(&self) -> Option<Duration> {
        self.ttl
    }

    /// Returns the poll interval for clients.
    pub fn poll_interval(&self) -> Option<Duration> {
        self.poll
    }

    /// Returns the responses and memoized steps of the handler, which are needed to run the handler again.
    pub fn call_state(&self) -> &CallState {
        &self.call_state
    }

    /// Returns the version, which increases with each change; see [`TaskStore::put`](super::TaskStore::put).
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the record with the next version, for implementations of a store.
    #[must_use]
    pub fn next_version(mut self) -> Self {
        self.version += 1;
        self
    }

    /// Returns the time after which the task may be removed; [`Timestamp::MAX`] for never.
    pub fn expires(&self) -> Timestamp {
        self.ttl
            .map_or(Timestamp::MAX, |ttl| self.created.after(ttl))
    }

    /// Returns whether the time to live has passed.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires() <= now
    }

    /// Returns whether the task has ended.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, TaskState::Ended(_) | TaskState::Cancelled)
    }

    /// Returns the input requests that the task waits for.
    pub fn input_requests(&self) -> Option<&JsonObject> {
        match &self.state {
            TaskState::InputRequired(input_requests) => Some(input_requests),
            _ => None,
        }
    }

    /// Returns the approximate memory of the record in bytes, including the client identity.
    pub fn weight(&self) -> usize {
        let state = match &self.state {
            TaskState::InputRequired(input_requests) => tree_bytes(input_requests),
            TaskState::Ended(TaskOutcome::Result { json, .. }) => json.len(),
            TaskState::Ended(TaskOutcome::Error(error)) => tree_bytes(error),
            _ => 0,
        };
        let message = self.message.as_ref().map_or(0, String::len);
        let call = &*self.call;
        let texts = call.method.len() + call.target.len() + call.arguments.len();
        let scopes: usize = call.scopes.iter().map(|scope| scope.len() + 24).sum();
        let owner = self.owner.as_ref().map_or(0, |owner| owner.as_str().len());
        let trees =
            tree_bytes(&*call.client) + tree_bytes(&call.token) + tree_bytes(&self.call_state);
        512 + self.id.len() + owner + texts + scopes + state + message + trees
    }

    /// Sets the open input requests; an empty object means that the handler continues.
    ///
    /// # Errors
    /// The task has already ended.
    pub fn require_input(
        &mut self,
        input_requests: JsonObject,
        now: Timestamp,
    ) -> Result<(), TaskEnded> {
        self.change(now)?;
        self.state = if input_requests.is_empty() {
            TaskState::Working
        } else {
            TaskState::InputRequired(input_requests)
        };
        Ok(())
    }

    /// Sets the responses and memoized steps of the handler.
    ///
    /// # Errors
    /// The task has already ended.
    pub fn set_call_state(&mut self, state: CallState, now: Timestamp) -> Result<(), TaskEnded> {
        self.change(now)?;
        self.call_state = state;
        Ok(())
    }

    /// Sets the status message, clipped to 1,024 characters.
    ///
    /// # Errors
    /// The task has already ended.
    pub fn set_message(&mut self, message: &str, now: Timestamp) -> Result<(), TaskEnded> {
        self.change(now)?;
        self.message = Some(message.chars().take(MAX_MESSAGE).collect());
        Ok(())
    }

    /// Ends the task. The text of an error becomes the status message.
    ///
    /// # Errors
    /// The task has already ended.
    pub fn end(&mut self, outcome: TaskOutcome, now: Timestamp) -> Result<(), TaskEnded> {
        self.change(now)?;
        self.message = match &outcome {
            TaskOutcome::Error(error) => Some(error.message.chars().take(MAX_MESSAGE).collect()),
            TaskOutcome::Result { json, is_error } if *is_error => Some(first_text(json)),
            TaskOutcome::Result { .. } => self.message.take(),
        };
        self.state = TaskState::Ended(outcome);
        self.call_state = CallState::default();
        Ok(())
    }

    /// Cancels the task.
    ///
    /// # Errors
    /// The task has already ended.
    pub fn cancel(&mut self, now: Timestamp) -> Result<(), TaskEnded> {
        self.change(now)?;
        self.message = Some("the task was cancelled".to_owned());
        self.state = TaskState::Cancelled;
        self.call_state = CallState::default();
        Ok(())
    }

    /// Adds `span` to the time to live.
    pub fn extend(&mut self, span: Duration) {
        self.ttl = self.ttl.map(|ttl| ttl.saturating_add(span));
    }

    fn change(&mut self, now: Timestamp) -> Result<(), TaskEnded> {
        if self.has_ended() {
            return Err(TaskEnded);
        }
        // The clock may go back; the reported time does not.
        self.updated = self.updated.max(now);
        Ok(())
    }
}

/// Returns the first text block of a failed result.
fn first_text(result: &RawJson) -> String {
    let result: Value = result.decode().unwrap_or_default();
    let mut blocks = result["content"].as_array().into_iter().flatten();
    let text = blocks
        .find(|block| block["type"] == "text")
        .and_then(|block| block["text"].as_str());
    let text = text.unwrap_or("the tool failed");
    text.chars().take(MAX_MESSAGE).collect()
}
