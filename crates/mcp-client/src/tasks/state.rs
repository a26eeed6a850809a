//! How a task stands, read from the wire of either era.

use std::sync::Arc;
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, RawJson, members};
use mcp_types::TaskStatus;
use serde::Deserialize;

use crate::Error;
use crate::request::decode;

/// The wait between polls where the server does not say.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
/// The least wait between polls, whatever the server says.
const MIN_INTERVAL: Duration = Duration::from_millis(50);
/// The longest.
const MAX_INTERVAL: Duration = Duration::from_secs(60);

/// How a task stands.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskState {
    /// How far it has come.
    pub status: TaskStatus,
    /// A sentence on the status, for people; the server's wire.
    pub message: Option<String>,
    /// When it was created, as an ISO 8601 timestamp of the server's clock; empty if the server
    /// does not say.
    pub created_at: String,
    /// When it last changed, likewise.
    pub last_updated_at: String,
    /// How long the server keeps it after its creation; `None` is without limit.
    pub ttl: Option<Duration>,
    /// How long the server would like its client to wait between two looks at it.
    pub poll_interval: Option<Duration>,
}

impl TaskState {
    /// How long to wait before the next look.
    pub(super) fn interval(&self) -> Duration {
        self.poll_interval
            .unwrap_or(DEFAULT_INTERVAL)
            .clamp(MIN_INTERVAL, MAX_INTERVAL)
    }
}

/// Receives each new state of a task.
pub(crate) type OnStatus = Arc<dyn Fn(&TaskState) + Send + Sync>;

/// A task, and what came with it.
pub(super) struct Snapshot {
    pub(super) id: String,
    pub(super) state: TaskState,
    text: RawJson,
}

/// The members of both eras.
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
    /// # Errors
    /// The text, which came in answer to the method, is no task.
    pub(super) fn read(method: &'static str, text: RawJson) -> Result<Self, Error> {
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

    /// A task as the result that creates it has it: nested up to 2025-11-25, flat since.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(super) fn created(method: &'static str, result: &RawJson) -> Result<Self, Error> {
        let nested = nested_task(result).map(RawJson::copy);
        Self::read(method, nested.unwrap_or_else(|| result.clone()))
    }

    /// What the task asks, by key, as JSON text.
    ///
    /// # Errors
    /// It is no object.
    pub(super) fn input_requests(&self) -> Result<Vec<(&str, &str)>, Error> {
        let Some(input_requests) = self.member("inputRequests") else {
            return Ok(Vec::new());
        };
        let all: Result<Vec<_>, _> = members(input_requests).collect();
        all.map_err(|error| {
            Error::Protocol(format!("the input_requests of a task are wrong: {error}"))
        })
    }

    /// What the task has come to, where that stands in the task itself.
    pub(super) fn result(&self) -> Option<RawJson> {
        self.member("result").map(RawJson::copy)
    }

    /// Why it failed, likewise.
    pub(super) fn error(&self) -> Option<ErrorObject> {
        mcp_jsonrpc::decode(self.member("error")?).ok()
    }

    fn member(&self, name: &str) -> Option<&str> {
        member(&self.text, name).filter(|text| *text != "null")
    }
}

/// The task inside of a result that creates one, up to 2025-11-25.
pub(crate) fn nested_task(result: &RawJson) -> Option<&str> {
    member(result, "task").filter(|text| text.starts_with('{'))
}

fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut members = members(text).map_while(Result::ok);
    let found = members.find(|(key, _)| *key == name);
    found.map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use mcp_types::method;

    use super::*;

    fn created(text: &str) -> Snapshot {
        Snapshot::created(method::TOOLS_CALL, &RawJson::copy(text)).unwrap()
    }

    #[test]
    fn both_eras_say_the_same_in_other_wire() {
        let legacy = created(
            r#"{"task":{"taskId":"t","status":"working","statusMessage":"half","createdAt":"a","lastUpdatedAt":"b","ttl":60000,"pollInterval":250}}"#,
        );
        let modern = created(
            r#"{"resultType":"task","taskId":"t","status":"working","statusMessage":"half","createdAt":"a","lastUpdatedAt":"b","ttlMs":60000,"pollIntervalMs":250}"#,
        );
        assert_eq!((legacy.id, legacy.state), (modern.id, modern.state.clone()));
        assert_eq!(modern.state.ttl, Some(Duration::from_secs(60)));
        assert_eq!(modern.state.interval(), Duration::from_millis(250));
    }

    #[test]
    fn no_server_makes_its_client_poll_without_a_pause_or_never() {
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
    fn what_is_no_task_is_an_error() {
        for text in ["{}", r#"{"taskId":7,"status":"working"}"#, r#"{"task":{}}"#] {
            let snapshot = Snapshot::created(method::TOOLS_CALL, &RawJson::copy(text));
            assert!(
                matches!(snapshot, Err(Error::InvalidResult { .. })),
                "{text}"
            );
        }
    }
}
