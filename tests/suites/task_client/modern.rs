//! Since 2026-07-28: the server decides, and the task contains everything.

use mcp_types::TaskStatus;
use tokio::time::Instant;

use super::{
    ID, SeenStates, about, accepting, call, client, done, flat, form, polled, question, quiet,
    reply, stateless, working,
};
use crate::prelude::*;

/// Starts a call that is answered with a task.
async fn created(builder: ClientBuilder) -> (PipeEnd, Client, super::Calling) {
    let (mut wire, client) = stateless(builder).await;
    let calling = call(&client);
    let request = wire.next("tools/call").await;
    let capabilities = &request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    let extension = &capabilities["extensions"]["io.modelcontextprotocol/tasks"];
    assert_eq!(*extension, json!({}), "{request}");
    assert!(request["params"]["task"].is_null(), "{request}");
    wire.answer(&request, working()).await;
    (wire, client, calling)
}

async fn get(wire: &mut PipeEnd, status: &str, more: Value) {
    let request = about(wire, "tasks/get").await;
    wire.answer(&request, polled(status, more)).await;
}

// proves: M-TASK-001, M-TASK-004, M-TASK-011, M-TASK-021
#[tokio::test(start_paused = true)]
async fn a_call_needs_one_await_whether_or_not_it_becomes_a_task() {
    let (mut wire, client, calling) = created(client()).await;
    get(&mut wire, "working", json!({})).await;
    get(&mut wire, "completed", json!({ "result": done() })).await;
    assert_eq!(calling.await.unwrap().unwrap().joined_text(), "done");

    let calling = call(&client);
    wire.respond("tools/call", done()).await;
    assert_eq!(calling.await.unwrap().unwrap().joined_text(), "done");
    quiet(&mut wire).await;
}

// proves: M-TASK-019, TASK-021
#[tokio::test(start_paused = true)]
async fn the_last_poll_interval_of_the_server_applies() {
    let start = Instant::now();
    let (mut wire, _client, calling) = created(client()).await;
    let mut gaps = Vec::new();
    let mut last = start;
    for interval in [
        json!(5_000),
        Value::Null,
        json!(1),
        json!(100_000_000_u64),
        json!(1),
    ] {
        let request = about(&mut wire, "tasks/get").await;
        gaps.push(last.elapsed().as_millis());
        last = Instant::now();
        let mut task = polled("working", json!({}));
        task["pollIntervalMs"] = interval;
        wire.answer(&request, task).await;
    }
    get(&mut wire, "completed", json!({ "result": done() })).await;
    gaps.push(last.elapsed().as_millis());
    // The poll interval of the creation, then of each poll, within bounds.
    assert_eq!(gaps, [2_000, 5_000, 1_000, 50, 60_000, 50]);
    assert!(calling.await.unwrap().is_ok());
}

