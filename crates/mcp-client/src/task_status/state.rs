//! The state of a task, from the messages of all revisions.

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson, members};
use mcp_types::TaskStatus;
use serde::Deserialize;

use crate::Error;
use crate::request::{decode, member};

/// Default interval between polls.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// Minimum interval between polls.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum interval between polls.
const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// The state of a task.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskState {
    /// The status.
    pub status: TaskStatus,
    /// The server's description of the status for the user.
    pub message: Option<String>,
    /// Time at which the task was created, as an ISO 8601 timestamp of the server's clock; empty if unknown.
    pub created_at: String,
    /// Time at which the task last changed, in the format of [`created_at`](Self::created_at).
    pub last_updated_at: String,
    /// Time for which the server keeps the task after its creation; `None` means no limit.
    pub ttl: Option<Duration>,
    /// Interval between polls that the server suggests.
    pub poll_interval: Option<Duration>,
}

impl TaskState {
    /// Returns the interval until the next poll.
    pub(crate) fn interval(&self) -> Duration {
        self.poll_interval
            .unwrap_or(DEFAULT_INTERVAL)
            .clamp(MIN_INTERVAL, MAX_INTERVAL)
    }
}

/// A callback that receives each new state of a task.
pub(crate) type OnStatus = Arc<dyn Fn(&TaskState) + Send + Sync>;

/// A task, and the message from which it was read.
pub(crate) struct Snapshot {
    pub(crate) id: String,
    pub(crate) state: TaskState,
    text: RawJson,
}

/// The members of a task that are common to all revisions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireTask {
    task_id: String,
    status: TaskStatus,
    status_message: Option<String>,
    #[serde(default)]
    created_at: String,
    #[serde(default)]
    last_updated_at: String,
    #[serde(alias = "ttlMs")]
    ttl: Option<u64>,
    #[serde(alias = "pollIntervalMs")]
    poll_interval: Option<u64>,
}

impl Snapshot {
    /// Reads a task from the result of `method`.
    ///
    /// # Errors
    /// The text is not a task.
    pub(crate) fn read(method: &str, text: RawJson) -> Result<Self, Error> {
        let wire: WireTask = decode(method, &text)?;
        Ok(Self {
            id: wire.task_id,
            state: TaskState {
                status: wire.status,
                message: wire.status_message,
                created_at: wire.created_at,
                last_updated_at: wire.last_updated_at,
                ttl: wire.ttl.map(Duration::from_millis),
                poll_interval: wire.poll_interval.map(Duration::from_millis),
            },
            text,
        })
    }

    /// Reads a task from the result that creates it. Up to 2025-11-25 the task is a member of the result. Since 2026-07-28 the
    /// result itself is the task.
    ///
    /// # Errors
    /// The text is not a task.
    pub(crate) fn created(method: &str, result: &RawJson) -> Result<Self, Error> {
        let nested = nested_task(result).map(RawJson::copy);
        Self::read(method, nested.unwrap_or_else(|| result.clone()))
    }

    /// Returns the keys and the JSON text of the input requests.
    ///
    /// # Errors
    /// The input requests are not an object.
    pub(crate) fn input_requests(&self) -> Result<Vec<(&str, &str)>, Error> {
        let Some(input_requests) = self.member("inputRequests") else {
            return Ok(Vec::new());
        };
        let all: Result<Vec<_>, _> = members(input_requests).collect();
        all.map_err(|error| Error::protocol(format!("invalid inputRequests of a task: {error}")))
    }

    /// Returns the result, if the task contains it.
    pub(crate) fn result(&self) -> Option<RawJson> {
        self.member("result").map(RawJson::copy)
    }

    /// Returns the error, if the task contains it.
    pub(crate) fn error(&self) -> Option<ErrorObject> {
        mcp_jsonrpc::decode(self.member("error")?).ok()
    }

    fn member(&self, name: &str) -> Option<&str> {
        member(&self.text, name).filter(|text| *text != "null")
    }
}

/// Returns the JSON text of the task in a result that creates a task (up to 2025-11-25).
pub(crate) fn nested_task(result: &RawJson) -> Option<&str> {
    member(result, "task").filter(|text| text.starts_with('{'))
}

#[cfg(test)]
mod tests {
    use mcp_types::method;

    use super::*;

    fn created(text: &str) -> Snapshot {
        Snapshot::created(method::TOOLS_CALL, &RawJson::copy(text)).unwrap()
    }

    #[test]
    fn tasks_of_all_revisions_are_read() {
        let core = created(
            r#"{"task":{"taskId":"t","status":"working","statusMessage":"half","createdAt":"a","lastUpdatedAt":"b","ttl":60000,"pollInterval":250}}"#,
        );
        let extension = created(
            r#"{"resultType":"task","taskId":"t","status":"working","statusMessage":"half","createdAt":"a","lastUpdatedAt":"b","ttlMs":60000,"pollIntervalMs":250}"#,
        );
        assert_eq!(
            (core.id, core.state),
            (extension.id, extension.state.clone())
        );
        assert_eq!(extension.state.ttl, Some(Duration::from_secs(60)));
        assert_eq!(extension.state.interval(), Duration::from_millis(250));
    }

    #[test]
    fn the_poll_interval_of_a_server_is_clamped() {
        let wait = |interval: &str| {
            let text = format!(r#"{{"taskId":"t","status":"working","ttlMs":null{interval}}}"#);
            created(&text).state.interval().as_millis()
        };
        assert_eq!(wait(""), 1_000);
        assert_eq!(wait(r#","pollIntervalMs":null"#), 1_000);
        assert_eq!(wait(r#","pollIntervalMs":0"#), 50);
        assert_eq!(wait(r#","pollIntervalMs":18446744073709551615"#), 60_000);
    }

    #[test]
    fn a_result_that_is_not_a_task_is_an_error() {
        for text in ["{}", r#"{"taskId":7,"status":"working"}"#, r#"{"task":{}}"#] {
            let snapshot = Snapshot::created(method::TOOLS_CALL, &RawJson::copy(text));
            assert!(
                matches!(snapshot, Err(Error::InvalidResult { .. })),
                "{text}"
            );
        }
    }
}
