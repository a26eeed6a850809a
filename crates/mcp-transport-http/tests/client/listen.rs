//! The standalone stream.

use std::time::Duration;

use mcp_types::method;
use serde_json::json;
use tokio::time::Instant;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

fn note(n: u32) -> serde_json::Value {
    json!({"jsonrpc": "2.0", "method": "notifications/n", "params": {"n": n}})
}

fn heard(n: u32) -> ReceivedMessage {
    ReceivedMessage::Notification("notifications/n".into(), Some(json!({"n": n})))
}

// proves: HTTP-031, HTTP-032
#[tokio::test(start_paused = true)]
async fn listening_starts_after_the_handshake_is_complete() {
    let mut pair = Pair::new(quiet_but_listening()).await;
    let opening = spawn(pair.link.request(method::INITIALIZE, Some(initialize())));
    pair.server
        .expect(method::INITIALIZE)
        .await
        .open(Some(SESSION), "2025-11-25");
    opening.await.unwrap().unwrap().unwrap();
    pair.server.receives_nothing_for(HOUR).await;
    pair.notify(method::NOTIFICATIONS_INITIALIZED);
    let seen = pair.server.expect(method::NOTIFICATIONS_INITIALIZED).await;
    pair.server
        .receives_nothing_for(Duration::from_secs(1))
        .await;
    seen.accept();
    let listening = pair.server.expect_get().await;
    assert_eq!(listening.header("accept"), Some("text/event-stream"));
    assert_eq!(listening.header("last-event-id"), None);
    assert_eq!(listening.header("content-type"), None);
    let stream = listening.stream();
    stream.event("", &note(1)).await;
    assert_eq!(pair.notes.next().await, heard(1));
}

#[tokio::test(start_paused = true)]
async fn the_first_call_waits_briefly_for_the_listening_stream() {
    for (answered, lead) in [(true, 0), (false, 3)] {
        let options = quiet_but_listening().with_listen_wait(Duration::from_secs(3));
        let mut pair = Pair::open(options).await;
        let call = pair.call(method::TOOLS_CALL);
        let listening = pair.server.expect_get().await;
        pair.server
            .receives_nothing_for(Duration::from_millis(2_999))
            .await;
        let began = Instant::now();
        let (_stream, _pending) = match answered {
            true => (Some(listening.stream()), None),
            false => (None, Some(listening)),
        };
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        assert!(
            began.elapsed() <= Duration::from_millis(lead),
            "{:?}",
            began.elapsed()
        );
        seen.answer(&json!({}));
        result(call).await;
    }
}

// proves: HTTP-034
#[tokio::test(start_paused = true)]
async fn a_server_without_a_standalone_stream_is_accepted() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    pair.server.expect_get().await.status(405);
    pair.server.receives_nothing_for(HOUR).await;
    pair.headers_of(method::TOOLS_CALL).await;
    pair.server.receives_nothing_for(HOUR).await;
    assert!(pair.notes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_stream_is_resumed() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    let stream = pair.server.expect_get().await.stream();
    stream.event("g/1", &note(1)).await;
    assert_eq!(pair.notes.next().await, heard(1));
    stream.raw("retry: 2000\n\n").await;
    drop(stream);
    let ended = Instant::now();
    let again = pair.server.expect_get().await;
    assert_eq!(ended.elapsed(), Duration::from_secs(2));
    assert_eq!(again.header("last-event-id"), Some("g/1"));
    let stream = again.stream();
    stream.event("g/2", &note(2)).await;
    assert_eq!(pair.notes.next().await, heard(2));
    stream.cut().await;
    let again = pair.server.expect_get().await;
    assert_eq!(again.header("last-event-id"), Some("g/2"));
    again.stream();
}

#[tokio::test(start_paused = true)]
async fn listening_streams_without_events_are_reopened_without_a_limit() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    for _ in 0..100 {
        let stream = pair.server.expect_get().await.stream();
        tokio::time::sleep(Duration::from_secs(60)).await;
        stream.raw(":\n\n").await;
        stream.cut().await;
    }
}

#[tokio::test(start_paused = true)]
async fn listening_pauses_until_a_call_reaches_the_server() {
    let mut pair = Pair::open(
        quiet_but_listening()
            .with_max_reconnects(4)
            .with_max_total_reconnects(100),
    )
    .await;
    // The first attempt and four more.
    for n in 0..5 {
        let seen = pair.server.expect_get().await;
        match n % 3 {
            0 => seen.refuse(),
            1 => seen.status(503),
            _ => drop(seen.stream()),
        }
    }
    pair.server.receives_nothing_for(HOUR).await;
    pair.headers_of(method::PING).await;
    let stream = pair.server.expect_get().await.stream();
    stream.event("", &note(1)).await;
    assert_eq!(pair.notes.next().await, heard(1));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_get_stream_ends_only_listening() {
    for status in [400, 401, 403, 404, 500, 501, 200] {
        let pair = Pair::new(quiet_but_listening()).await;
        // Without a session, a 404 is an ordinary rejection.
        let mut pair = pair.opened(None).await;
        let seen = pair.server.expect_get().await;
        if status == 500 {
            // A server error may be temporary: it is retried a limited number of times.
            seen.status(status);
            for _ in 0..8 {
                pair.server.expect_get().await.status(status);
            }
        } else {
            seen.status(status);
        }
        pair.server.receives_nothing_for(HOUR).await;
        let call = pair.call(method::PING);
        pair.server.expect(method::PING).await.answer(&json!({}));
        result(call).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_not_a_stream_ends_listening() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    pair.server.expect_get().await.json_body(200, &note(1));
    pair.server.receives_nothing_for(HOUR).await;
    pair.headers_of(method::PING).await;
    assert!(pair.notes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_unknown_event_id_restarts_listening() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    let stream = pair.server.expect_get().await.stream();
    stream.event("old", &note(1)).await;
    drop(stream);
    let again = pair.server.expect_get().await;
    assert_eq!(again.header("last-event-id"), Some("old"));
    again.status(400);
    let again = pair.server.expect_get().await;
    assert_eq!(again.header("last-event-id"), None);
    again.stream();
}

#[tokio::test(start_paused = true)]
async fn server_requests_outside_calls_are_answered() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    let stream = pair.server.expect_get().await.stream();
    let question = json!({"jsonrpc": "2.0", "id": 1, "method": "roots/list"});
    stream.event("", &question).await;
    let answer = pair.server.next().await;
    assert_eq!(
        answer.json(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );
    answer.accept();
}

#[tokio::test(start_paused = true)]
async fn a_response_on_the_standalone_stream_reaches_its_call() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    let stream = pair.server.expect_get().await.stream();
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    stream.answer("", &seen.id(), &json!({"n": 1})).await;
    assert_eq!(result(call).await, json!({"n": 1}));
    // A response without a waiting call is ignored.
    stream.answer("", &json!(99), &json!({})).await;
    stream.answer("", &json!("1"), &json!({})).await;
    stream.event("", &note(1)).await;
    assert_eq!(pair.notes.next().await, heard(1));
}

// proves: HTTP-040
#[tokio::test(start_paused = true)]
async fn listening_ends_with_the_connection() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    let stream = pair.server.expect_get().await.stream();
    settle().await;
    let connection = pair.connection.clone();
    let closing = tokio::spawn(async move { connection.close().await });
    stream.abandoned().await;
    pair.server.next().await.status(200);
    closing.await.unwrap().unwrap();
    pair.server.receives_nothing_for(HOUR).await;
}
