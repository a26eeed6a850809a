//! POST: status codes, media types, JSON or an event stream.

use mcp_tests::http::Peer;

use super::{Gate, LONG, endpoint, opened, pass, with};
use crate::prelude::*;

// proves: HTTP-011, HTTP-014, HTTP-015, HTTP-051
#[tokio::test]
async fn a_request_is_answered_with_one_object_and_a_notification_with_nothing() {
    let endpoint = endpoint(&Gate::new());
    let mut peer = Peer::new(&endpoint);
    let reply = peer.initialize("2025-11-25", json!({})).await;
    assert_eq!(reply.kind(), "application/json");
    assert!(peer.session().is_some());
    assert_eq!(reply.json().await["id"], 0);
    let opened = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let reply = peer.post(opened).await;
    assert_eq!(reply.status, 202);
    assert_eq!(reply.text().await, "");
    let reply = peer.tool("seven", "echo", json!({"message": "hi"})).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.kind(), "application/json");
    let answer = reply.json().await;
    assert_eq!(answer["id"], "seven");
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
    // A response without a pending server request is late, which is not an error.
    let late = json!({"jsonrpc": "2.0", "id": 99, "result": {}});
    let reply = peer.post(late).await;
    assert_eq!(reply.status, 202);
    assert_eq!(reply.text().await, "");
}

// proves: HTTP-001, HTTP-012, HTTP-013, M-HTTP-015, HTTP-065, HTTP-070, HTTP-071
#[tokio::test]
async fn invalid_requests_get_a_reason_and_run_no_handler() {
    let endpoint = endpoint(&Gate::new());
    let peer = Peer::open(&endpoint).await;
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "panics"},
    });
    let cases = [
        ("accept", Some("text/html"), 406, "Accept"),
        ("accept", Some("application/json"), 406, "text/event-stream"),
        ("content-type", Some("text/plain"), 415, "application/json"),
        ("content-type", None, 415, "Content-Type"),
        ("mcp-session-id", None, 400, "Mcp-Session-Id"),
        ("mcp-session-id", Some("guess"), 404, "initialize"),
        (
            "mcp-protocol-version",
            Some("2099-01-01"),
            400,
            "2025-11-25",
        ),
        ("mcp-protocol-version", Some("foo"), 400, "2025-11-25"),
        ("mcp-protocol-version", Some(""), 400, "2025-11-25"),
        ("host", Some("evil.example"), 403, "allow_host"),
        ("origin", Some("https://evil.example"), 403, "allow_origin"),
    ];
    for (name, value, status, hint) in cases {
        let reply = peer.with(name, value).post(call.clone()).await;
        assert_eq!(reply.status, status, "{hint}");
        assert_eq!(reply.kind(), "application/json");
        let body = reply.json().await;
        says(&body, hint);
        assert!(body["error"]["code"].is_i64());
    }
    // The revision of the session counts, not the header.
    let other = peer.with("mcp-protocol-version", Some("2025-03-26"));
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
    assert_eq!(other.post(batch).await.status, 400);
    assert_eq!(other.call(1, "ping", json!({})).await.status, 200);
    for (body, status, code) in [
        ("{\"jsonrpc\":\"2.0\"}", 400, -32600),
        ("{\"jsonrpc\":\"2.0\",\"method\":1}", 400, -32600),
        ("{\"jsonrpc\":", 400, -32700),
        ("", 400, -32700),
        ("[]", 400, -32600),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
            400,
            -32600,
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
            400,
            -32600,
        ),
    ] {
        let reply = peer.send(Method::POST, body).await;
        assert_eq!(reply.status, status, "{body}");
        let error = reply.json().await;
        assert_eq!(error["error"]["code"], code, "{body}: {error}");
        assert!(error.get("id").is_none(), "{error}");
    }
    for method in [Method::PUT, Method::PATCH, Method::OPTIONS, Method::HEAD] {
        let reply = peer.send(method, "").await;
        assert_eq!(reply.status, 405);
        assert_eq!(reply.headers["allow"], "POST, GET, DELETE");
    }
}

