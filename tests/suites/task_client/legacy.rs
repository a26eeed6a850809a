//! Up to 2025-11-25: the client requests a task and fetches its result.

use mcp_types::TaskStatus;

use super::{
    ID, RELATED, SeenStates, about, accepting, all_of_tasks, call, client, created_task, done,
    form, nested, quiet, reply, start, task_of, with_session,
};
use crate::prelude::*;

/// Calls a tool that only runs as a task, and answers with a task.
async fn created(builder: ClientBuilder) -> (PipeEnd, Client, super::Calling) {
    let (mut wire, client) = with_session(builder, all_of_tasks(), "required").await;
    let calling = call(&client);
    let request = wire.recv_patiently().await;
    assert_eq!(request["params"]["task"], json!({}), "{request}");
    wire.answer(&request, created_task("working")).await;
    (wire, client, calling)
}

async fn get(wire: &mut PipeEnd, status: &str) {
    let request = about(wire, "tasks/get").await;
    wire.answer(&request, nested(status)).await;
}

fn outcome() -> Value {
    let mut result = done();
    result["_meta"] = json!({ RELATED: { "taskId": ID } });
    result
}

// proves: TASK-013, TASK-015, TASK-022, TASK-024, TASK-029, TASK-060, SCHEMA-019
#[tokio::test(start_paused = true)]
async fn a_call_needs_one_await_on_every_revision() {
    let (mut wire, _client, calling) = created(client()).await;
    get(&mut wire, "working").await;
    get(&mut wire, "completed").await;
    reply(&mut wire, "tasks/result", outcome()).await;
    assert_eq!(calling.await.unwrap().unwrap().joined_text(), "done");
    quiet(&mut wire).await;
}

// proves: TASK-023, TASK-044
#[tokio::test(start_paused = true)]
async fn input_requests_of_a_task_arrive_while_its_result_is_awaited() {
    let (mut wire, _client, calling) = created(accepting()).await;
    get(&mut wire, "input_required").await;
    let result = about(&mut wire, "tasks/result").await;
    let mut params = form("who?");
    params["_meta"] = json!({ RELATED: { "taskId": ID } });
    let id = wire.request("elicitation/create", params).await;
    let answer = wire.recv_patiently().await;
    assert_eq!(answer["id"], id);
    assert_eq!(answer["result"]["action"], "accept");
    // The wait for the result is unlimited, and polling continues.
    for _ in 0..60 {
        get(&mut wire, "working").await;
    }
    get(&mut wire, "input_required").await;
    get(&mut wire, "completed").await;
    wire.answer(&result, outcome()).await;
    assert_eq!(calling.await.unwrap().unwrap().joined_text(), "done");
    quiet(&mut wire).await;
}

// proves: TASK-030
#[tokio::test(start_paused = true)]
async fn status_notifications_are_used_but_do_not_replace_polling() {
    let seen = SeenStates::default();
    let noted = seen.clone();
    let (mut wire, client) = with_session(client(), all_of_tasks(), "required").await;
    let calling = tokio::spawn(async move {
        let call = client.call_tool("slow", json!({}));
        call.on_status(move |state| noted.note(&state.status)).await
    });
    wire.respond("tools/call", created_task("working")).await;
    get(&mut wire, "working").await;
    let mut other = nested("failed");
    other["taskId"] = json!("another");
    wire.notify("notifications/tasks/status", other).await;
    wire.notify("notifications/tasks/status", json!({ "taskId": ID }))
        .await;
    wire.notify("notifications/tasks/status", nested("input_required"))
        .await;
    let result = about(&mut wire, "tasks/result").await;
    get(&mut wire, "working").await;
    wire.notify("notifications/tasks/status", nested("completed"))
        .await;
    wire.answer(&result, outcome()).await;
    assert!(calling.await.unwrap().is_ok());
    let told = seen.take();
    let expected = [
        TaskStatus::Working,
        TaskStatus::InputRequired,
        TaskStatus::Working,
    ];
    assert_eq!(told[..3], expected, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_task_fails_its_call() {
    let (mut wire, client, calling) = created(client()).await;
    get(&mut wire, "failed").await;
    let request = about(&mut wire, "tasks/result").await;
    wire.refuse(&request, -32603, "out of paper").await;
    assert_eq!(refused(calling.await.unwrap()).message, "out of paper");

    let calling = call(&client);
    wire.respond("tools/call", created_task("failed")).await;
    let request = about(&mut wire, "tasks/result").await;
    let failure = json!({ "isError": true, "content": [{ "type": "text", "text": "no" }] });
    wire.answer(&request, failure).await;
    assert!(calling.await.unwrap().unwrap().is_error());
    quiet(&mut wire).await;
}

// proves: TASK-073, TASK-074
#[tokio::test(start_paused = true)]
async fn a_cancelled_or_unknown_task_has_no_outcome() {
    let (mut wire, client, calling) = created(client()).await;
    get(&mut wire, "cancelled").await;
    let error = calling.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::TaskCancelled { .. }), "{error}");

    let calling = call(&client);
    wire.respond("tools/call", created_task("working")).await;
    let request = about(&mut wire, "tasks/get").await;
    wire.refuse(&request, -32602, "no such task").await;
    let error = calling.await.unwrap().unwrap_err();
    let lost = matches!(&error, Error::TaskLost { task, reason, .. } if task == ID && reason == "no such task");
    assert!(lost, "{error}");
    quiet(&mut wire).await;
}

