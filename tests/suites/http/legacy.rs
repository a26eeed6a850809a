//! The HTTP+SSE transport of 2024-11-05, server side.

use mcp_protocol::Grant;
use mcp_tests::http::{Peer, Reply, send_legacy};
use mcp_transport_http::{LegacyEndpoint, RequestBody};
use tower_service::Service as _;

use super::{Gate, endpoint, pass, with};
use crate::prelude::*;

/// A session: its stream, and the URL for its messages.
struct Session {
    legacy: LegacyEndpoint,
    stream: Reply,
    address: String,
}

impl Session {
    async fn open(legacy: &LegacyEndpoint) -> Self {
        let mut stream = send_legacy(legacy, Method::GET, "/sse", "", None).await;
        assert_eq!(stream.status, 200);
        assert_eq!(stream.kind(), "text/event-stream");
        let first = stream.event().await.unwrap();
        assert_eq!(first.event.as_deref(), Some("endpoint"));
        Self {
            legacy: legacy.clone(),
            stream,
            address: first.data.unwrap(),
        }
    }

    async fn post(&self, message: Value) -> Reply {
        let (body, address) = (message.to_string(), &self.address);
        send_legacy(&self.legacy, Method::POST, address, body, None).await
    }

    async fn said(&mut self) -> Value {
        let event = self.stream.event().await.unwrap();
        assert_eq!(event.event.as_deref(), Some("message"));
        event.json()
    }

    async fn handshake(&mut self, revision: &str) -> Value {
        let params = json!({"protocolVersion": revision, "capabilities": {},
            "clientInfo": {"name": "old", "version": "0"}});
        self.post(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}))
            .await;
        let answer = self.said().await;
        self.post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        answer
    }

    async fn tool(&mut self, id: u32, name: &str, message: &str) -> Reply {
        let params = json!({"name": name, "arguments": {"message": message}});
        self.post(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
            .await
    }
}

// proves: SSE-004, SSE-005, SSE-007, HTTP-066, M-HTTP-062
#[tokio::test]
async fn messages_arrive_on_the_stream_and_are_sent_to_its_endpoint() {
    let endpoint = endpoint(&Gate::new());
    let mut session = Session::open(&endpoint.legacy()).await;
    assert!(
        session.address.starts_with("/sse?sessionId="),
        "{}",
        session.address
    );
    let answer = session.handshake("2024-11-05").await;
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    let reply = session.tool(1, "echo", "hi").await;
    assert_eq!(reply.status, 202);
    assert_eq!(reply.text().await, "");
    let answer = session.said().await;
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
    // The same server also serves a newer client.
    let peer = Peer::open(&endpoint).await;
    assert_eq!(peer.call(1, "ping", json!({})).await.status, 200);
    let elsewhere = endpoint.legacy().message_path("/message");
    let session = Session::open(&elsewhere).await;
    assert!(session.address.starts_with("/message?sessionId="));
}

// proves: SSE-008
#[tokio::test]
async fn clients_with_the_same_request_ids_get_the_right_responses() {
    let gate = Gate::new();
    let legacy = endpoint(&gate).legacy();
    let mut sessions = Vec::new();
    for _ in 0..8 {
        let mut session = Session::open(&legacy).await;
        session.handshake("2024-11-05").await;
        sessions.push(session);
    }
    for (nonce, session) in sessions.iter_mut().enumerate() {
        session.tool(1, "wait", &nonce.to_string()).await;
    }
    gate.go.add_permits(8);
    for (nonce, session) in sessions.iter_mut().enumerate() {
        let answer = session.said().await;
        assert_eq!(answer["result"]["content"][0]["text"], nonce.to_string());
    }
    let unknown = format!("/sse?sessionId={}", "0".repeat(64));
    for (uri, status) in [(&*unknown, 404), ("/sse?sessionId=x", 404), ("/sse", 400)] {
        let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let reply = send_legacy(&legacy, Method::POST, uri, ping, None).await;
        assert_eq!(reply.status, status, "{uri}");
    }
}

// proves: SSE-003
#[tokio::test]
async fn a_session_is_bound_to_its_principal() {
    let legacy = endpoint(&Gate::new()).legacy();
    let mut stream = send_legacy(&legacy, Method::GET, "/sse", "", Some("alice")).await;
    let address = stream.event().await.unwrap().data.unwrap();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for thief in [Some("bob"), None] {
        let reply = send_legacy(&legacy, Method::POST, &address, ping, thief).await;
        assert_eq!(reply.status, 404);
    }
    let reply = send_legacy(&legacy, Method::POST, &address, ping, Some("alice")).await;
    assert_eq!(reply.status, 202);
}

