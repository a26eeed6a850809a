//! Sessions that are lost in a row, or reported as lost in another way than with 404, and the cause in
//! the error of a call that has no response.

use std::time::Duration;

use mcp_protocol::{Extras, SentId};
use mcp_types::method;
use serde_json::json;
use tokio::time::Instant;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

/// Responds to the handshake of a new session.
async fn reopen(server: &mut Server) {
    let seen = server.expect(method::INITIALIZE).await;
    seen.open(Some("next"), "2025-11-25");
    let seen = server.expect(method::NOTIFICATIONS_INITIALIZED).await;
    seen.accept();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_get_with_404_has_no_stream() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    pair.server.expect_get().await.status(404);
    pair.server.receives_nothing_for(HOUR).await;
    pair.headers_of(method::TOOLS_CALL).await;
    // A call decides whether the session is lost.
    let call = pair.call(method::TOOLS_LIST);
    pair.server.expect(method::TOOLS_LIST).await.status(404);
    reopen(&mut pair.server).await;
    let mut seen = [pair.server.next().await, pair.server.next().await];
    seen.sort_by_key(|seen| seen.head.method.to_string());
    let [get, again] = seen;
    get.status(404);
    again.answer(&json!({}));
    result(call).await;
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn sessions_that_are_lost_in_a_row_end_the_connection_with_the_cause() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    let stream = pair.server.expect_get().await.stream();
    settle().await;
    pair.headers_of(method::PING).await;
    stream.cut().await;
    let began = Instant::now();
    let mut sessions = 0;
    // The first loss is of a session that has worked.
    while let Some(seen) = next_until_closed(&mut pair).await {
        match (seen.head.method.as_str(), seen.body.is_empty()) {
            ("GET", _) => seen.status(404),
            ("DELETE", _) => seen.status(200),
            _ if seen.json()["method"] == method::INITIALIZE => {
                sessions += 1;
                assert!(sessions < 20, "the client opens sessions without a limit");
                seen.open(Some("next"), "2025-11-25");
            }
            _ => seen.accept(),
        }
    }
    assert_eq!(sessions, 9);
    assert!(began.elapsed() > Duration::from_secs(10), "{began:?}");
    let reason = pair.connection.closed().await.to_string();
    assert!(reason.contains("lost 9 sessions in a row"), "{reason}");
    assert!(reason.contains("does not keep sessions"), "{reason}");
}

async fn next_until_closed(pair: &mut Pair) -> Option<ReceivedRequest> {
    tokio::select! {
        seen = pair.server.next() => Some(seen),
        _ = pair.connection.closed() => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_has_worked_can_be_reported_lost_with_other_statuses() {
    let error = |text: &str| json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32000, "message": text}});
    for (status, text) in [
        (400, "Bad Request: No valid session ID provided"),
        (400, "Bad Request: Server not initialized"),
        (410, "Gone"),
        (500, "Session not found"),
        (401, "unknown session"),
    ] {
        let mut pair = Pair::open(quiet()).await;
        pair.headers_of(method::PING).await;
        let call = pair.call(method::TOOLS_LIST);
        let seen = pair.server.expect(method::TOOLS_LIST).await;
        seen.json_body(status, &error(text));
        reopen(&mut pair.server).await;
        let again = pair.server.expect(method::TOOLS_LIST).await;
        assert_eq!(again.header("mcp-session-id"), Some("next"), "{text}");
        // Once: the new session has not worked yet.
        again.json_body(status, &error(text));
        let error = failure(call).await;
        assert!(error.contains(&status.to_string()), "{error}");
        pair.server.receives_nothing_for(HOUR).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_call_can_report_a_lost_session() {
    let mut pair = Pair::open(quiet()).await;
    pair.headers_of(method::PING).await;
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    let body = json!({"jsonrpc": "2.0", "id": seen.id(), "error": {"code": -32001, "message": "Session not found"}});
    seen.json_body(200, &body);
    reopen(&mut pair.server).await;
    let error = failure(call).await;
    assert!(error.contains("a new session is open"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn other_error_responses_are_not_treated_as_lost_sessions() {
    for (status, text) in [
        (400, "the argument is invalid"),
        (400, "not your session"),
        (403, "no valid session"),
        (500, "panic"),
    ] {
        let mut pair = Pair::open(quiet()).await;
        pair.headers_of(method::PING).await;
        let call = pair.call(method::TOOLS_LIST);
        let seen = pair.server.expect(method::TOOLS_LIST).await;
        seen.respond(status, &[], text);
        failure(call).await;
        pair.server.receives_nothing_for(HOUR).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_reason_for_a_missing_response_is_known_after_a_call_is_dropped() {
    // No session can be opened.
    let mut pair = Pair::open(quiet()).await;
    let sent = SentId::new();
    let request = |pair: &Pair| {
        let extras = Extras::of_id(sent.clone());
        spawn(
            pair.link
                .request_with(method::TOOLS_LIST.into(), None, extras),
        )
    };
    let call = request(&pair);
    pair.server.expect(method::TOOLS_LIST).await.status(404);
    pair.server.expect(method::INITIALIZE).await.status(503);
    let stuck = pair.server.expect(method::INITIALIZE).await;
    call.abort();
    settle().await;
    let problem = sent.problem().unwrap();
    assert!(
        problem.contains("the server has lost the session"),
        "{problem}"
    );
    assert!(problem.contains("503"), "{problem}");
    drop(stuck);

    // A stream is not resumed.
    let mut pair = Pair::open(quiet()).await;
    let call = request(&pair);
    let stream = pair.server.expect(method::TOOLS_LIST).await.stream();
    stream.raw("id: 1\ndata:\n\n").await;
    drop(stream);
    for _ in 0..2 {
        pair.server.expect_get().await.status(500);
    }
    let stuck = pair.server.expect_get().await;
    call.abort();
    settle().await;
    let problem = sent.problem().unwrap();
    assert!(
        problem.contains("the stream of the call broke and could not be resumed"),
        "{problem}"
    );
    assert!(problem.contains("500"), "{problem}");
    drop(stuck);

    // A message was discarded.
    let mut pair = Pair::open(quiet()).await;
    let call = request(&pair);
    let stream = pair.server.expect(method::TOOLS_LIST).await.stream();
    stream.raw("data: {\"jsonrpc\": oops\n\n").await;
    settle().await;
    call.abort();
    settle().await;
    let problem = sent.problem().unwrap();
    assert!(problem.contains("oops"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn a_response_that_cannot_be_read_fails_its_call_at_once() {
    for response in [
        r#"{"jsonrpc":"2.0","result":{"a":NaN},"id":ID}"#,
        r#"{"jsonrpc":"2.0","id":ID,"result":{"a":"\x"}}"#,
        r#"{"jsonrpc":"2.0","id":ID.0,"result":{}}"#,
        r#"{"jsonrpc":"2.0","result":{"a":"#,
        r#"[{"jsonrpc":"2.0","id":ID,"result":{}}]"#,
        r#"{"jsonrpc":"2.0","id":0,"result":{}}{"jsonrpc":"2.0","id":ID,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"method":"tools/list","result":{}}"#,
    ] {
        let mut pair = Pair::open(quiet()).await;
        let call = pair.call(method::TOOLS_LIST);
        let seen = pair.server.expect(method::TOOLS_LIST).await;
        let text = response.replace("ID", &seen.id().to_string());
        let stream = seen.stream();
        stream.raw(format!("data: {text}\n\n")).await;
        failure(call).await;
        pair.server.receives_nothing_for(HOUR).await;
    }
}
