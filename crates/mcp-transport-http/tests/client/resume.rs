//! Interrupted streams.

use std::time::Duration;

use mcp_types::method;
use serde_json::json;
use tokio::time::Instant;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

/// A call whose stream has received this event.
macro_rules! streaming {
    ($pair:ident, $method:expr, $event:expr) => {{
        let call = $pair.call($method);
        let seen = $pair.server.expect($method).await;
        let id = seen.id();
        let stream = seen.stream();
        stream.raw($event).await;
        (call, id, stream)
    }};
}

// proves: HTTP-019, HTTP-020, HTTP-022, HTTP-047, HTTP-050
#[tokio::test(start_paused = true)]
async fn a_closed_stream_is_resumed_after_the_retry_delay_of_the_server() {
    let mut pair = Pair::open(quiet()).await;
    let (call, id, stream) = streaming!(pair, method::TOOLS_CALL, "id: s/1\ndata:\n\n");
    let ended = Instant::now();
    stream.raw("retry: 1500\nid: s/2\ndata:\n\n").await;
    drop(stream);

    let again = pair.server.expect_get().await;
    assert_eq!(ended.elapsed(), Duration::from_millis(1_500));
    assert_eq!(again.header("last-event-id"), Some("s/2"));
    assert_eq!(again.header("accept"), Some("text/event-stream"));
    assert_eq!(again.header("mcp-session-id"), Some(SESSION));
    assert!(again.body.is_empty());
    let stream = again.stream();
    let progress =
        json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"n": 1}});
    stream.event("s/3", &progress).await;
    let ended = Instant::now();
    stream.cut().await;

    // The retry delay applies to the stream, not to one connection.
    let again = pair.server.expect_get().await;
    assert_eq!(ended.elapsed(), Duration::from_millis(1_500));
    assert_eq!(again.header("last-event-id"), Some("s/3"));
    again
        .stream()
        .answer("s/4", &id, &json!({"done": true}))
        .await;
    assert_eq!(result(call).await, json!({"done": true}));
    assert!(matches!(
        pair.notes.next().await,
        ReceivedMessage::Notification(..)
    ));
    assert!(pair.notes.is_empty());
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn a_truncated_retry_field_counts_but_its_event_does_not() {
    let mut pair = Pair::open(quiet()).await;
    let (call, id, stream) = streaming!(
        pair,
        method::TOOLS_CALL,
        "id: 1\ndata:\n\nid: 2\nretry: 9000\n"
    );
    let ended = Instant::now();
    stream.cut().await;
    let again = pair.server.expect_get().await;
    assert_eq!(ended.elapsed(), Duration::from_secs(9));
    assert_eq!(again.header("last-event-id"), Some("1"));
    again.stream().answer("", &id, &json!({})).await;
    result(call).await;
}

// proves: HTTP-047
#[tokio::test(start_paused = true)]
async fn a_failed_resume_is_retried_without_repeating_the_request() {
    let mut pair = Pair::open(quiet()).await;
    let (call, id, stream) = streaming!(pair, method::TOOLS_CALL, "id: 1\ndata:\n\n");
    stream.cut().await;
    // Half of 500 ms, 1 s, 2 s and so on.
    let mut expected = Duration::from_millis(250);
    for n in 0..7 {
        let before = Instant::now();
        let again = pair.server.expect_get().await;
        assert_eq!(before.elapsed(), expected, "try {n}");
        assert_eq!(again.header("last-event-id"), Some("1"));
        match n {
            0 => again.refuse(),
            1 => drop(again),
            2 => again.status(503),
            3 => again.status(409),
            4 => again.status(502),
            // No new event: the stream resumes at the same one.
            5 => drop(again.stream()),
            _ => again.stream().answer("", &id, &json!({})).await,
        }
        expected = (expected * 2).min(Duration::from_secs(15));
    }
    result(call).await;
}

