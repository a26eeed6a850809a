//! Reinitialization after the server has lost the session.

use std::time::Duration;

use mcp_protocol::{Connection, MuxLimits};
use mcp_types::method;
use serde_json::{Value, json};

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);
const NEXT: &str = "session-0815";

/// Responds to the handshake of a new session.
async fn reopen(server: &mut Server) {
    let seen = server.expect(method::INITIALIZE).await;
    assert_eq!(seen.header("mcp-session-id"), None);
    assert_eq!(seen.header("mcp-protocol-version"), None);
    let params: Value = serde_json::from_slice(&initialize()).unwrap();
    assert_eq!(seen.json()["params"], params);
    seen.open(Some(NEXT), "2025-11-25");
    let seen = server.expect(method::NOTIFICATIONS_INITIALIZED).await;
    assert_eq!(seen.header("mcp-session-id"), Some(NEXT));
    assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25"));
    seen.accept();
}

// proves: HTTP-059
#[tokio::test(start_paused = true)]
async fn a_safe_call_is_repeated_in_a_new_session() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_LIST);
    let lost = pair.server.expect(method::TOOLS_LIST).await;
    let lost_id = lost.id();
    lost.status(404);
    reopen(&mut pair.server).await;
    let again = pair.server.expect(method::TOOLS_LIST).await;
    assert_eq!(again.header("mcp-session-id"), Some(NEXT));
    assert_ne!(again.id(), lost_id);
    again.answer(&json!({"n": 1}));
    assert_eq!(result(call).await, json!({"n": 1}));
    let headers = pair.headers_of(method::PING).await;
    assert_eq!(headers["mcp-session-id"], NEXT);
    assert!(pair.notes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_tool_call_is_not_repeated_in_a_new_session() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_CALL);
    // The status decides, whatever the body is.
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    let error = json!({"code": -32001, "message": "Session not found"});
    let id = seen.id();
    seen.json_body(404, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
    reopen(&mut pair.server).await;
    let error = failure(call).await;
    assert!(
        error.contains("had lost the session; a new session is open"),
        "{error}"
    );
    assert!(
        error.contains("tools/call was not repeated, call again"),
        "{error}"
    );
    pair.headers_of(method::TOOLS_CALL).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_lost_during_a_resume_is_reinitialized() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_CALL);
    let stream = pair.server.expect(method::TOOLS_CALL).await.stream();
    stream.raw("id: 1\ndata:\n\n").await;
    drop(stream);
    pair.server.expect_get().await.status(404);
    reopen(&mut pair.server).await;
    let error = failure(call).await;
    assert!(error.contains("it may have run"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_wait_for_one_reinitialization() {
    let mut pair = Pair::open(quiet()).await;
    let mut calls = Vec::new();
    let mut seen = Vec::new();
    for _ in 0..20 {
        calls.push(pair.call(method::TOOLS_LIST));
        seen.push(pair.server.expect(method::TOOLS_LIST).await);
    }
    for seen in seen.drain(10..) {
        seen.status(404);
    }
    let opening = pair.server.expect(method::INITIALIZE).await;
    // More calls fail while the session is being opened; a new call waits.
    for seen in seen {
        seen.status(404);
    }
    calls.push(pair.call(method::TOOLS_LIST));
    pair.server
        .receives_nothing_for(Duration::from_secs(1))
        .await;
    opening.open(Some(NEXT), "2025-11-25");
    pair.server
        .expect(method::NOTIFICATIONS_INITIALIZED)
        .await
        .accept();
    for _ in 0..calls.len() {
        let again = pair.server.expect(method::TOOLS_LIST).await;
        assert_eq!(again.header("mcp-session-id"), Some(NEXT));
        again.answer(&json!({}));
    }
    for call in calls {
        result(call).await;
    }
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_after_reinitialization_uses_the_new_session() {
    let mut pair = Pair::open(quiet()).await;
    let late = pair.call(method::TOOLS_LIST);
    let late_seen = pair.server.expect(method::TOOLS_LIST).await;
    let call = pair.call(method::PING);
    pair.server.expect(method::PING).await.status(404);
    reopen(&mut pair.server).await;
    pair.server.expect(method::PING).await.answer(&json!({}));
    result(call).await;
    late_seen.status(404);
    let again = pair.server.expect(method::TOOLS_LIST).await;
    assert_eq!(again.header("mcp-session-id"), Some(NEXT));
    again.answer(&json!({}));
    result(late).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_loses_two_sessions_fails() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_LIST);
    for _ in 0..2 {
        pair.server.expect(method::TOOLS_LIST).await.status(404);
        reopen(&mut pair.server).await;
    }
    let error = failure(call).await;
    assert!(error.contains("lost the session"), "{error}");
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn level_and_subscriptions_are_restored_before_anything_else() {
    let mut pair = Pair::open(quiet()).await;
    for (name, params) in [
        (method::LOGGING_SET_LEVEL, r#"{"level":"debug"}"#),
        (method::RESOURCES_SUBSCRIBE, r#"{"uri":"a:1"}"#),
        (method::RESOURCES_SUBSCRIBE, r#"{"uri":"a:2"}"#),
        (method::RESOURCES_UNSUBSCRIBE, r#"{"uri":"a:1"}"#),
    ] {
        let call = spawn(pair.link.request(name, Some(params.as_bytes().to_vec())));
        pair.server.expect(name).await.answer(&json!({}));
        result(call).await;
    }
    // A rejected subscription is not a subscription.
    let refused = pair.link.request(
        method::RESOURCES_SUBSCRIBE,
        Some(br#"{"uri":"a:3"}"#.to_vec()),
    );
    let refused = spawn(refused);
    let seen = pair.server.expect(method::RESOURCES_SUBSCRIBE).await;
    let error = json!({"code": -32002, "message": "no"});
    let id = seen.id();
    seen.json_body(200, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
    refused.await.unwrap().unwrap().unwrap_err();

    let call = pair.call(method::TOOLS_LIST);
    pair.server.expect(method::TOOLS_LIST).await.status(404);
    reopen(&mut pair.server).await;
    let level = pair.server.expect(method::LOGGING_SET_LEVEL).await;
    assert_eq!(level.json()["params"], json!({"level": "debug"}));
    assert_eq!(level.header("mcp-session-id"), Some(NEXT));
    // A failure to restore does not end the connection.
    level.status(400);
    let subscription = pair.server.expect(method::RESOURCES_SUBSCRIBE).await;
    assert_eq!(subscription.json()["params"], json!({"uri": "a:2"}));
    subscription.answer(&json!({}));
    pair.server
        .expect(method::TOOLS_LIST)
        .await
        .answer(&json!({}));
    result(call).await;
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn listening_moves_to_the_new_session() {
    // A call notices the loss while the old stream is still open.
    let mut pair = Pair::open(quiet_but_listening()).await;
    let old = pair.server.expect_get().await.stream();
    old.raw("id: 5\ndata:\n\n").await;
    settle().await;
    let call = pair.call(method::PING);
    pair.server.expect(method::PING).await.status(404);
    reopen(&mut pair.server).await;
    let mut both = [pair.server.next().await, pair.server.next().await];
    both.sort_by_key(|seen| seen.head.method.to_string());
    let [again, ping] = both;
    ping.answer(&json!({}));
    result(call).await;
    assert_eq!(again.header("mcp-session-id"), Some(NEXT));
    assert_eq!(again.header("last-event-id"), None);
    old.abandoned().await;

    // The standalone stream notices the loss.
    again.status(404);
    reopen(&mut pair.server).await;
    let stream = pair.server.expect_get().await.stream();
    stream
        .event("", &json!({"jsonrpc": "2.0", "method": "notifications/n"}))
        .await;
    assert_eq!(
        pair.notes.next().await,
        ReceivedMessage::Notification("notifications/n".into(), None)
    );
}

#[tokio::test(start_paused = true)]
async fn a_notification_is_repeated_in_the_new_session() {
    let mut pair = Pair::open(quiet()).await;
    pair.notify(method::NOTIFICATIONS_ROOTS_LIST_CHANGED);
    pair.server
        .expect(method::NOTIFICATIONS_ROOTS_LIST_CHANGED)
        .await
        .status(404);
    reopen(&mut pair.server).await;
    let again = pair
        .server
        .expect(method::NOTIFICATIONS_ROOTS_LIST_CHANGED)
        .await;
    assert_eq!(again.header("mcp-session-id"), Some(NEXT));
    again.accept();
    // Responses and cancellations of the old session are not repeated: the new one does not know
    // the requests.
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    call.abort();
    seen.abandoned().await;
    pair.server
        .expect(method::NOTIFICATIONS_CANCELLED)
        .await
        .status(404);
    reopen(&mut pair.server).await;
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn a_response_to_a_lost_session_causes_reinitialization() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    let stream = pair.server.expect_get().await.stream();
    stream
        .event("", &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        .await;
    pair.server.next().await.status(404);
    reopen(&mut pair.server).await;
    pair.server.expect_get().await.status(405);
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn reinitialization_is_retried_for_a_limited_time() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_LIST);
    pair.server.expect(method::TOOLS_LIST).await.status(404);
    pair.server.expect(method::INITIALIZE).await.refuse();
    drop(pair.server.expect(method::INITIALIZE).await);
    pair.server.expect(method::INITIALIZE).await.status(502);
    // The handshake is repeated as a whole.
    pair.server
        .expect(method::INITIALIZE)
        .await
        .open(Some("s"), "2025-11-25");
    pair.server
        .expect(method::NOTIFICATIONS_INITIALIZED)
        .await
        .status(404);
    reopen(&mut pair.server).await;
    pair.server
        .expect(method::TOOLS_LIST)
        .await
        .answer(&json!({}));
    result(call).await;
}

/// Returns how a connection ends if reinitialization fails.
async fn ends(pair: &mut Pair, play: impl AsyncFnOnce(&mut Server)) -> String {
    let calls = [pair.call(method::TOOLS_LIST), pair.call(method::TOOLS_CALL)];
    for _ in 0..2 {
        pair.server.next().await.status(404);
    }
    play(&mut pair.server).await;
    let reason = pair.connection.closed().await.to_string();
    for call in calls {
        assert_eq!(failure(call).await, reason);
    }
    assert_eq!(failure(pair.call(method::PING)).await, reason);
    assert_eq!(
        pair.notes.next().await,
        ReceivedMessage::Closed(reason.clone())
    );
    reason
}

#[tokio::test(start_paused = true)]
async fn a_new_session_with_another_revision_ends_the_connection() {
    let mut pair = Pair::open(quiet()).await;
    let reason = ends(&mut pair, async |server| {
        let seen = server.expect(method::INITIALIZE).await;
        seen.open(Some(NEXT), "2025-03-26");
    })
    .await;
    // The unused session is ended.
    let end = pair.server.next().await;
    assert_eq!(end.head.method, http::Method::DELETE);
    assert_eq!(end.header("mcp-session-id"), Some(NEXT));
    assert!(
        reason.contains("revision \"2025-03-26\" instead of 2025-11-25"),
        "{reason}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_rejected_handshake_ends_the_connection() {
    for status in [400, 401, 404] {
        let mut pair = Pair::open(quiet()).await;
        let reason = ends(&mut pair, async |server| {
            server.expect(method::INITIALIZE).await.status(status);
        })
        .await;
        assert!(
            reason.contains(&format!("refused initialize: {status}")),
            "{reason}"
        );
        assert!(reason.contains("lost the session"), "{reason}");
    }
    let mut pair = Pair::open(quiet()).await;
    let reason = ends(&mut pair, async |server| {
        let seen = server.expect(method::INITIALIZE).await;
        let error = json!({"code": -32600, "message": "go away"});
        let id = seen.id();
        seen.json_body(200, &json!({"jsonrpc": "2.0", "id": id, "error": error}));
    })
    .await;
    assert!(reason.contains("go away"), "{reason}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_unreachable_ends_the_connection() {
    let mut pair = Pair::open(quiet().with_max_reconnects(3).with_max_total_reconnects(10)).await;
    ends(&mut pair, async |server| {
        for _ in 0..4 {
            server.expect(method::INITIALIZE).await.refuse();
        }
    })
    .await;

    let limit = Duration::from_secs(20);
    let mut pair = Pair::open(quiet().with_reinitialize_timeout(limit)).await;
    let began = tokio::time::Instant::now();
    let mut stuck = None;
    let reason = ends(&mut pair, async |server| {
        stuck = Some(server.expect(method::INITIALIZE).await);
    })
    .await;
    assert_eq!(began.elapsed().as_secs(), 20);
    assert!(
        reason.contains("ClientOptions::with_reinitialize_timeout"),
        "{reason}"
    );
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_a_new_session() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_LIST);
    pair.server.expect(method::TOOLS_LIST).await.status(404);
    let stuck = pair.server.expect(method::INITIALIZE).await;
    Connection::close(&*pair.connection).await.unwrap();
    assert_eq!(failure(call).await, "connection closed by this side");
    stuck.abandoned().await;
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn a_new_session_that_is_not_complete_is_ended_at_the_server() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_LIST);
    pair.server.expect(method::TOOLS_LIST).await.status(404);
    let seen = pair.server.expect(method::INITIALIZE).await;
    seen.open(Some(NEXT), "2025-11-25");
    let stuck = pair.server.expect(method::NOTIFICATIONS_INITIALIZED).await;
    let closing = tokio::spawn(pair.connection.close());
    let end = pair.server.next().await;
    assert_eq!(end.head.method, http::Method::DELETE);
    assert_eq!(end.header("mcp-session-id"), Some(NEXT));
    end.status(200);
    closing.await.unwrap().unwrap();
    failure(call).await;
    stuck.abandoned().await;
}

#[tokio::test(start_paused = true)]
async fn a_reinitialization_counts_against_the_limit_of_calls() {
    let limits = MuxLimits::default().with_outgoing(1);
    let mut pair = Pair::open(quiet().with_limits(limits)).await;
    let call = pair.call(method::TOOLS_LIST);
    pair.server.expect(method::TOOLS_LIST).await.status(404);
    reopen(&mut pair.server).await;
    pair.server
        .expect(method::TOOLS_LIST)
        .await
        .answer(&json!({}));
    result(call).await;
}
