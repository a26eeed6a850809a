//! Both kinds of revisions at one URL, and an endpoint that serves only the stateless revision.

use mcp_tests::http::Peer;
use mcp_transport_http::RequestBody;
use tower_service::Service as _;

use super::super::{Gate, endpoint, server, with};
use super::Probe;
use crate::prelude::*;

// proves: M-HTTP-001, M-HTTP-036, M-HTTP-056, M-HTTP-058
#[tokio::test]
async fn a_session_and_requests_without_one_share_an_endpoint() {
    let endpoint = endpoint(&Gate::new());
    let stateless = StatelessPeer::new(&endpoint);
    let session = Peer::open(&endpoint).await;
    for round in 0..3 {
        let answer = session.tool(round, "echo", json!({"message": "a"})).await;
        assert_eq!(answer.headers.get("mcp-session-id"), None);
        let answer = answer.answer().await;
        assert_eq!(answer["result"]["content"][0]["text"], "a");
        assert_eq!(answer["result"].get("resultType"), None);
        assert_eq!(answer["result"].get("_meta"), None);
        // The same id at the same time belongs to another client.
        let answer = stateless.tool(round, "echo", json!({"message": "b"})).await;
        assert_eq!(answer.headers.get("mcp-session-id"), None);
        let answer = answer.answer().await;
        assert_eq!(answer["result"]["content"][0]["text"], "b");
        assert_eq!(answer["result"]["resultType"], "complete");
    }
    assert_eq!(endpoint.sessions(), 1);
    // The request ignores a session id, whether that session exists or not.
    for id in [session.session().unwrap(), "guess", ""] {
        let mut client = stateless.clone();
        client.peer = client.peer.with("mcp-session-id", Some(id));
        client.peer = client.peer.with("last-event-id", Some("1"));
        let reply = client.tool(1, "quick", json!({"message": "c"})).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.headers.get("mcp-session-id"), None);
        assert_eq!(reply.answer().await["id"], 1);
    }
    // `initialize` is not valid either.
    let reply = stateless.call(1, "initialize", json!({})).await;
    reply.refused(404, -32601).await;
    assert_eq!(endpoint.sessions(), 1);
}

// proves: M-META-005, M-HTTP-013, M-HTTP-014, M-HTTP-055, M-HTTP-064
#[tokio::test]
async fn the_version_header_makes_messages_without_metadata_stateless() {
    let endpoint = endpoint(&Gate::new());
    let session = Peer::open(&endpoint).await;
    for peer in [Peer::new(&endpoint), session.clone()] {
        let peer = peer.with("mcp-protocol-version", Some("2026-07-28"));
        for method in ["server/discover", "tools/list", "ping", "initialize"] {
            let reply = peer.call("x", method, json!({})).await;
            let body = reply.refused(400, -32602).await;
            assert_eq!(body["id"], "x");
            says(&body, "clientCapabilities");
        }
        let heard = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}});
        let reply = peer.post(heard).await;
        assert_eq!(reply.status, 202);
        assert_eq!(reply.text().await, "");
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        peer.post(answer).await.refused(400, -32600).await;
        let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]);
        peer.post(batch).await.refused(400, -32600).await;
        for method in [Method::GET, Method::DELETE] {
            let reply = peer.send(method, "").await;
            assert_eq!(reply.status, 405);
            assert_eq!(reply.headers["allow"], "POST");
        }
    }
    assert_eq!(endpoint.sessions(), 1, "nothing ended the session");
    // A notification with the revision in its `_meta` needs no header.
    let params = json!({"_meta": StatelessPeer::new(&endpoint).meta});
    let custom = json!({"jsonrpc": "2.0", "method": "custom/news", "params": params});
    assert_eq!(Peer::new(&endpoint).post(custom).await.status, 202);
    assert_eq!(session.call(1, "ping", json!({})).await.status, 200);
}

// proves: M-VER-017, M-HTTP-037, M-HTTP-055, M-HTTP-056, M-HTTP-057, M-HTTP-059
#[tokio::test]
async fn a_stateless_endpoint_reports_its_revision() {
    let server = server(&Gate::new()).revisions([Revision::V2026_07_28]);
    let endpoint = Endpoint::new(server).unwrap();
    for version in [None, Some("2025-11-25"), Some("2025-03-26"), Some("junk")] {
        let peer = Peer::new(&endpoint).with("mcp-protocol-version", version);
        let body = peer
            .call(3, "tools/list", json!({}))
            .await
            .refused(400, -32020)
            .await;
        assert_eq!(body["id"], 3);
        says(&body, "2026-07-28");
        let news = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let body = peer.post(news).await.refused(400, -32020).await;
        assert_eq!(body["id"], Value::Null);
        // The error of the handshake names the supported revision.
        let mut opening = peer.clone();
        let reply = opening.initialize("2025-11-25", json!({})).await;
        let body = reply.refused(400, -32022).await;
        assert_eq!(body["id"], 0);
        assert_eq!(body["error"]["data"]["supported"], json!(["2026-07-28"]));
        for method in [Method::GET, Method::DELETE, Method::PUT] {
            let reply = peer.send(method, "").await;
            assert_eq!(reply.status, 405);
            assert_eq!(reply.headers["allow"], "POST");
        }
    }
    let client = StatelessPeer::new(&endpoint);
    let reply = client.tool(1, "echo", json!({"message": "hi"})).await;
    assert_eq!(reply.status, 200);
    // The HTTP+SSE transport has no revision to serve.
    let mut request = http::Request::new(RequestBody::new(""));
    *request.headers_mut() = client.peer.headers.clone();
    assert_eq!(endpoint.legacy().call(request).await.unwrap().status(), 404);
    assert_eq!(endpoint.sessions(), 0);
}

#[tokio::test]
async fn an_endpoint_without_sessions_serves_all_revisions() {
    let endpoint = with(&Gate::new(), ServerOptions::new().without_sessions());
    let stateless = StatelessPeer::new(&endpoint);
    let session = Peer::new(&endpoint).with("mcp-protocol-version", Some("2025-11-25"));
    let reply = session.tool(1, "echo", json!({"message": "a"})).await;
    assert_eq!(reply.status, 200);
    let result = reply.json().await["result"].take();
    assert_eq!(result.get("resultType"), None);
    let reply = stateless.tool(1, "echo", json!({"message": "a"})).await;
    assert_eq!(reply.json().await["result"]["resultType"], "complete");
    // The header alone does not make the request stateless.
    let peer = Peer::new(&endpoint).with("mcp-protocol-version", Some("2026-07-28"));
    peer.call(1, "tools/list", json!({}))
        .await
        .refused(400, -32602)
        .await;
}

#[tokio::test]
async fn a_stateless_request_cannot_be_part_of_a_batch() {
    let probe = Probe::ready();
    let runs = Arc::clone(&probe.runs);
    let endpoint = probe.endpoint();
    let session = Peer::open_as(&endpoint, "2025-03-26", json!({})).await;
    let stateless = StatelessPeer::new(&endpoint).request(1, "tools/call", json!({"name": "go"}));
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
    let reply = session.post(json!([stateless, ping])).await;
    assert_eq!(reply.status, 200);
    let answers = reply.answer().await;
    assert_eq!(answers[0]["error"]["code"], -32600);
    assert_eq!(answers[0]["id"], 1);
    assert_eq!(answers[1]["id"], 2);
    assert_eq!(runs.load(Ordering::Acquire), 0);
}
