//! Tasks as clients see them.

use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_types::{JsonObject, TaskStatus};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Task, TaskOutcome, TaskState};

impl Task {
    /// Its status in this form: a result with `isError` is a failure up to 2025-11-25, and as good as
    /// any other from then on, where only errors of the protocol are failures.
    ///
    /// Specification: tasks, task execution errors, of both revisions.
    pub fn status(&self, form: TaskForm) -> TaskStatus {
        match &self.state() {
            TaskState::Working => TaskStatus::Working,
            TaskState::InputRequired(_) => TaskStatus::InputRequired,
            TaskState::Cancelled => TaskStatus::Cancelled,
            TaskState::Ended(TaskOutcome::Error(_)) => TaskStatus::Failed,
            TaskState::Ended(TaskOutcome::Result { is_error, .. }) => match form {
                TaskForm::Core if *is_error => TaskStatus::Failed,
                _ => TaskStatus::Completed,
            },
        }
    }

    /// It as 2025-11-25 shows it.
    pub fn to_core(&self) -> mcp_types::Task {
        let status = self.status(TaskForm::Core);
        let [created, updated] = [self.created(), self.updated()].map(|at| at.to_string());
        let ttl = self.ttl().map(millis);
        let mut task = mcp_types::Task::new(self.id(), status, created, updated, ttl);
        task.status_message = self.message().map(str::to_owned);
        task.poll_interval = self.poll_interval().map(millis);
        task
    }

    /// The JSON text of it as 2026-07-28 shows it to who asks: with its result, its error or its questions.
    pub fn to_detailed(&self) -> String {
        self.modern(None, true)
    }

    /// The JSON text, on one line, of the result that tells of its start in 2026-07-28, instead of the result of the call.
    pub fn to_created(&self) -> String {
        self.modern(Some("task"), false)
    }

    fn modern(&self, kind: Option<&'static str>, detailed: bool) -> String {
        let mut flat = Flat {
            result_type: kind,
            task_id: self.id(),
            status: self.status(TaskForm::Extension),
            status_message: self.message(),
            created_at: self.created().to_string(),
            last_updated_at: self.updated().to_string(),
            ttl_ms: self.ttl().map(millis),
            poll_interval_ms: self.poll_interval().map(millis),
            input_requests: None,
            result: None,
            error: None,
        };
        if detailed {
            match self.state() {
                TaskState::InputRequired(questions) => flat.input_requests = Some(questions),
                TaskState::Ended(TaskOutcome::Error(error)) => flat.error = Some(error),
                TaskState::Ended(TaskOutcome::Result { json, .. }) => {
                    flat.result = serde_json::from_str(json).ok();
                }
                TaskState::Working | TaskState::Cancelled => {}
            }
        }
        let text = serde_json::to_string(&flat).unwrap_or_else(|_| "{}".to_owned());
        // What a handler wrote itself may stand on several lines; strings escape their own.
        match text.contains(['\n', '\r']) {
            true => text.replace(['\n', '\r'], " "),
            false => text,
        }
    }
}

/// Which of the two forms of tasks is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum TaskForm {
    /// That of 2025-11-25, part of the protocol.
    Core,
    /// The extension of 2026-07-28.
    Extension,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Flat<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    task_id: &'a str,
    status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<&'a str>,
    created_at: String,
    last_updated_at: String,
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    poll_interval_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<&'a JsonObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ErrorObject>,
}

/// Whole milliseconds; at least one, because both forms want positive numbers.
fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1)
}