// proves: M-TASK-013, M-TASK-014, M-TASK-030, M-TASK-031, M-TASK-034, M-TASK-036
#[tokio::test(start_paused = true)]
async fn input_requests_of_a_task_are_handled_once() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let builder = client().on_elicit(move |form| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move { form.accept(json!({ "name": form.params.message })) }
    });
    let (mut wire, _client, calling) = created(builder).await;
    let both = json!({ "inputRequests": { "a": question("one"), "b \"x\"": question("two") } });
    get(&mut wire, "input_required", both.clone()).await;
    let update = about(&mut wire, "tasks/update").await;
    let answer = |name: &str| json!({ "action": "accept", "content": { "name": name } });
    let answers = json!({ "a": answer("one"), "b \"x\"": answer("two") });
    assert_eq!(update["params"]["inputResponses"], answers);
    wire.answer(&update, json!({ "resultType": "complete" }))
        .await;
    // The server has not caught up, and then requests one more input.
    get(&mut wire, "input_required", both).await;
    let more = json!({ "inputRequests": { "b \"x\"": question("two"), "c": question("three") } });
    get(&mut wire, "input_required", more).await;
    let update = about(&mut wire, "tasks/update").await;
    let answers = json!({ "c": answer("three") });
    assert_eq!(update["params"]["inputResponses"], answers);
    wire.answer(&update, json!({})).await;
    get(&mut wire, "completed", json!({ "result": done() })).await;
    assert!(calling.await.unwrap().is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_polled_while_a_handler_waits() {
    let go = Arc::new(Notify::new());
    let wait = Arc::clone(&go);
    let builder = client().on_elicit(move |form| {
        let wait = Arc::clone(&wait);
        async move {
            wait.notified().await;
            form.decline()
        }
    });
    let (mut wire, _client, calling) = created(builder).await;
    let asks = |key: &str| json!({ "inputRequests": { key: question("one") } });
    get(&mut wire, "input_required", asks("a")).await;
    // The first request is withdrawn before its response, and another one follows.
    get(&mut wire, "input_required", asks("b")).await;
    get(&mut wire, "input_required", asks("b")).await;
    go.notify_one();
    get(&mut wire, "input_required", asks("b")).await;
    go.notify_one();
    let update = about(&mut wire, "tasks/update").await;
    let answers = json!({ "b": { "action": "decline" } });
    assert_eq!(update["params"]["inputResponses"], answers);
    wire.answer(&update, json!({})).await;
    get(&mut wire, "completed", json!({ "result": done() })).await;
    assert!(calling.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_input_request_without_a_response_fails_the_call_and_the_task() {
    let (mut wire, _client, calling) = created(client()).await;
    let asks = json!({ "inputRequests": { "a": question("one") } });
    get(&mut wire, "input_required", asks).await;
    assert_fails!(calling.await.unwrap(), Error::InputFailed { .. });
    about(&mut wire, "tasks/cancel").await;

    let (mut wire, _client, calling) = created(accepting()).await;
    let asks = json!({ "inputRequests": { "a": question("one") } });
    get(&mut wire, "input_required", asks.clone()).await;
    let update = about(&mut wire, "tasks/update").await;
    wire.refuse(&update, -32602, "no such name").await;
    get(&mut wire, "input_required", asks).await;
    let error = calling.await.unwrap().unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("\"a\"") && text.contains("no such name"),
        "{text}"
    );
    about(&mut wire, "tasks/cancel").await;
}

#[tokio::test(start_paused = true)]
async fn a_task_completes_fails_or_is_cancelled() {
    let (mut wire, client, calling) = created(client()).await;
    let failed = json!({ "isError": true, "content": [{ "type": "text", "text": "no" }] });
    get(&mut wire, "completed", json!({ "result": failed })).await;
    assert!(calling.await.unwrap().unwrap().is_error());

    let again = |client: &Client| call(client);
    let calling = again(&client);
    let request = wire.recv_patiently().await;
    // The task may have ended before the first poll.
    let error = json!({ "error": { "code": -32603, "message": "broken", "data": 7 } });
    wire.answer(&request, flat("task", "failed", error)).await;
    let error = calling.await.unwrap().unwrap_err();
    let refused = error.rejection().unwrap();
    assert_eq!((refused.code.0, &*refused.message), (-32603, "broken"));
    assert_eq!(refused.data, Some(json!(7)));

    let calling = again(&client);
    let request = wire.recv_patiently().await;
    let why = json!({ "statusMessage": "too late" });
    wire.answer(&request, flat("task", "cancelled", why)).await;
    let error = calling.await.unwrap().unwrap_err();
    assert!(matches!(&error, Error::TaskCancelled { task, .. } if task == ID));
    assert_eq!(
        error.to_string(),
        "the task of the call was cancelled: too late"
    );
    quiet(&mut wire).await;
}

#[tokio::test(start_paused = true)]
async fn a_task_that_ended_without_an_outcome_violates_the_protocol() {
    let (mut wire, _client, calling) = created(client()).await;
    get(&mut wire, "completed", json!({})).await;
    assert_fails!(calling.await.unwrap(), Error::Protocol { .. });
}

// proves: M-TASK-039, M-TASK-042, CANC-006, CANC-019
#[tokio::test(start_paused = true)]
async fn dropping_the_call_cancels_the_task() {
    let (mut wire, _client, calling) = created(client()).await;
    get(&mut wire, "working", json!({})).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    calling.abort();
    reply(&mut wire, "tasks/cancel", json!({})).await;
    // Nothing further is requested or cancelled.
    quiet(&mut wire).await;
}

#[tokio::test(start_paused = true)]
async fn the_total_timeout_limits_the_whole_call_and_the_idle_timeout_limits_each_poll() {
    let (mut wire, client) = stateless(client()).await;
    let seen = SeenStates::default();
    let noted = seen.clone();
    let start = Instant::now();
    let second = Duration::from_secs(1);
    let calling = tokio::spawn(async move {
        let call = client
            .call_tool("slow", json!({}))
            .timeouts(mcp_client::Timeouts::new(second * 3, second * 15))
            .on_status(move |state| noted.note(&state.status));
        call.await
    });
    wire.respond("tools/call", working()).await;
    let mut looks = 0;
    loop {
        let request = wire.recv_patiently().await;
        if request["method"] == "tasks/cancel" {
            break;
        }
        looks += 1;
        wire.answer(&request, polled("working", json!({}))).await;
    }
    assert_eq!((looks, start.elapsed()), (7, second * 15));
    assert_fails!(
        calling.await.unwrap(),
        Error::Timeout {
            setting: "Timeouts::total",
            ..
        }
    );
    assert_eq!(seen.take(), [TaskStatus::Working]);
}

// proves: M-TASK-005
#[tokio::test(start_paused = true)]
async fn a_task_as_the_result_of_another_request_is_an_error() {
    let (mut wire, client) = stateless(client()).await;
    let calling = tokio::spawn(async move { client.get_prompt("p").await });
    wire.respond("prompts/get", working()).await;
    assert_fails!(calling.await.unwrap(), Error::Protocol { .. });
}

#[tokio::test(start_paused = true)]
async fn input_requests_may_precede_the_task_under_the_same_keys() {
    let (mut wire, client) = stateless(accepting()).await;
    let calling = call(&client);
    let request = wire.recv_patiently().await;
    let asks = json!({ "resultType": "input_required", "inputRequests": { "a": question("?") } });
    wire.answer(&request, asks).await;
    let retry = wire.recv_patiently().await;
    assert!(
        retry["params"]["inputResponses"]["a"].is_object(),
        "{retry}"
    );
    let asks = json!({ "inputRequests": {
        "a": { "method": "elicitation/create", "params": form("again?") } } });
    wire.answer(&retry, flat("task", "input_required", asks))
        .await;
    let update = about(&mut wire, "tasks/update").await;
    assert!(
        update["params"]["inputResponses"]["a"].is_object(),
        "{update}"
    );
    wire.answer(&update, json!({})).await;
    get(&mut wire, "completed", json!({ "result": done() })).await;
    assert!(calling.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_poll_result_that_is_marked_as_a_task_is_accepted() {
    let (mut wire, _client, calling) = created(client()).await;
    let request = about(&mut wire, "tasks/get").await;
    let ended = json!({ "error": { "code": -32000, "message": "out of stock" } });
    wire.answer(&request, flat("task", "failed", ended)).await;
    assert_eq!(refused(calling.await.unwrap()).message, "out of stock");
}
