//! Tasks, where null is a value.

use mcp_types::{
    CreateTaskResult, GetTaskPayloadResult, GetTaskRequestParams, GetTaskResult, Task, TaskStatus,
};

use crate::support::{error_of, survives};

const MEMBERS: &str = r#""taskId":"t","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:40:00Z""#;

// proves: SCHEMA-018, TASK-049
#[test]
fn a_task_without_limit_says_so() {
    let task = Task::new(
        "t",
        TaskStatus::Working,
        "2025-11-25T10:30:00Z",
        "2025-11-25T10:40:00Z",
        None,
    );
    assert_eq!(
        serde_json::to_string(&task).unwrap(),
        format!(r#"{{{MEMBERS},"ttl":null}}"#)
    );
    survives::<Task>(&format!(r#"{{{MEMBERS},"ttl":null}}"#));
    survives::<GetTaskResult>(&format!(
        r#"{{{MEMBERS},"ttl":60000,"pollInterval":5000,"_meta":{{}}}}"#
    ));
    survives::<GetTaskResult>(&format!(r#"{{{MEMBERS},"ttl":null}}"#));
    survives::<CreateTaskResult>(&format!(r#"{{"task":{{{MEMBERS},"ttl":null}}}}"#));
    assert!(error_of::<Task>(&format!("{{{MEMBERS}}}")).contains("missing field `ttl`"));
}

#[test]
fn statuses_are_open() {
    for status in [
        "working",
        "input_required",
        "completed",
        "failed",
        "cancelled",
    ] {
        assert!(!matches!(TaskStatus::from(status), TaskStatus::Unknown(_)));
        survives::<TaskStatus>(&format!("\"{status}\""));
    }
    survives::<TaskStatus>("\"paused\"");
}

#[test]
fn inline_params_carry_meta_too() {
    survives::<GetTaskRequestParams>(r#"{"taskId":"t","_meta":{"a":1}}"#);
}

#[test]
fn the_payload_is_whatever_the_request_answers() {
    survives::<GetTaskPayloadResult>(r#"{"_meta":{"a":1},"content":[],"isError":false}"#);
}
