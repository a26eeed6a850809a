//! Servers that become unreachable while a task runs.

use mcp_client::Timeouts;
use tokio::time::Instant;

use super::{
    ID, STATELESS, about, accepting, call, client, done, flat, polled, question, reply, start,
    stateless, task_of, working,
};
use crate::peer::calling;
use crate::prelude::*;
use crate::scripted::{HttpServer, wired};

const SECOND: Duration = Duration::from_secs(1);

/// A client of a stateless server over HTTP.
async fn over_http(builder: ClientBuilder) -> (HttpServer, Client) {
    let (service, mut server) = wired();
    let transport = HttpTransport::new("http://127.0.0.1:1/mcp")
        .unwrap()
        .service(service);
    let builder = builder.negotiation(Negotiation::Stateless);
    let connecting = tokio::spawn(builder.connect(transport));
    let probe = server.next().await;
    let result = json!({
        "resultType": "complete", "supportedVersions": [STATELESS],
        "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
    });
    probe.answer(result);
    (server, connecting.await.unwrap().unwrap())
}

// proves: M-TASK-020, M-TASK-021, M-TASK-047
#[tokio::test(start_paused = true)]
async fn polling_continues_with_delays_while_the_server_is_unreachable() {
    let (mut server, client) = over_http(client()).await;
    let calling = call(&client);
    let created = server.next().await;
    created.answer(flat("task", "working", json!({ "ttlMs": null })));
    let start = Instant::now();
    let mut gaps = Vec::new();
    for status in [0, 503, 429, 500, 502] {
        let look = server.next().await;
        assert_eq!(look.header("mcp-method"), Some("tasks/get"));
        assert_eq!(look.header("mcp-name"), Some(ID));
        gaps.push(start.elapsed().as_secs());
        match status {
            0 => look.break_off(),
            status => look.status(status),
        }
    }
    let look = server.next().await;
    gaps.push(start.elapsed().as_secs());
    let asks = json!({ "inputRequests": { "a": { "method": "roots/list" } } });
    look.answer(polled("working", asks));
    // The delay doubles while the server is unreachable.
    assert_eq!(gaps, [2, 4, 8, 16, 32, 62]);
    let look = server.next().await;
    assert_eq!(start.elapsed(), SECOND * 64);
    look.answer(polled("completed", json!({ "result": done() })));
    assert_eq!(calling.await.unwrap().unwrap().joined_text(), "done");
}

// proves: M-TASK-047
#[tokio::test(start_paused = true)]
async fn all_requests_about_a_task_name_it_in_a_header() {
    let (mut server, client) = over_http(accepting()).await;
    let starting = start(&client);
    let created = server.next().await;
    assert_eq!(created.header("mcp-name"), Some("slow"));
    created.answer(working());
    let task = task_of(starting).await;
    let waiter = task.clone();
    let waiting = tokio::spawn(async move { waiter.wait().await });
    let look = server.next().await;
    assert_eq!(look.header("mcp-method"), Some("tasks/get"));
    assert_eq!(look.header("mcp-name"), Some(ID));
    let asks = json!({ "inputRequests": { "a": question("who?") } });
    look.answer(polled("input_required", asks));
    let update = server.next().await;
    assert_eq!(update.header("mcp-method"), Some("tasks/update"));
    assert_eq!(update.header("mcp-name"), Some(ID));
    update.answer(json!({ "resultType": "complete" }));
    waiting.abort();
    let cancelling = tokio::spawn(async move { task.cancel().await });
    let cancel = server.next().await;
    assert_eq!(cancel.header("mcp-method"), Some("tasks/cancel"));
    assert_eq!(cancel.header("mcp-name"), Some(ID));
    cancel.answer(json!({ "resultType": "complete" }));
    cancelling.await.unwrap().unwrap();
}

// proves: M-TASK-029, TASK-050
#[tokio::test(start_paused = true)]
async fn an_unreachable_server_is_polled_until_the_task_may_have_expired() {
    let (mut server, client) = over_http(client()).await;
    let start = Instant::now();
    let calling = call(&client);
    let created = server.next().await;
    created.answer(flat("task", "working", json!({ "ttlMs": 45_000 })));
    let answering = tokio::spawn(async move {
        loop {
            server.next().await.break_off();
        }
    });
    assert_fails!(calling.await.unwrap(), Error::TaskLost { .. });
    assert_eq!(start.elapsed(), SECOND * 45);
    answering.abort();
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_has_ended_ends_the_wait() {
    let (mut wire, client) = stateless(client()).await;
    let calling = call(&client);
    wire.respond("tools/call", working()).await;
    about(&mut wire, "tasks/get").await;
    drop(wire);
    let error = calling.await.unwrap().unwrap_err();
    assert!(error.is_closed(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_poll_without_response_is_repeated() {
    let (mut wire, client) = stateless(client()).await;
    let calling = tokio::spawn(async move {
        let call = client.call_tool("slow", json!({}));
        call.timeouts(Timeouts::new(SECOND * 5, SECOND * 600)).await
    });
    wire.respond("tools/call", working()).await;
    about(&mut wire, "tasks/get").await;
    wire.next("notifications/cancelled").await;
    let look = about(&mut wire, "tasks/get").await;
    wire.refuse(&look, -32603, "the store is away").await;
    let look = about(&mut wire, "tasks/get").await;
    let ended: Value = json!({ "result": done() });
    wire.answer(&look, polled("completed", ended)).await;
    assert!(calling.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn input_responses_that_are_rejected_temporarily_are_sent_again() {
    let (mut wire, client) = stateless(accepting()).await;
    let calling = calling(&client, "slow");
    wire.respond("tools/call", working()).await;
    let asks = || json!({ "inputRequests": { "a": question("who?") } });
    reply(&mut wire, "tasks/get", polled("input_required", asks())).await;
    for _ in 0..2 {
        let update = about(&mut wire, "tasks/update").await;
        assert!(update["params"]["inputResponses"]["a"].is_object());
        wire.refuse(&update, -32603, "too many requests").await;
        reply(&mut wire, "tasks/get", polled("input_required", asks())).await;
    }
    reply(
        &mut wire,
        "tasks/update",
        json!({ "resultType": "complete" }),
    )
    .await;
    let look = about(&mut wire, "tasks/get").await;
    let ended = json!({ "result": done() });
    wire.answer(&look, polled("completed", ended)).await;
    assert!(calling.await.unwrap().is_ok());
}
