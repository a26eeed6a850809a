//! Tasks, in which null is a value.

use mcp_types::v2026_07_28 as modern;
use mcp_types::{
    CreateTaskResult, GetTaskPayloadResult, GetTaskRequestParams, GetTaskResult, Meta,
    Notification, Request, Task, TaskStatus, method,
};

use serde_json::json;

use crate::support::{error_of, survives};

const MEMBERS: &str = r#""taskId":"t","status":"working","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:40:00Z""#;

// proves: SCHEMA-018, TASK-049
#[test]
fn a_task_without_a_ttl_has_null() {
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
fn unknown_statuses_of_tasks_are_kept() {
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
fn the_params_of_a_task_request_keep_their_meta() {
    survives::<GetTaskRequestParams>(r#"{"taskId":"t","_meta":{"a":1}}"#);
}

#[test]
fn the_result_of_a_task_keeps_all_members_of_the_request_result() {
    survives::<GetTaskPayloadResult>(r#"{"_meta":{"a":1},"content":[],"isError":false}"#);
}

/// A flat task with these members at its end.
fn flat(status: &str, rest: &str) -> String {
    format!(
        r#"{{"taskId":"t","status":"{status}","createdAt":"2026-07-28T10:30:00Z","lastUpdatedAt":"2026-07-28T10:40:00Z","ttlMs":null{rest}}}"#
    )
}

/// The text with this result type in front.
fn typed(kind: &str, text: &str) -> String {
    format!(r#"{{"resultType":"{kind}",{}"#, &text[1..])
}

#[test]
fn a_task_of_the_extension_keeps_the_members_of_its_status() {
    for text in [
        flat(
            "working",
            r#","pollIntervalMs":5000,"statusMessage":"half""#,
        ),
        flat(
            "input_required",
            r#","inputRequests":{"where":{"method":"roots/list"}}"#,
        ),
        flat("completed", r#","result":{"content":[],"isError":true}"#),
        flat("failed", r#","error":{"code":-32603,"message":"broken"}"#),
        flat("cancelled", r#","_meta":{"a":1}"#),
        flat("paused", ""),
    ] {
        survives::<modern::Task>(&text);
        survives::<modern::GetTaskResult>(&typed("complete", &text));
    }
    let unsaid = flat("working", "").replace(r#","ttlMs":null"#, "");
    assert!(error_of::<modern::Task>(&unsaid).contains("missing field `ttlMs`"));
    // Members that a JSON tree would round or sort are kept as written.
    let exact = flat(
        "completed",
        r#","result":{"z":12345678901234567890123,"a":1.0}"#,
    );
    let task: modern::Task = serde_json::from_str(&exact).unwrap();
    assert_eq!(serde_json::to_string(&task).unwrap(), exact);
    let got = modern::GetTaskResult::new(task);
    assert_eq!(
        serde_json::to_string(&got).unwrap(),
        typed("complete", &exact)
    );
}

#[test]
fn a_created_task_has_its_result_type() {
    let text = flat("working", "");
    survives::<modern::CreateTaskResult>(&typed("task", &text));
    for other in [text.clone(), typed("complete", &text)] {
        let error = error_of::<modern::CreateTaskResult>(&other);
        assert!(error.contains("is `task`"), "{error}");
    }
    // Decoding from a JSON tree works too: a client has one for a result it did not expect.
    let tree: serde_json::Value =
        serde_json::from_str(&typed("task", &flat("completed", r#","result":{"x":1}"#))).unwrap();
    let created: modern::CreateTaskResult = serde_json::from_value(tree).unwrap();
    assert_eq!(created.task.result.unwrap().get(), r#"{"x":1}"#);
    // Published examples of failed tasks have the wrong result type; they are read anyway.
    let got: modern::GetTaskResult =
        serde_json::from_str(&typed("task", &flat("failed", ""))).unwrap();
    assert_eq!(got.task.status, TaskStatus::Failed);
}

#[test]
fn the_tasks_extension_has_separate_methods_and_a_filter_for_task_ids() {
    let meta = modern::RequestMeta::new(
        "2026-07-28",
        modern::ClientCapabilities::new().with_extensions(modern::tasks_extension()),
    );
    let mut answers = modern::InputResponses::new();
    answers.insert("k".to_owned(), modern::ElicitResult::new("decline").into());
    let params = modern::UpdateTaskRequestParams::new("t", answers, meta);
    assert_eq!(
        serde_json::to_value(&params).unwrap(),
        json!({
            "taskId": "t",
            "inputResponses": { "k": { "action": "decline" } },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {
                    "extensions": { "io.modelcontextprotocol/tasks": {} },
                },
            },
        })
    );
    assert_eq!(modern::UpdateTaskRequest::METHOD, "tasks/update");
    assert_eq!(modern::TaskNotification::METHOD, "notifications/tasks");
    assert_eq!(method::TASKS_UPDATE, modern::UpdateTaskRequest::METHOD);

    let filter = modern::SubscriptionFilter::new().with_task_ids(["a", "b"]);
    let text = serde_json::to_string(&filter).unwrap();
    assert_eq!(text, r#"{"taskIds":["a","b"]}"#);
    let filter: modern::SubscriptionFilter =
        serde_json::from_str(r#"{"taskIds":["a",7]}"#).unwrap();
    assert_eq!(filter.task_ids(), Some(vec!["a"]));
    assert_eq!(modern::SubscriptionFilter::new().task_ids(), None);
}

#[test]
fn three_states_are_final() {
    let ends = [
        "working",
        "input_required",
        "completed",
        "failed",
        "cancelled",
        "paused",
    ]
    .map(|status| TaskStatus::from(status).is_final());
    assert_eq!(ends, [false, false, true, true, true, false]);
}

#[test]
fn a_server_may_offer_an_immediate_response() {
    let text = r#"{"io.modelcontextprotocol/model-immediate-response":"Working on it."}"#;
    let meta: Meta = serde_json::from_str(text).unwrap();
    assert_eq!(meta.model_immediate_response(), Some("Working on it."));
    assert_eq!(Meta::new().model_immediate_response(), None);
}
