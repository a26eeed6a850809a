//! The requests of calls.

use std::time::Duration;

use mcp_protocol::MuxLimits;
use mcp_transport_http::ClientOptions;
use mcp_types::method;
use serde_json::json;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);

// proves: HTTP-007, HTTP-008, HTTP-009, HTTP-010, HTTP-067
#[tokio::test(start_paused = true)]
async fn every_message_is_a_separate_post_that_accepts_both_media_types() {
    let mut pair = Pair::new(quiet()).await;
    let opening = spawn(pair.link.request(method::INITIALIZE, Some(initialize())));
    let mut seen = vec![pair.server.next().await];
    // The client sends nothing else.
    pair.server.receives_nothing_for(HOUR).await;
    let headers = seen[0].head.headers.clone();
    seen.pop().unwrap().open(Some(SESSION), "2025-11-25");
    opening.await.unwrap().unwrap().unwrap();
    let mut all = vec![headers];

    pair.connection.negotiated("2025-11-25");
    pair.notify(method::NOTIFICATIONS_INITIALIZED);
    let call = pair.call(method::TOOLS_LIST);
    let seen = pair.server.expect(method::NOTIFICATIONS_INITIALIZED).await;
    all.push(seen.head.headers.clone());
    seen.accept();
    let seen = pair.server.expect(method::TOOLS_LIST).await;
    all.push(seen.head.headers.clone());
    let stream = seen.stream();
    stream
        .event("", &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
        .await;
    let answer = pair.server.next().await;
    assert_eq!(answer.head.method, http::Method::POST);
    assert_eq!(
        answer.json(),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );
    all.push(answer.head.headers.clone());
    answer.accept();
    drop((stream, call));

    for headers in all {
        let accept = headers["accept"].to_str().unwrap();
        assert!(accept.contains("application/json"), "{accept}");
        assert!(accept.contains("text/event-stream"), "{accept}");
        assert_eq!(headers["content-type"], "application/json");
        assert!(headers.contains_key("user-agent"));
    }
}

// proves: HTTP-055, HTTP-062, HTTP-063
#[tokio::test(start_paused = true)]
async fn session_and_revision_are_sent_after_the_handshake() {
    let mut pair = Pair::new(ClientOptions::new()).await;
    let opening = spawn(pair.link.request(method::INITIALIZE, Some(initialize())));
    let seen = pair.server.expect(method::INITIALIZE).await;
    assert_eq!(seen.header("mcp-session-id"), None);
    assert_eq!(seen.header("mcp-protocol-version"), None);
    // The server negotiates another revision.
    seen.open(Some(SESSION), "2025-03-26");
    opening.await.unwrap().unwrap().unwrap();
    pair.connection.negotiated("2025-03-26");
    pair.notify(method::NOTIFICATIONS_INITIALIZED);

    let agreed = |seen: &ReceivedRequest| {
        assert_eq!(seen.header("mcp-session-id"), Some(SESSION), "{seen:?}");
        assert_eq!(
            seen.header("mcp-protocol-version"),
            Some("2025-03-26"),
            "{seen:?}"
        );
    };
    let seen = pair.server.expect(method::NOTIFICATIONS_INITIALIZED).await;
    agreed(&seen);
    seen.accept();
    let listening = pair.server.expect_get().await;
    agreed(&listening);
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    agreed(&seen);
    call.abort();
    let seen = pair.server.expect(method::NOTIFICATIONS_CANCELLED).await;
    agreed(&seen);
    seen.accept();
    drop(listening);
    let connection = pair.connection.clone();
    let closing = tokio::spawn(async move { connection.close().await });
    let seen = pair.server.next().await;
    assert_eq!(seen.head.method, http::Method::DELETE);
    agreed(&seen);
    seen.status(200);
    closing.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_server_without_sessions_gets_no_session_id() {
    let mut pair = Pair::new(quiet()).await.opened(None).await;
    let headers = pair.headers_of(method::TOOLS_LIST).await;
    assert!(!headers.contains_key("mcp-session-id"));
    pair.connection.close().await.unwrap();
    assert_eq!(
        pair.notes.next().await,
        ReceivedMessage::Closed("connection closed by this side".into())
    );
}

// proves: HTTP-016, M-HTTP-017
#[tokio::test(start_paused = true)]
async fn both_media_types_of_a_response_are_read() {
    let mut pair = Pair::open(quiet()).await;
    for json_type in [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/json, application/json",
    ] {
        let call = pair.call(method::TOOLS_LIST);
        let seen = pair.server.expect(method::TOOLS_LIST).await;
        let body = format!(
            "{{\"jsonrpc\":\"2.0\",\n\"id\":{},\"result\":{{\"form\":1}}}}",
            seen.id()
        );
        seen.respond(200, &[("content-type", json_type)], body);
        assert_eq!(result(call).await, json!({"form": 1}));
    }
    for stream_type in [
        "text/event-stream",
        "text/Event-Stream;charset=UTF-8",
        "text/event-stream,text/event-stream",
    ] {
        let call = pair.call(method::TOOLS_LIST);
        let seen = pair.server.expect(method::TOOLS_LIST).await;
        let id = seen.id();
        let stream = seen.stream_with(&[("content-type", stream_type)]);
        // One byte at a time, as the worst proxy would send it.
        let event = format!(
            "data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\ndata: \"result\":{{\"form\":2}}}}\n\n"
        );
        for byte in event.into_bytes() {
            stream.raw(vec![byte]).await;
        }
        assert_eq!(result(call).await, json!({"form": 2}));
    }
    // A JSON body in several chunks.
    let call = pair.call(method::TOOLS_LIST);
    let seen = pair.server.expect(method::TOOLS_LIST).await;
    let body = json!({"jsonrpc": "2.0", "id": seen.id(), "result": {"form": 3}}).to_string();
    let stream = seen.stream_with(&[("content-type", "application/json")]);
    for byte in body.into_bytes() {
        stream.raw(vec![byte]).await;
    }
    drop(stream);
    assert_eq!(result(call).await, json!({"form": 3}));
}

#[tokio::test(start_paused = true)]
async fn a_json_rpc_error_ends_its_call_with_any_http_status() {
    let mut pair = Pair::open(quiet()).await;
    for status in [200, 400, 500] {
        let call = pair.call(method::TOOLS_CALL);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        let error = json!({"code": -32602, "message": "no such tool"});
        let body = json!({"jsonrpc": "2.0", "id": seen.id(), "error": error});
        seen.json_body(status, &body);
        let refused = call.await.unwrap().unwrap().unwrap_err();
        assert_eq!(refused.to_string(), "no such tool (code -32602)");
    }
}

// proves: HTTP-029
#[tokio::test(start_paused = true)]
async fn dropping_a_call_sends_a_cancellation() {
    let mut pair = Pair::open(quiet()).await;
    // Before the head of the response, and in the middle of a stream.
    for streams in [false, true] {
        let call = pair.call(method::TOOLS_CALL);
        let seen = pair.server.expect(method::TOOLS_CALL).await;
        let id = seen.id();
        if streams {
            let stream = seen.stream();
            settle().await;
            call.abort();
            stream.abandoned().await;
        } else {
            call.abort();
            seen.abandoned().await;
        }
        let cancelled = pair.server.expect(method::NOTIFICATIONS_CANCELLED).await;
        assert_eq!(cancelled.json()["params"]["requestId"], id);
        cancelled.accept();
    }
}

#[tokio::test(start_paused = true)]
async fn completed_calls_are_not_cancelled() {
    let mut pair = Pair::new(quiet()).await;
    // The handshake cannot be cancelled.
    let opening = spawn(pair.link.request(method::INITIALIZE, Some(initialize())));
    let seen = pair.server.expect(method::INITIALIZE).await;
    opening.abort();
    seen.abandoned().await;
    pair.server.receives_nothing_for(HOUR).await;

    let mut pair = pair.opened(Some(SESSION)).await;
    // A call that was never polled, and a completed call.
    drop(pair.link.request(method::TOOLS_CALL, None));
    pair.headers_of(method::TOOLS_CALL).await;
    pair.server.receives_nothing_for(HOUR).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_can_be_dropped_outside_of_the_runtime() {
    let mut pair = Pair::open(quiet()).await;
    let mut call = Box::pin(pair.link.request(method::TOOLS_CALL, None));
    let seen = tokio::select! {
        seen = pair.server.expect(method::TOOLS_CALL) => seen,
        _ = &mut call => unreachable!(),
    };
    std::thread::spawn(move || drop(call)).join().unwrap();
    pair.server
        .expect(method::NOTIFICATIONS_CANCELLED)
        .await
        .accept();
    drop(seen);
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_wait_for_other_calls() {
    let mut pair = Pair::open(quiet()).await;
    let slow = pair.call(method::TOOLS_CALL);
    let slow_seen = pair.server.expect(method::TOOLS_CALL).await;
    let streaming = pair.call(method::PROMPTS_GET);
    let stream = pair.server.expect(method::PROMPTS_GET).await.stream();
    for _ in 0..10 {
        pair.headers_of(method::TOOLS_LIST).await;
    }
    slow_seen.answer(&json!({"slow": true}));
    assert_eq!(result(slow).await, json!({"slow": true}));
    drop((stream, streaming));
}

#[tokio::test(start_paused = true)]
async fn calls_above_the_limit_of_concurrent_calls_fail_without_being_sent() {
    let limits = MuxLimits::default().with_outgoing(2);
    let mut pair = Pair::open(quiet().with_limits(limits)).await;
    let calls = [pair.call(method::TOOLS_LIST), pair.call(method::TOOLS_LIST)];
    let seen = [pair.server.next().await, pair.server.next().await];
    let error = failure(pair.call(method::TOOLS_LIST)).await;
    assert!(error.contains("MuxLimits::outgoing"), "{error}");
    for seen in seen {
        seen.answer(&json!({}));
    }
    for call in calls {
        result(call).await;
    }
    pair.headers_of(method::TOOLS_LIST).await;
}

// proves: HTTP-053
#[tokio::test(start_paused = true)]
async fn an_invalid_session_id_is_rejected() {
    for (id, problem) in [
        ("has space", "byte 3"),
        ("tab\there", "byte 3"),
        ("", "is empty"),
        (
            &"x".repeat(1_025),
            "1024 bytes, the limit of ClientOptions::with_max_session_id_bytes",
        ),
    ] {
        let mut pair = Pair::new(quiet()).await;
        let opening = spawn(pair.link.request(method::INITIALIZE, Some(initialize())));
        let seen = pair.server.expect(method::INITIALIZE).await;
        seen.open(Some(id), "2025-11-25");
        let error = failure(opening).await;
        assert!(error.contains(problem), "{error}");
        assert!(id.is_empty() || !error.contains(id), "{error}");
    }
    // Every permitted character, and the length of a signed token.
    let all: String = (0x21..=0x7E_u8).map(char::from).collect();
    let mut pair = Pair::new(quiet()).await.opened(Some(&all.repeat(5))).await;
    let headers = pair.headers_of(method::PING).await;
    assert_eq!(headers["mcp-session-id"], all.repeat(5));
}

// proves: HTTP-072
#[tokio::test(start_paused = true)]
async fn header_names_ignore_case() {
    let mut pair = Pair::new(quiet()).await;
    let opening = spawn(pair.link.request(method::INITIALIZE, Some(initialize())));
    let seen = pair.server.expect(method::INITIALIZE).await;
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": seen.id(), "result": result}).to_string();
    seen.respond(
        200,
        &[
            ("CONTENT-TYPE", "application/json"),
            ("MCP-SESSION-ID", "s"),
        ],
        body,
    );
    opening.await.unwrap().unwrap().unwrap();
    let headers = pair.headers_of(method::PING).await;
    assert_eq!(headers["mcp-session-id"], "s");
}
