//! Tasks that the client does not wait for at once, or that another client started.

use mcp_client::{CallStart, KnownVersion, TaskHandle, TaskRef};
use mcp_types::TaskStatus;
use mcp_types::v2026_07_28::{
    ClientCapabilities, GetTaskRequest, GetTaskRequestParams, RequestMeta,
};

use super::{
    ID, STATELESS, SeenStates, about, accepting, all_of_tasks, client, created_task, done, polled,
    question, quiet, reply, start, stateless, task_of, with_session, working,
};
use crate::prelude::*;

/// Starts a call that the server continues as a task.
async fn started(wire: &mut PipeEnd, client: &Client) -> TaskHandle {
    let starting = start(client);
    wire.respond("tools/call", working()).await;
    task_of(starting).await
}

#[tokio::test(start_paused = true)]
async fn a_started_call_is_complete_or_a_task() {
    let (mut wire, client) = stateless(client()).await;
    let task = started(&mut wire, &client).await;
    assert_eq!((task.task_ref().id(), task.task_ref().tool()), (ID, "slow"));
    assert_eq!(task.task_ref().created_at(), "2026-07-28T10:30:00Z");
    assert_eq!(task.task_ref().known_version(), client.known_version());
    quiet(&mut wire).await;

    let starting = start(&client);
    wire.respond("tools/call", done()).await;
    let started = starting.await.unwrap().unwrap();
    assert!(matches!(started, CallStart::Done(result) if result.joined_text() == "done"));
}

// proves: M-TASK-022, TASK-102
#[tokio::test(start_paused = true)]
async fn a_task_is_resumed_from_its_stored_reference() {
    let (mut wire, client) = stateless(client()).await;
    let task = started(&mut wire, &client).await;
    let stored = serde_json::to_string(task.task_ref()).unwrap();
    drop((task, client, wire));

    let ticket: TaskRef = serde_json::from_str(&stored).unwrap();
    let again = accepting().negotiation(Negotiation::Prior(ticket.known_version()));
    let (mut wire, client) = stateless(again).await;
    let seen = SeenStates::default();
    let noted = seen.clone();
    let task = client
        .task(ticket)
        .on_status(move |state| noted.note(&state.status));
    let waiting = tokio::spawn(async move { task.wait().await });
    let request = about(&mut wire, "tasks/get").await;
    let asks = json!({ "inputRequests": { "a": question("who?") } });
    wire.answer(&request, polled("input_required", asks)).await;
    reply(&mut wire, "tasks/update", json!({})).await;
    let request = about(&mut wire, "tasks/get").await;
    let ended = json!({ "result": done() });
    wire.answer(&request, polled("completed", ended)).await;
    assert_eq!(waiting.await.unwrap().unwrap().joined_text(), "done");
    let told = [TaskStatus::InputRequired, TaskStatus::Completed];
    assert_eq!(seen.take(), told);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_handle_does_not_affect_the_task() {
    let (mut wire, client) = stateless(client()).await;
    let task = started(&mut wire, &client).await;
    let waiter = task.clone();
    let waiting = tokio::spawn(async move { waiter.wait().await });
    about(&mut wire, "tasks/get").await;
    waiting.abort();
    drop(task);
    // Only the poll in flight is cancelled.
    wire.next("notifications/cancelled").await;
    quiet(&mut wire).await;
}

// proves: M-TASK-039, M-TASK-041
#[tokio::test(start_paused = true)]
async fn a_task_can_be_polled_and_cancelled() {
    let (mut wire, client) = stateless(client()).await;
    let task = started(&mut wire, &client).await;
    let looker = task.clone();
    let looking = tokio::spawn(async move { looker.status().await });
    let request = about(&mut wire, "tasks/get").await;
    let words = json!({ "statusMessage": "half" });
    wire.answer(&request, polled("working", words)).await;
    let state = looking.await.unwrap().unwrap();
    assert_eq!(state.status, TaskStatus::Working);
    assert_eq!(state.message.as_deref(), Some("half"));

    let canceller = task.clone();
    let cancelling = tokio::spawn(async move { canceller.cancel().await });
    reply(
        &mut wire,
        "tasks/cancel",
        json!({ "resultType": "complete" }),
    )
    .await;
    cancelling.await.unwrap().unwrap();
    // It was too late to cancel, and the result counts.
    let waiter = task.clone();
    let waiting = tokio::spawn(async move { waiter.wait().await });
    let request = about(&mut wire, "tasks/get").await;
    let ended = json!({ "result": done() });
    wire.answer(&request, polled("completed", ended)).await;
    assert_eq!(waiting.await.unwrap().unwrap().joined_text(), "done");

    let looking = tokio::spawn(async move { task.status().await });
    let request = about(&mut wire, "tasks/get").await;
    wire.refuse(&request, -32602, "who?").await;
    assert_fails!(looking.await.unwrap(), Error::TaskLost { .. });
}

#[tokio::test(start_paused = true)]
async fn a_task_that_has_ended_cannot_be_cancelled() {
    let (mut wire, client) = with_session(client(), all_of_tasks(), "required").await;
    let starting = start(&client);
    wire.respond("tools/call", created_task("working")).await;
    let task = task_of(starting).await;
    let cancelling = tokio::spawn(async move { task.cancel().await });
    let request = about(&mut wire, "tasks/cancel").await;
    wire.refuse(&request, -32602, "it has ended").await;
    assert_eq!(refused(cancelling.await.unwrap()).code.0, -32602);
}

#[tokio::test(start_paused = true)]
async fn a_task_reference_is_invalid_on_the_other_kind_of_revision() {
    let (mut wire, client) = stateless(client()).await;
    let mut ticket = serde_json::to_value(started(&mut wire, &client).await.task_ref()).unwrap();
    ticket["server"] = serde_json::to_value(KnownVersion::of(Revision::V2025_11_25)).unwrap();
    let task = client.task(serde_json::from_value(ticket).unwrap());
    fails_with(task.wait().await, "2025-11-25");
    quiet(&mut wire).await;
}

#[tokio::test(start_paused = true)]
async fn task_requests_can_be_sent_directly() {
    let (mut wire, client) = stateless(client()).await;
    let meta = RequestMeta::new("", ClientCapabilities::new());
    let params = GetTaskRequestParams::new(ID, meta);
    let asking = spawned(&client, |client| async move {
        client.request::<GetTaskRequest>(&params).await
    });
    let request = about(&mut wire, "tasks/get").await;
    let meta = &request["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], STATELESS);
    wire.answer(&request, polled("working", json!({}))).await;
    let task = asking.await.unwrap().unwrap().task;
    assert_eq!(task.poll_interval_ms, Some(2_000));
    // The stateless revision has no list of tasks.
    let listed = client.list_tasks().await;
    assert!(
        matches!(listed, Err(Error::Unsupported { .. })),
        "{listed:?}"
    );
    quiet(&mut wire).await;
}

#[tokio::test(start_paused = true)]
async fn debug_output_shortens_task_ids() {
    let (mut wire, client) = stateless(client()).await;
    let task = started(&mut wire, &client).await;
    let shown = format!("{task:?} {:?}", task.task_ref());
    assert!(!shown.contains(ID) && shown.contains("786512e2"), "{shown}");
}
