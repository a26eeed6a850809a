//! Tests of the task record and of the store in memory.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use mcp_jsonrpc::{ErrorObject, RawJson};
use serde_json::{Value, json};

use super::*;
use crate::{Principal, Revision};
use std::time::Duration;

const START: Timestamp = Timestamp::from_millis(1_735_689_600_000);

fn at(seconds: u64) -> Timestamp {
    START.after(Duration::from_secs(seconds))
}

/// Returns the output of a future that must be ready at the first poll.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut cx = Context::from_waker(Waker::noop());
    match pin!(future).poll(&mut cx) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("memory does not wait"),
    }
}

fn call(arguments: &str) -> TaskCall {
    let arguments = RawJson::copy(arguments);
    TaskCall::new("tools/call", "work", arguments, Revision::LATEST)
}

fn task(id: &str) -> Task {
    let ttl = Some(Duration::from_secs(60));
    Task::new(id, None, call("{}"), START, ttl).with_poll_interval(Duration::from_millis(500))
}

fn result(text: &str) -> TaskOutcome {
    TaskOutcome::of_result(RawJson::copy(text))
}

// proves: TASK-036, TASK-037, TASK-038
#[test]
fn a_task_can_require_input_again_before_it_ends() {
    let questions = json!({"k": {"method": "roots/list"}});
    let questions = questions.as_object().cloned().unwrap();
    let mut task = task("t");
    assert_eq!(*task.state(), TaskState::Working);
    task.require_input(questions.clone(), at(1)).unwrap();
    assert_eq!(*task.state(), TaskState::InputRequired(questions));
    task.require_input(Default::default(), at(2)).unwrap();
    assert_eq!(*task.state(), TaskState::Working);
    task.set_message("half way", at(1)).unwrap();
    assert_eq!(task.updated(), at(2), "clocks may go back, tasks do not");
    task.end(result("{}"), at(3)).unwrap();
    assert_eq!(task.updated(), at(3));
}

// Small objects need much more memory than text.
#[test]
fn the_size_of_a_task_includes_the_parsed_description_of_its_client() {
    let light = task("t").weight();
    let objects: Vec<_> = (0..200).map(|n| json!({ "a": n })).collect();
    let client = json!({ "capabilities": { "experimental": { "a": { "b": objects } } } });
    let mut call = call("{}");
    call.client = Arc::new(serde_json::from_value(client).unwrap());
    let heavy = Task::new("t", None, call, START, None).weight();
    assert!(heavy - light > 200 * 500, "{light} {heavy}");
}

// proves: TASK-039
#[test]
fn an_ended_task_does_not_change() {
    type End = fn(&mut Task) -> Result<(), TaskEnded>;
    let ends: [End; 3] = [
        |it| it.end(result("{}"), at(1)),
        |it| it.end(TaskOutcome::Error(ErrorObject::internal("x")), at(1)),
        |it| it.cancel(at(1)),
    ];
    for end in ends {
        let mut task = task("t");
        end(&mut task).unwrap();
        let ended = task.clone();
        assert_eq!(
            task.require_input(Default::default(), at(2)),
            Err(TaskEnded)
        );
        assert_eq!(task.set_message("x", at(2)), Err(TaskEnded));
        assert_eq!(
            task.set_call_state(Default::default(), at(2)),
            Err(TaskEnded)
        );
        assert_eq!(task.end(result("{}"), at(2)), Err(TaskEnded));
        assert_eq!(task.cancel(at(2)), Err(TaskEnded));
        assert_eq!(task, ended);
    }
}

