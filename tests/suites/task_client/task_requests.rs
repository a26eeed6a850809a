//! Which calls request a task (2025-11-25).

use mcp_types::{ListTasksRequest, PaginatedRequestParams};

use super::{
    SESSION_BASED, all_of_tasks, call, client, created_task, done, nested, quiet, reply, tools,
    with_session,
};
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(90);

/// Calls a tool for a host that prefers a task.
fn wished(client: &Client) -> super::Calling {
    let client = client.clone();
    tokio::spawn(async move { client.call_tool("slow", json!({})).as_task(TTL).await })
}

/// Returns the `task` member of a call, which is answered with a result.
async fn asks_for(wire: &mut PipeEnd, calling: super::Calling) -> Value {
    let request = wire.next("tools/call").await;
    assert!(request["params"]["_meta"]["task"].is_null(), "{request}");
    wire.answer(&request, done()).await;
    assert_eq!(calling.await.unwrap().unwrap().joined_text(), "done");
    request["params"]["task"].clone()
}

// proves: TASK-010, TASK-012, TASK-013, TASK-016
#[tokio::test(start_paused = true)]
async fn a_tool_declares_whether_its_calls_may_be_tasks() {
    let table = [
        ("", Value::Null, Value::Null),
        ("forbidden", Value::Null, Value::Null),
        ("later", Value::Null, Value::Null),
        ("optional", Value::Null, json!({ "ttl": 90_000 })),
        ("required", json!({}), json!({ "ttl": 90_000 })),
    ];
    for (support, plain, wish) in table {
        let (mut wire, client) = with_session(client(), all_of_tasks(), support).await;
        assert_eq!(asks_for(&mut wire, call(&client)).await, plain, "{support}");
        let calling = wished(&client);
        assert_eq!(asks_for(&mut wire, calling).await, wish, "{support}");
    }
}

// proves: TASK-004, TASK-005, TASK-006, TASK-009
#[tokio::test(start_paused = true)]
async fn no_task_is_requested_if_the_server_declares_none_for_calls() {
    let without = [
        Value::Null,
        json!({}),
        json!({ "requests": {} }),
        json!({ "requests": { "tools": {} }, "list": {}, "cancel": {} }),
    ];
    for tasks in without {
        let (mut wire, client) = with_session(client(), tasks.clone(), "required").await;
        let calling = wished(&client);
        assert_eq!(asks_for(&mut wire, calling).await, Value::Null, "{tasks}");
    }
}

#[tokio::test(start_paused = true)]
async fn tools_are_listed_before_the_first_call_of_an_unlisted_tool() {
    let capabilities = json!({ "tools": {}, "tasks": all_of_tasks() });
    let (mut wire, client) = PipeEnd::accept(client(), SESSION_BASED, capabilities).await;
    // Some servers answer a plain call of such a tool with a failed result.
    let calling = call(&client);
    wire.respond("tools/list", tools("required")).await;
    assert_eq!(asks_for(&mut wire, calling).await, json!({}));
    assert_eq!(asks_for(&mut wire, call(&client)).await, json!({}));

    // An unlisted tool is called directly; a rejection makes the client list the tools again.
    let capabilities = json!({ "tools": {}, "tasks": all_of_tasks() });
    let (mut wire, client) = PipeEnd::accept(super::client(), SESSION_BASED, capabilities).await;
    let calling = call(&client);
    let request = wire.expect("tools/list").await;
    wire.refuse(&request, -32603, "not now").await;
    assert_eq!(asks_for(&mut wire, calling).await, Value::Null);
    let calling = call(&client);
    wire.respond("tools/list", json!({ "tools": [] })).await;
    let request = wire.recv_patiently().await;
    assert!(request["params"]["task"].is_null(), "{request}");
    wire.refuse(&request, -32601, "as a task only").await;
    wire.respond("tools/list", tools("required")).await;
    assert_eq!(asks_for(&mut wire, calling).await, json!({}));

    let capabilities = json!({ "tools": {}, "tasks": all_of_tasks() });
    let (mut wire, client) = PipeEnd::accept(super::client(), SESSION_BASED, capabilities).await;
    let calling = wished(&client);
    wire.respond("tools/list", tools("optional")).await;
    assert_eq!(asks_for(&mut wire, calling).await, json!({ "ttl": 90_000 }));
    // A rejection for another reason is returned.
    let calling = call(&client);
    let request = wire.recv_patiently().await;
    wire.refuse(&request, -32601, "no tools today").await;
    assert_eq!(refused(calling.await.unwrap()).message, "no tools today");
    quiet(&mut wire).await;
}

// proves: TASK-032, TASK-078
#[tokio::test(start_paused = true)]
async fn a_call_that_the_server_rejects_without_a_task_is_sent_again_as_a_task() {
    let (mut wire, client) = with_session(client(), all_of_tasks(), "optional").await;
    let calling = call(&client);
    let request = wire.recv_patiently().await;
    wire.refuse(&request, -32600, "tasks only").await;
    let request = wire.recv_patiently().await;
    assert_eq!(request["params"]["task"], json!({}));
    wire.answer(&request, created_task("completed")).await;
    reply(&mut wire, "tasks/result", done()).await;
    assert!(calling.await.unwrap().is_ok());
}

// proves: TASK-007, TASK-067
#[tokio::test(start_paused = true)]
async fn tasks_are_listed_only_if_the_server_offers_the_list() {
    let (mut wire, client) = with_session(client(), all_of_tasks(), "optional").await;
    let listing = spawned(&client, |client| async move { client.list_tasks().await });
    let request = wire.expect("tasks/list").await;
    let cursor = "\u{0}b64==\"";
    wire.answer(
        &request,
        json!({ "tasks": [nested("working")], "nextCursor": cursor }),
    )
    .await;
    let request = wire.expect("tasks/list").await;
    assert_eq!(request["params"]["cursor"], cursor);
    wire.answer(&request, json!({ "tasks": [nested("failed")] }))
        .await;
    assert_eq!(listing.await.unwrap().unwrap().len(), 2);

    let mut tasks = all_of_tasks();
    tasks["list"] = Value::Null;
    let (mut wire, client) = with_session(super::client(), tasks, "optional").await;
    let listed = client.list_tasks().await;
    assert!(
        matches!(listed, Err(Error::Unsupported { .. })),
        "{listed:?}"
    );
    let params = PaginatedRequestParams::default();
    let listed = client.request::<ListTasksRequest>(&params).await;
    assert!(
        matches!(listed, Err(Error::Unsupported { .. })),
        "{listed:?}"
    );
    quiet(&mut wire).await;
}