#[tokio::test]
async fn the_end_of_the_stream_is_the_end_of_the_session() {
    let gate = Gate::new();
    let endpoint = endpoint(&gate);
    let mut session = Session::open(&endpoint.legacy()).await;
    session.handshake("2024-11-05").await;
    session.tool(1, "wait", "never").await;
    pass(&gate.started).await;
    assert_eq!((endpoint.sessions(), endpoint.in_flight()), (1, 1));
    let Session {
        legacy,
        stream,
        address,
    } = session;
    drop(stream);
    tokio::task::yield_now().await;
    assert_eq!((endpoint.sessions(), endpoint.in_flight()), (0, 0));
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let reply = send_legacy(&legacy, Method::POST, &address, ping, None).await;
    assert_eq!(reply.status, 404);
}

#[tokio::test]
async fn invalid_messages_are_rejected_and_the_session_continues() {
    let legacy = endpoint(&Gate::new()).legacy();
    let mut session = Session::open(&legacy).await;
    session.handshake("2024-11-05").await;
    for body in ["", "{", "[]", "{\"jsonrpc\":\"2.0\"}"] {
        let reply = send_legacy(&legacy, Method::POST, &session.address, body, None).await;
        assert_eq!(reply.status, 400, "{body}");
    }
    session.tool(1, "echo", "still here").await;
    assert_eq!(
        session.said().await["result"]["content"][0]["text"],
        "still here"
    );
    let reply = send_legacy(&legacy, Method::DELETE, "/sse", "", None).await;
    assert_eq!(reply.status, 405);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_stream_is_kept_alive_and_closing_the_endpoint_ends_it() {
    let endpoint = with(
        &Gate::new(),
        ServerOptions::new().with_timeouts(|timeouts| timeouts.shutdown = Duration::ZERO),
    );
    let mut session = Session::open(&endpoint.legacy()).await;
    let before = tokio::time::Instant::now();
    for round in 1..=3 {
        assert_eq!(&session.stream.chunk().await.unwrap()[..], b":\n\n");
        assert_eq!(before.elapsed(), Duration::from_secs(15 * round));
    }
    endpoint.close().await;
    assert_eq!(session.stream.event().await, None);
    drop(session);
    assert_eq!(endpoint.sessions(), 0);
}

#[tokio::test]
async fn a_newer_revision_can_be_agreed_over_the_old_transport() {
    let service = Server::builder("new", "1").tool(Tool::new("hello", || "hello"));
    let legacy = Endpoint::new(service).unwrap().legacy();
    let mut session = Session::open(&legacy).await;
    let answer = session.handshake("2025-03-26").await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-03-26");
    let ping = |id: u32| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    session.post(json!([ping(1), ping(2)])).await;
    assert_eq!(session.said().await.as_array().unwrap().len(), 2);
}

// A call has the scopes that both the stream and its own request were granted.
#[tokio::test]
async fn a_call_has_only_scopes_of_both_its_stream_and_its_request() {
    let write = Tool::new("write", || "written").scope("write");
    let server = Server::builder("scoped", "1").tool(write);
    let legacy = Endpoint::new(server).unwrap().legacy();
    let request = |method, uri: &str, body: String, scopes: &[&'static str]| {
        let request = http::Request::builder().method(method).uri(uri);
        let request = request
            .header("host", "localhost")
            .header("content-type", "application/json")
            .extension(Grant::new(scopes.iter().copied()));
        let request = request.body(RequestBody::new(body)).unwrap();
        let mut legacy = legacy.clone();
        async move { legacy.call(request).await.unwrap() }
    };
    for (opened, sent, may) in [
        (&["read", "write"][..], &["read", "write"][..], true),
        (&["read", "write"], &["read"], false),
        (&["read"], &["read", "write"], false),
    ] {
        let stream = request(Method::GET, "/sse", String::new(), opened).await;
        let mut stream = Reply::new(stream);
        let address = stream.event().await.unwrap().data.unwrap();
        let params = json!({"protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "old", "version": "0"}});
        for message in [
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "write"}}),
        ] {
            let reply = request(Method::POST, &address, message.to_string(), sent).await;
            assert_eq!(reply.status(), 202);
        }
        assert_eq!(stream.event().await.unwrap().json()["id"], 0);
        let answer = stream.event().await.unwrap().json();
        assert_eq!(
            answer["result"]["content"][0]["text"] == "written",
            may,
            "{answer}"
        );
    }
}

#[tokio::test]
async fn blocking_handlers_have_a_limited_number_of_threads() {
    let gate = Gate::new();
    let (endpoint, blocked) = super::blocking(&gate);
    let mut session = Session::open(&endpoint.legacy()).await;
    session.handshake("2024-11-05").await;
    for id in 1..=3 {
        session.tool(id, "block", "").await;
    }
    let refused = session.said().await;
    says(&refused, "2 blocking handlers are running");
    says(&refused, "RequestLimits::max_blocking_handlers");
    drop(blocked);
    for _ in 0..2 {
        let answer = session.said().await;
        assert_eq!(answer["result"]["content"][0]["text"], "done");
    }
}