#[test]
fn a_task_record_is_the_same_after_writing_and_reading() {
    let mut task = Task::new(
        "t",
        Some(Principal::new("ann")),
        call(r#"{ "a" : [1, null] }"#),
        START,
        None,
    );
    let read = |task: &Task| -> Task {
        let text = serde_json::to_string(task).unwrap();
        // Some databases convert the JSON, so a record must also be readable from a `Value`.
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::from_value::<Task>(value).unwrap().id(), "t");
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(read(&task), task);
    let questions = json!({"k": {"method": "roots/list"}});
    task.require_input(questions.as_object().cloned().unwrap(), at(1))
        .unwrap();
    assert_eq!(read(&task), task);
    task.end(result(r#"{"content": [], "isError": true}"#), at(2))
        .unwrap();
    assert_eq!(read(&task), task);
}

#[test]
fn a_failed_result_is_a_failure_of_core_tasks_only() {
    for (json, status, message) in [
        (
            r#"{"content":[],"isError":true}"#,
            "failed",
            Some("the tool failed"),
        ),
        (
            r#"{"content":[{"type":"text","text":"no disk"}],"isError":true}"#,
            "failed",
            Some("no disk"),
        ),
        (r#"{"content":[],"isError":false}"#, "completed", None),
        (
            r#"{"content":[],"structuredContent":{"isError":true}}"#,
            "completed",
            None,
        ),
    ] {
        let mut task = task("t");
        task.end(result(json), at(1)).unwrap();
        assert_eq!(task.status(TaskForm::Core).as_str(), status, "{json}");
        assert_eq!(task.status(TaskForm::Extension).as_str(), "completed");
        assert_eq!(task.message(), message, "{json}");
    }
    let mut failed = task("t");
    let error = ErrorObject::internal("broke");
    failed.end(TaskOutcome::Error(error), at(1)).unwrap();
    for form in [TaskForm::Core, TaskForm::Extension] {
        assert_eq!(failed.status(form).as_str(), "failed");
    }
    assert_eq!(failed.message(), Some("broke"));
}

#[test]
fn core_tasks_and_extension_tasks_report_the_same_data() {
    let mut task = task("t");
    assert_eq!(
        serde_json::to_value(task.to_core()).unwrap(),
        json!({
            "taskId": "t", "status": "working", "ttl": 60_000, "pollInterval": 500,
            "createdAt": "2025-01-01T00:00:00.000Z", "lastUpdatedAt": "2025-01-01T00:00:00.000Z"
        })
    );
    let flat = |text: String| serde_json::from_str::<Value>(&text).unwrap();
    let created = json!({
        "resultType": "task", "taskId": "t", "status": "working", "ttlMs": 60_000, "pollIntervalMs": 500,
        "createdAt": "2025-01-01T00:00:00.000Z", "lastUpdatedAt": "2025-01-01T00:00:00.000Z"
    });
    assert_eq!(flat(task.to_created()), created);
    let questions = json!({"k": {"method": "roots/list"}});
    task.require_input(questions.as_object().cloned().unwrap(), at(1))
        .unwrap();
    let detailed = flat(task.to_detailed());
    assert_eq!(detailed["inputRequests"], questions);
    assert_eq!(detailed["resultType"], Value::Null);
    assert_eq!(flat(task.to_created())["inputRequests"], Value::Null);
    task.end(result(r#"{"content":[]}"#), at(2)).unwrap();
    let detailed = flat(task.to_detailed());
    assert_eq!(detailed["result"], json!({"content": []}));
    assert_eq!(detailed["inputRequests"], Value::Null);

    let forever = Task::new("t", None, call("{}"), START, None);
    assert_eq!(
        serde_json::to_value(forever.to_core()).unwrap()["ttl"],
        Value::Null
    );
    assert!(forever.to_detailed().contains(r#""ttlMs":null"#));
}

// proves: M-TASK-008
#[test]
fn the_memory_store_follows_the_contract() {
    now(contract::check(MemoryTaskStore::new)).unwrap();
}

#[test]
fn the_memory_store_rejects_tasks_beyond_its_limits_and_removes_none() {
    let full = |limit: &str| {
        Err(TaskStoreError::Full {
            limit: limit.to_owned(),
        })
    };
    let store = MemoryTaskStore::new()
        .with_max_tasks(3)
        .with_max_tasks_per_owner(2);
    let of = |id: &str, owner: &str| {
        let ttl = Some(Duration::from_secs(60));
        Task::new(id, Some(Principal::new(owner)), call("{}"), START, ttl)
    };
    now(store.create(of("a", "ann"))).unwrap();
    now(store.create(of("b", "ann"))).unwrap();
    assert_eq!(
        now(store.create(of("c", "ann"))),
        full("2 tasks of one owner")
    );
    now(store.create(of("c", "bob"))).unwrap();
    assert_eq!(now(store.create(of("d", "eve"))), full("3 tasks"));
    assert_eq!(store.len(), 3);

    // Creating a task removes the expired tasks.
    let later = Task::new("d", None, call("{}"), at(60), None);
    now(store.create(later)).unwrap();
    assert_eq!(store.len(), 1);

    let store = MemoryTaskStore::new().with_max_bytes(12_288);
    let large = "x".repeat(6_000);
    let heavy = |id: &str| Task::new(id, None, call(&json!(large).to_string()), START, None);
    now(store.create(heavy("a"))).unwrap();
    assert_eq!(now(store.create(heavy("b"))), full("12288 bytes of tasks"));
    let mut grown = heavy("a");
    grown.end(result(&json!(large).to_string()), START).unwrap();
    assert_eq!(
        now(store.put(grown)).map(drop),
        full("12288 bytes of tasks")
    );
    let mut small = heavy("a");
    small.end(result("{}"), START).unwrap();
    now(store.put(small)).unwrap();
    now(store.remove("a")).unwrap();
    now(store.create(heavy("b"))).unwrap();
}
