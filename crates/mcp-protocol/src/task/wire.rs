//! The formats of tasks in messages.

use std::time::Duration;

use mcp_jsonrpc::ErrorObject;
use mcp_types::{JsonObject, TaskStatus};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Task, TaskOutcome, TaskState};

impl Task {
    /// Returns the status of the task in this message format. If the result has `isError`, a core task has failed, but an
    /// extension task is complete: an extension task fails only with a protocol error.
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

    /// Returns the task as a core task (2025-11-25).
    pub fn to_core(&self) -> mcp_types::Task {
        let status = self.status(TaskForm::Core);
        let [created, updated] = [self.created(), self.updated()].map(|at| at.to_string());
        let ttl = self.ttl().map(millis);
        let mut task = mcp_types::Task::new(self.id(), status, created, updated, ttl);
        task.status_message = self.message().map(str::to_owned);
        task.poll_interval = self.poll_interval().map(millis);
        task
    }

    /// Returns the task as JSON text of the tasks extension (2026-07-28), with its result, error or input requests.
    pub fn to_detailed(&self) -> String {
        self.extension(None, true)
    }

    /// Returns the result that tells the client that an extension task was created, as JSON text on one line. It is sent instead
    /// of the result of the call.
    pub fn to_created(&self) -> String {
        self.extension(Some("task"), false)
    }

    fn extension(&self, kind: Option<&'static str>, detailed: bool) -> String {
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
        // Raw JSON of a handler may contain line breaks as white space; inside strings they are always escaped.
        match text.contains(['\n', '\r']) {
            true => text.replace(['\n', '\r'], " "),
            false => text,
        }
    }
}

/// The format of tasks in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the protocol has two forms")]
pub enum TaskForm {
    /// The core tasks of 2025-11-25.
    Core,
    /// The tasks extension of 2026-07-28.
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

/// Returns the number of whole milliseconds, but at least one, because both formats require positive numbers.
fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX).max(1)
}
