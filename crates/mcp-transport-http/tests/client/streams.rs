//! Responses as event streams, without failures.

use std::time::Duration;

use mcp_types::method;
use serde_json::json;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

// proves: HTTP-018
#[tokio::test(start_paused = true)]
async fn events_without_a_message_are_ignored() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    let id = seen.id();
    let stream = seen.stream();
    stream
        .raw("\u{FEFF}id: 1\ndata:\n\n: comment\n\n:\n\ndata\n\nid: 2\n\nretry: 3\n\n")
        .await;
    stream
        .raw("event: ping\ndata: this is no JSON\n\nunknown: field\n\ndata:   \n\n")
        .await;
    stream.answer("3", &id, &json!({"ok": true})).await;
    assert_eq!(result(call).await, json!({"ok": true}));
    assert!(pair.notes.is_empty());
}

// proves: HTTP-024
#[tokio::test(start_paused = true)]
async fn messages_before_the_response_are_delivered_in_order() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    let id = seen.id();
    let stream = seen.stream();
    for n in 0..3 {
        let params = json!({"progressToken": 1, "progress": n});
        let progress =
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
        stream.event("", &progress).await;
    }
    let question = json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"});
    stream.event("", &question).await;
    let answer = pair.server.next().await;
    assert_eq!(
        answer.json(),
        json!({"jsonrpc": "2.0", "id": "q", "result": {}})
    );
    answer.accept();
    stream.answer("", &id, &json!({})).await;
    result(call).await;
    for n in 0..3 {
        let ReceivedMessage::Notification(_, Some(params)) = pair.notes.next().await else {
            panic!("no progress");
        };
        assert_eq!(params["progress"], n);
    }
    assert_eq!(
        pair.notes.next().await,
        ReceivedMessage::ServerRequest(method::ROOTS_LIST.to_owned())
    );
}

// proves: HTTP-041
#[tokio::test(start_paused = true)]
async fn several_streams_are_read_at_once() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    let listening = pair.server.expect_get().await.stream();
    let mut calls = Vec::new();
    let mut streams = Vec::new();
    for _ in 0..3 {
        calls.push(pair.call(method::TOOLS_CALL));
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        streams.push((seen.id(), seen.stream()));
    }
    for (n, (_, stream)) in streams.iter().enumerate() {
        let note = json!({"jsonrpc": "2.0", "method": "notifications/n", "params": {"n": n}});
        stream.event("", &note).await;
        let ReceivedMessage::Notification(_, Some(params)) = pair.notes.next().await else {
            panic!("no message was received");
        };
        assert_eq!(params["n"], n);
    }
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    listening.event("", &changed).await;
    let heard = ReceivedMessage::Notification("notifications/tools/list_changed".into(), None);
    assert_eq!(pair.notes.next().await, heard);
    for ((id, stream), call) in streams.into_iter().zip(calls).rev() {
        stream.answer("", &id, &json!({"id": id})).await;
        assert_eq!(result(call).await, json!({"id": id}));
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_on_the_stream_of_another_call_reaches_its_call() {
    let mut pair = Pair::open(quiet()).await;
    let first = pair.call(method::TOOLS_CALL);
    let first_seen = pair.server.expect(method::TOOLS_CALL).await;
    let second = pair.call(method::TOOLS_LIST);
    let second_seen = pair.server.expect(method::TOOLS_LIST).await;
    let (first_id, second_id) = (first_seen.id(), second_seen.id());
    let stream = second_seen.stream();
    stream.answer("", &first_id, &json!({"n": 1})).await;
    assert_eq!(result(first).await, json!({"n": 1}));
    first_seen.abandoned().await;
    stream.answer("", &second_id, &json!({"n": 2})).await;
    assert_eq!(result(second).await, json!({"n": 2}));
    // No call was cancelled: both were answered.
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn messages_after_the_response_are_delivered_without_delaying_it() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    let id = seen.id();
    let stream = seen.stream();
    stream.answer("", &id, &json!({})).await;
    result(call).await;
    let late = json!({"jsonrpc": "2.0", "method": "notifications/late"});
    stream.event("", &late).await;
    assert_eq!(
        pair.notes.next().await,
        ReceivedMessage::Notification("notifications/late".into(), None)
    );
    // The client does not wait for the end of the stream.
    stream.abandoned().await;
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn batches_are_read_in_revisions_with_batches() {
    let (wire, server) = wire();
    let (ear, notes) = ear();
    let pair = Pair::with(http(wire, quiet()), server, (ear.with_batches(), notes)).await;
    let mut pair = pair.opened(None).await;
    for streams in [false, true] {
        let call = pair.call(method::TOOLS_LIST);
        let seen = pair.server.expect(method::TOOLS_LIST).await;
        let batch = json!([
            {"jsonrpc": "2.0", "method": "notifications/first"},
            {"jsonrpc": "2.0", "id": seen.id(), "result": {"in": "batch"}},
            {"jsonrpc": "2.0", "method": "notifications/last"},
        ]);
        if streams {
            seen.stream().event("", &batch).await;
        } else {
            seen.json_body(200, &batch);
        }
        assert_eq!(result(call).await, json!({"in": "batch"}));
        for name in ["notifications/first", "notifications/last"] {
            assert_eq!(
                pair.notes.next().await,
                ReceivedMessage::Notification(name.into(), None)
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn batches_are_rejected_in_revisions_without_batches() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_LIST);
    let seen = pair.server.expect(method::TOOLS_LIST).await;
    let batch = json!([{"jsonrpc": "2.0", "id": seen.id(), "result": {}}]);
    seen.json_body(200, &batch);
    let error = failure(call).await;
    assert!(error.contains("batch"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_handler_affects_nothing_else() {
    let (wire, server) = wire();
    let (ear, notes) = ear();
    let ear = ear.answering(|_, _| panic!("a bug of the host"));
    let mut pair = Pair::with(http(wire, quiet()), server, (ear, notes))
        .await
        .opened(None)
        .await;
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    let id = seen.id();
    let stream = seen.stream();
    stream
        .event("", &json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}))
        .await;
    let answer = pair.server.next().await;
    assert_eq!(answer.json()["id"], 5);
    assert_eq!(answer.json()["error"]["code"], -32603);
    assert!(!answer.json().to_string().contains("bug"));
    answer.accept();
    stream.answer("", &id, &json!({})).await;
    result(call).await;
}