#[tokio::test]
async fn initialize_with_a_version_that_is_not_served_opens_no_session() {
    let endpoint = endpoint(&Gate::new());
    let initialize = async |version| {
        let mut peer = Peer::new(&endpoint).with("mcp-protocol-version", version);
        peer.initialize("2025-11-25", json!({})).await
    };
    for version in ["2099-01-01", "foo", ""] {
        let reply = initialize(Some(version)).await;
        assert_eq!(reply.status, 400, "{version}");
        let body = reply.json().await;
        assert_eq!(body["id"], 0);
        says(&body, "this server supports");
    }
    assert_eq!(endpoint.sessions(), 0);
    for version in [None, Some("2025-06-18")] {
        assert_eq!(initialize(version).await.status, 200);
    }
}

// proves: HTTP-024, HTTP-025, HTTP-027, HTTP-017
#[tokio::test]
async fn a_handler_that_sends_a_message_first_makes_the_response_a_stream() {
    let (gate, _endpoint, peer) = opened().await;
    let params = json!({
        "name": "steps", "arguments": {"message": "done"}, "_meta": {"progressToken": "p"},
    });
    let mut reply = peer.call(1, "tools/call", params).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.kind(), "text/event-stream");
    assert_eq!(reply.headers["cache-control"], "no-cache");
    assert_eq!(reply.headers["x-accel-buffering"], "no");
    let priming = reply.event().await.unwrap();
    assert!(priming.id.is_some());
    assert_eq!(priming.data.as_deref(), Some(""));
    assert!(priming.retry.is_some());
    let mut ids = vec![priming.id];
    for step in 1..=3 {
        let event = reply.event().await.unwrap();
        assert_eq!(event.json()["params"]["progress"], f64::from(step));
        ids.push(event.id.clone());
        gate.go.add_permits(1);
    }
    let last = reply.event().await.unwrap();
    assert_eq!(last.json()["id"], 1);
    assert_eq!(last.json()["result"]["content"][0]["text"], "done");
    ids.push(last.id);
    assert_eq!(reply.event().await, None, "the stream ends with the answer");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5, "every event has an id of its own");
}

#[tokio::test]
async fn messages_sent_without_waiting_are_written_with_the_response() {
    let endpoint = endpoint(&Gate::new());
    let peer = Peer::open(&endpoint).await;
    let params = json!({
        "name": "quick", "arguments": {"message": "done"}, "_meta": {"progressToken": 7},
    });
    let mut reply = peer.call(1, "tools/call", params).await;
    assert_eq!(reply.kind(), "text/event-stream");
    let chunk = reply.chunk().await.unwrap();
    let text = std::str::from_utf8(&chunk).unwrap();
    assert!(text.contains("notifications/progress"), "{text}");
    assert!(text.contains("done"), "{text}");
    assert_eq!(reply.chunk().await, None);
}

// A slow call must not look dead to a proxy and must be resumable.
#[tokio::test(start_paused = true)]
async fn a_long_call_becomes_a_stream_with_keep_alives() {
    let (gate, _endpoint, peer) = opened().await;
    let mut reply = peer.tool(1, "wait", json!({"message": "late"})).await;
    assert_eq!(reply.kind(), "text/event-stream");
    assert!(reply.chunk().await.unwrap().starts_with(b"id: "));
    for _ in 0..3 {
        let before = tokio::time::Instant::now();
        assert_eq!(&reply.chunk().await.unwrap()[..], b":\n\n");
        assert_eq!(before.elapsed().as_secs(), 15);
    }
    gate.go.add_permits(1);
    assert_eq!(reply.said().await, "late");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_quick_enough_stays_json() {
    let (gate, _endpoint, peer) = opened().await;
    let call = peer.tool(1, "wait", json!({"message": "soon"}));
    let (reply, ()) = tokio::join!(call, async {
        pass(&gate.started).await;
        tokio::time::advance(Duration::from_millis(100)).await;
        gate.go.add_permits(1);
    });
    assert_eq!(reply.kind(), "application/json");
    assert_eq!(reply.said().await, "soon");
}

// proves: HTTP-028
#[tokio::test(start_paused = true)]
async fn a_client_that_disconnects_cancels_nothing() {
    let (gate, endpoint, peer) = opened().await;
    // Before the response has started.
    let call = peer.tool(1, "wait", json!({"message": "x"}));
    assert!(
        tokio::time::timeout(Duration::from_millis(50), call)
            .await
            .is_err()
    );
    assert_eq!(endpoint.in_flight(), 1);
    gate.go.add_permits(1);
    pass(&gate.ended).await;
    // After the response has started.
    let reply = peer.tool(2, "wait", json!({"message": "x"})).await;
    drop(reply);
    tokio::time::sleep(LONG).await;
    assert_eq!(endpoint.in_flight(), 1);
    gate.go.add_permits(1);
    pass(&gate.ended).await;
    tokio::task::yield_now().await;
    assert_eq!(endpoint.in_flight(), 0);
}

// proves: CANC-005
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_is_not_answered_and_its_stream_ends() {
    let (gate, endpoint, peer) = opened().await;
    let reply = peer.tool("c", "wait", json!({"message": "x"})).await;
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c"},
    });
    assert_eq!(peer.post(cancel).await.status, 202);
    assert_eq!(reply.answer().await, Value::Null);
    assert_eq!(endpoint.in_flight(), 0);
    // The id can be used again.
    gate.go.add_permits(1);
    let reply = peer.tool("c", "wait", json!({"message": "again"})).await;
    assert_eq!(reply.said().await, "again");
}