#[tokio::test(start_paused = true)]
async fn resume_attempts_without_progress_end_in_an_error() {
    let mut pair = Pair::open(
        quiet()
            .with_max_reconnects(4)
            .with_max_total_reconnects(100),
    )
    .await;
    let (call, _, stream) = streaming!(pair, method::TOOLS_LIST, "id: 1\ndata:\n\n");
    drop(stream);
    for n in 0..4 {
        let again = pair.server.expect_get().await;
        match n % 3 {
            // A stream that sets the retry delay, and a stream that repeats an event.
            0 => again.stream().raw("retry: 10\n\n").await,
            1 => again.stream().raw("id: 1\ndata:\n\n").await,
            _ => drop(again.stream()),
        }
    }
    let error = failure(call).await;
    assert!(error.contains("within 4 reconnects"), "{error}");
    assert!(
        error.contains("ClientOptions::with_max_reconnects"),
        "{error}"
    );
    assert!(error.contains("may have run"), "{error}");
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn resume_attempts_with_progress_are_limited() {
    let mut pair = Pair::open(quiet().with_max_reconnects(3).with_max_total_reconnects(20)).await;
    let (call, _, stream) = streaming!(pair, method::TOOLS_CALL, "retry: 0\nid: 0\ndata:\n\n");
    drop(stream);
    for n in 1..=20 {
        let again = pair.server.expect_get().await;
        again.stream().raw(format!("id: {n}\ndata:\n\n")).await;
    }
    let error = failure(call).await;
    assert!(error.contains("within 20 reconnects"), "{error}");
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_cannot_be_resumed_is_a_clear_error() {
    for (status, text) in [(405, "405"), (400, "400"), (401, "401"), (204, "204")] {
        let mut pair = Pair::open(quiet()).await;
        let (call, _, stream) = streaming!(pair, method::TOOLS_CALL, "id: 1\ndata:\n\n");
        drop(stream);
        pair.server.expect_get().await.status(status);
        let error = failure(call).await;
        assert!(error.contains(text), "{error}");
        assert!(error.contains("tools/call"), "{error}");
        assert!(error.contains("may have run"), "{error}");
        pair.server.receives_nothing_for(HOUR).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_response_without_an_event_id_is_requested_again_if_safe() {
    type Lose = fn(ReceivedRequest);
    let ways: [Lose; 4] = [
        drop,
        |seen| drop(seen.stream()),
        |seen| seen.half(&[("content-type", "application/json")], "{\"jsonrpc\":"),
        // An id that was reset cannot be resumed.
        |seen| {
            let stream = "id: 1\ndata:\n\nid\ndata:\n\n";
            seen.half(&[("content-type", "text/event-stream")], stream);
        },
    ];
    for lose in ways {
        let mut pair = Pair::open(quiet()).await;
        let call = pair.call(method::TOOLS_LIST);
        let first = pair.server.expect(method::TOOLS_LIST).await;
        let first_id = first.id();
        lose(first);
        let second = pair.server.expect(method::TOOLS_LIST).await;
        // Each attempt has a new id.
        assert_ne!(second.id(), first_id);
        second.answer(&json!({"n": 2}));
        assert_eq!(result(call).await, json!({"n": 2}));

        let call = pair.call(method::TOOLS_LIST);
        lose(pair.server.expect(method::TOOLS_LIST).await);
        lose(pair.server.expect(method::TOOLS_LIST).await);
        failure(call).await;

        for name in [method::TOOLS_CALL, "example/unknown"] {
            let call = pair.call(name);
            lose(pair.server.expect(name).await);
            let error = failure(call).await;
            assert!(error.contains(&format!("{name} may have run")), "{error}");
        }
        pair.server.receives_nothing_for(HOUR).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_handshake_is_retried_once_and_its_stream_is_resumed() {
    let mut pair = Pair::new(quiet()).await;
    let opening = spawn(pair.link.request(method::INITIALIZE, Some(initialize())));
    drop(pair.server.expect(method::INITIALIZE).await);
    let seen = pair.server.expect(method::INITIALIZE).await;
    let id = seen.id();
    let headers = [
        ("content-type", "text/event-stream"),
        ("mcp-session-id", "s"),
    ];
    let stream = seen.stream_with(&headers);
    stream.raw("id: 1\ndata:\n\n").await;
    drop(stream);
    let again = pair.server.expect_get().await;
    assert_eq!(again.header("mcp-session-id"), Some("s"));
    again
        .stream()
        .answer("", &id, &json!({"protocolVersion": "2025-11-25"}))
        .await;
    opening.await.unwrap().unwrap().unwrap();
    let headers = pair.headers_of(method::PING).await;
    assert_eq!(headers["mcp-session-id"], "s");
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_that_waits_to_resume_cancels_it() {
    let mut pair = Pair::open(quiet()).await;
    let (call, id, stream) = streaming!(pair, method::TOOLS_CALL, "retry: 60000\nid: 1\ndata:\n\n");
    drop(stream);
    settle().await;
    call.abort();
    let cancelled = pair.server.expect(method::NOTIFICATIONS_CANCELLED).await;
    assert_eq!(cancelled.json()["params"]["requestId"], id);
    cancelled.accept();
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn a_malformed_response_is_an_error_and_is_not_resumed() {
    let broken = [
        "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"a\":}}",
        "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{},\"error\":{\"code\":1,\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{",
        "<html>",
        "\u{0}",
    ];
    for text in broken {
        let mut pair = Pair::open(quiet()).await;
        for json in [true, false] {
            let call = pair.call(method::TOOLS_LIST);
            let seen = pair.server.expect(method::TOOLS_LIST).await;
            let text = text.replace("ID", &seen.id().to_string());
            if json {
                seen.respond(200, &[("content-type", "application/json")], text);
            } else {
                let stream = seen.stream();
                stream.raw(format!("id: 1\ndata: {text}\n\n")).await;
            }
            let error = failure(call).await;
            assert!(error.contains("malformed response"), "{error}");
        }
        pair.server.receives_nothing_for(HOUR).await;
    }
}

#[tokio::test(start_paused = true)]
async fn invalid_events_before_a_response_are_tolerated() {
    let mut pair = Pair::open(quiet()).await;
    let (call, id, stream) = streaming!(pair, method::TOOLS_LIST, "data: hello\n\n");
    stream.answer("", &id, &json!({})).await;
    result(call).await;
}