// proves: TASK-008, CANC-006, CANC-019
#[tokio::test(start_paused = true)]
async fn dropping_the_call_cancels_the_task_if_the_server_supports_it() {
    let (mut wire, _client, calling) = created(client()).await;
    get(&mut wire, "working").await;
    calling.abort();
    reply(&mut wire, "tasks/cancel", nested("cancelled")).await;
    quiet(&mut wire).await;

    let mut tasks = all_of_tasks();
    tasks["cancel"] = Value::Null;
    let (mut wire, client) = with_session(client(), tasks, "required").await;
    let calling = call(&client);
    wire.respond("tools/call", created_task("working")).await;
    get(&mut wire, "working").await;
    calling.abort();
    quiet(&mut wire).await;
    let starting = start(&client);
    wire.respond("tools/call", created_task("working")).await;
    let task = task_of(starting).await;
    fails_with(task.cancel().await, "tasks.cancel");
    quiet(&mut wire).await;
}

// proves: CANC-006, CANC-019
#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_before_its_task_exists_cancels_the_task_later() {
    let (mut wire, client) = with_session(client(), all_of_tasks(), "required").await;
    let calling = call(&client);
    let request = wire.recv_patiently().await;
    calling.abort();
    // No cancellation is sent either.
    let early = tokio::time::timeout(Duration::from_secs(5), wire.recv_patiently()).await;
    assert!(early.is_err(), "{early:?}");
    wire.answer(&request, created_task("working")).await;
    reply(&mut wire, "tasks/cancel", nested("cancelled")).await;

    // If the server returns a result instead, there is nothing to cancel.
    let calling = call(&client);
    let request = wire.recv_patiently().await;
    calling.abort();
    wire.answer(&request, done()).await;
    quiet(&mut wire).await;
}

// proves: PROG-013
#[tokio::test(start_paused = true)]
async fn progress_uses_the_token_of_the_call_while_the_task_runs() {
    let (sender, mut heard) = tokio::sync::mpsc::channel(8);
    let (mut wire, client) = with_session(client(), all_of_tasks(), "required").await;
    let caller = client.clone();
    let calling = tokio::spawn(async move {
        let call = caller.call_tool("slow", json!({}));
        call.on_progress(move |it| sender.try_send(it.progress).unwrap())
            .await
    });
    let request = wire.recv_patiently().await;
    let token = request["params"]["_meta"]["progressToken"].clone();
    wire.answer(&request, created_task("working")).await;
    for step in 1..4 {
        let progress = json!({ "progressToken": token, "progress": step,
            "_meta": { RELATED: { "taskId": ID } } });
        wire.notify("notifications/progress", progress).await;
        get(&mut wire, "working").await;
        assert_eq!(heard.recv().await, Some(f64::from(step)));
    }
    get(&mut wire, "completed").await;
    reply(&mut wire, "tasks/result", outcome()).await;
    assert!(calling.await.unwrap().is_ok());
    assert!(format!("{client:?}").contains("progress_tokens: 0"));
}

// proves: TASK-018
#[tokio::test(start_paused = true)]
async fn a_server_may_offer_an_immediate_response() {
    let (mut wire, client) = with_session(client(), all_of_tasks(), "required").await;
    let starting = start(&client);
    let request = wire.recv_patiently().await;
    let meta = json!({ "io.modelcontextprotocol/model-immediate-response": "On it." });
    wire.answer(
        &request,
        json!({ "task": nested("working"), "_meta": meta }),
    )
    .await;
    assert_eq!(task_of(starting).await.immediate_response(), Some("On it."));
}

// proves: TASK-025
#[tokio::test(start_paused = true)]
async fn a_lost_result_is_requested_again() {
    let (mut wire, _client, calling) = created(client()).await;
    get(&mut wire, "input_required").await;
    let lost = about(&mut wire, "tasks/result").await;
    get(&mut wire, "completed").await;
    // The first request gets no response.
    let again = about_after_a_cancel(&mut wire, &lost).await;
    wire.answer(&again, outcome()).await;
    assert!(calling.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_call_continues_after_a_failed_result_request_of_its_task() {
    for is_ended_first in [false, true] {
        let (mut wire, _client, calling) = created(client()).await;
        get(&mut wire, "input_required").await;
        let early = about(&mut wire, "tasks/result").await;
        if is_ended_first {
            get(&mut wire, "completed").await;
        }
        wire.refuse(&early, -32603, "the server was restarted")
            .await;
        if !is_ended_first {
            get(&mut wire, "completed").await;
        }
        reply(&mut wire, "tasks/result", outcome()).await;
        assert_eq!(calling.await.unwrap().unwrap().joined_text(), "done");
    }
}

/// Returns the next request for the result; the earlier one is cancelled.
async fn about_after_a_cancel(wire: &mut PipeEnd, lost: &Value) -> Value {
    let start = tokio::time::Instant::now();
    let cancel = wire.next("notifications/cancelled").await;
    assert_eq!(cancel["params"]["requestId"], lost["id"]);
    assert_eq!(start.elapsed(), Duration::from_secs(60));
    about(wire, "tasks/result").await
}