#[tokio::test(start_paused = true)]
async fn an_id_in_use_is_refused_and_the_first_call_survives() {
    let (gate, _endpoint, peer) = opened().await;
    let first = peer.tool(5, "wait", json!({"message": "first"})).await;
    let second = peer.tool(5, "echo", json!({"message": "second"})).await;
    let error = second.refused(400, -32600).await;
    assert!(error.get("id").is_none(), "{error}");
    gate.go.add_permits(1);
    assert_eq!(first.said().await, "first");
}

#[tokio::test(start_paused = true)]
async fn at_the_limit_of_a_session_requests_are_rejected_with_retry_after() {
    let gate = Gate::new();
    let endpoint = with(
        &gate,
        ServerOptions::new().with_session_limits(|limits| limits.max_in_flight_per_session = 1),
    );
    let peer = Peer::open(&endpoint).await;
    let held = peer.tool(1, "wait", json!({"message": "a"})).await;
    let reply = peer.tool("r", "echo", json!({"message": "x"})).await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.headers["retry-after"], "1");
    let error = reply.json().await;
    assert_eq!(error["id"], "r");
    says(&error, "1 requests");
    gate.go.add_permits(1);
    assert_eq!(held.said().await, "a");
}

// proves: HTTP-010
#[tokio::test(start_paused = true)]
async fn a_batch_is_answered_by_a_batch_where_the_revision_has_them() {
    let gate = Gate::new();
    let endpoint = endpoint(&gate);
    let peer = Peer::open_as(&endpoint, "2025-03-26", json!({})).await;
    let call = |id: u32, name: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
               "params": {"name": name, "arguments": {"message": name}}})
    };
    let batch = json!([
        call(1, "echo"),
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
        {"jsonrpc": "2.0"},
        call(2, "wait"),
    ]);
    gate.go.add_permits(1);
    let reply = peer.post(batch).await;
    assert_eq!(reply.kind(), "application/json");
    let answers = reply.json().await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert_eq!(answers[0]["id"], 1);
    assert_eq!(answers[1]["error"]["code"], -32600);
    assert_eq!(answers[2]["result"]["content"][0]["text"], "wait");
    let quiet = json!([{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}]);
    assert_eq!(peer.post(quiet).await.status, 202);
}

#[tokio::test]
async fn blocking_handlers_have_a_limited_number_of_threads() {
    let gate = Gate::new();
    let (endpoint, blocked) = super::blocking(&gate);
    let peer = Peer::open(&endpoint).await;
    let called = |id: u32| {
        let peer = peer.clone();
        tokio::spawn(async move { peer.tool(id, "block", json!({})).await.said().await })
    };
    let running = [1, 2].map(called);
    gate.started(2).await;
    let refused = peer.tool(3, "block", json!({})).await.answer().await;
    says(&refused, "2 blocking handlers are running");
    says(&refused, "RequestLimits::max_blocking_handlers");
    drop(blocked);
    for call in running {
        assert_eq!(call.await.unwrap(), "done");
    }
    let called = peer.tool(4, "block", json!({})).await;
    assert_eq!(called.said().await, "done", "the threads are free again");
}
