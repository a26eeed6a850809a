//! The same requests over every transport.

use mcp_tests::http::Peer as Http;
use mcp_tests::wire::check_envelope;
use mcp_transport_stdio::serve_io;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use super::{Peer, named};
use crate::prelude::*;

/// The requests, in order; responses are compared without their ids.
fn scenario() -> Vec<(&'static str, Value)> {
    vec![
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        (
            "tools/call",
            named("test_multiple_content_types", json!({})),
        ),
        ("tools/call", named("test_error_handling", json!({}))),
        ("tools/call", named("none", json!({}))),
        (
            "tools/call",
            named("test_input_required_result_elicitation", json!({})),
        ),
        (
            "tools/call",
            named("test_input_required_result_sampling", json!({})),
        ),
        ("prompts/get", named("test_simple_prompt", json!({}))),
        ("resources/read", json!({ "uri": "test://static-binary" })),
        ("resources/read", json!({ "uri": "test://none" })),
        ("resources/templates/list", json!({ "cursor": "forged" })),
        ("no/such", json!({})),
    ]
}

fn request(id: usize, method: &str, params: Value) -> Value {
    let peer = Peer::with(everything::server(), json!({ "elicitation": {} }));
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": peer.params(params) })
}

fn bare(mut answer: Value) -> Value {
    check_envelope(&answer);
    answer.as_object_mut().unwrap().remove("id");
    answer
}

/// Returns the responses of the peer at the other end of these streams, line by line.
async fn over(read: impl AsyncRead + Unpin, mut write: impl AsyncWrite + Unpin) -> Vec<Value> {
    let mut lines = BufReader::new(read).lines();
    let mut answers = Vec::new();
    for (id, (method, params)) in scenario().into_iter().enumerate() {
        let line = format!("{}\n", request(id, method, params));
        write.write_all(line.as_bytes()).await.unwrap();
        let answer: Value =
            serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], id);
        answers.push(bare(answer));
    }
    answers
}

// proves: M-XPORT-004, M-XPORT-005, M-XPORT-007, M-XPORT-008, M-STDIO-011
#[tokio::test]
async fn a_request_means_the_same_whatever_carries_it() {
    let (near, far) = tokio::io::duplex(1 << 20);
    let (far_read, far_write) = tokio::io::split(far);
    let served = tokio::spawn(serve_io(everything::server(), far_read, far_write));
    let (near_read, near_write) = tokio::io::split(near);
    let in_memory = over(near_read, near_write).await;
    served.await.unwrap().unwrap();

    let (listener, address) = listen().await;
    let served = tokio::spawn(async move {
        let (read, write) = listener.accept().await.unwrap().0.into_split();
        serve_io(everything::server(), read, write).await
    });
    let (read, write) = tokio::net::TcpStream::connect(address)
        .await
        .unwrap()
        .into_split();
    let over_tcp = over(read, write).await;
    served.await.unwrap().unwrap();

    let endpoint = Endpoint::new(everything::server()).unwrap();
    let client = Modern::new(&endpoint);
    let mut over_http = Vec::new();
    for (id, (method, params)) in scenario().into_iter().enumerate() {
        let request = request(id, method, params);
        let reply = client.mirroring(&request).post(request).await;
        over_http.push(bare(reply.answer().await));
    }
    assert_eq!(in_memory, over_tcp);
    assert_eq!(in_memory, over_http);
    assert_eq!(in_memory[5]["result"]["resultType"], "input_required");
    assert_eq!(in_memory[6]["error"]["code"], -32021);
}

// proves: M-META-005, M-META-011, M-VER-017, M-ERR-011, M-XPORT-003
#[tokio::test]
async fn requests_with_missing_members_have_a_matching_status() {
    let endpoint = Endpoint::new(everything::server()).unwrap();
    for lacking in ["protocolVersion", "clientCapabilities"] {
        let mut client = Modern::new(&endpoint);
        let meta = client.meta.as_object_mut().unwrap();
        meta.remove(&format!("io.modelcontextprotocol/{lacking}"));
        client.peer = client.peer.with("mcp-protocol-version", Some("2026-07-28"));
        let request = client.request(1, "tools/list", json!({}));
        let mirrored = client.peer.with("mcp-method", Some("tools/list"));
        let reply = mirrored.post(request).await;
        reply.refused(400, -32602).await;
    }
    // The body takes precedence over the header.
    let client = Modern::new(&endpoint);
    let request = client.request(1, "tools/call", named("test_simple_text", json!({})));
    let mirrored = client.mirroring(&request);
    let lying = mirrored.with("mcp-name", Some("test_image_content"));
    let reply = lying.post(request).await;
    reply.refused(400, -32020).await;
    // A handler notices it while it runs.
    let mut client = Modern::new(&endpoint);
    client.meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let tool = "test_input_required_result_sampling";
    let reply = client.tool(1, tool, json!({})).await;
    assert_eq!(reply.status, 400);
    let error = reply.json().await["error"].take();
    assert_eq!(error["code"], -32021);
    let expected = json!({ "requiredCapabilities": { "sampling": {} } });
    assert_eq!(error["data"], expected);

    let modern = everything::server().revisions([Revision::V2026_07_28]);
    let mut old = Http::new(&Endpoint::new(modern).unwrap());
    assert_eq!(old.initialize("2025-11-25", json!({})).await.status, 400);
    assert_eq!(old.call(1, "tools/list", json!({})).await.status, 400);
}

// proves: M-SUB-019, M-PROG-012, M-LOG-005
#[tokio::test]
async fn notifications_of_a_request_are_sent_on_its_stream() {
    let speaks = Tool::new("speaks", async |cx: Ctx| {
        cx.progress(1.0, None);
        cx.log(LoggingLevel::Info, "hi");
        tokio::task::yield_now().await;
        Ok::<_, HandlerError>("done")
    });
    let server = Server::new("s", "1").tool(speaks);
    let endpoint = Endpoint::new(server.clone()).unwrap();
    let quiet = Modern::new(&endpoint);
    let loud = quiet
        .with_meta("progressToken", "t")
        .with_meta("io.modelcontextprotocol/logLevel", "debug");
    let filter = json!({ "notifications": { "toolsListChanged": true } });
    let mut listen = quiet.call("l", "subscriptions/listen", filter).await;
    assert_eq!(listen.kind(), "text/event-stream");
    let mut first = loud.tool(1, "speaks", json!({})).await;
    let second = quiet.tool(2, "speaks", json!({})).await;
    assert_eq!(second.kind(), "application/json", "nothing was said of it");
    assert_eq!(second.answer().await["result"]["resultType"], "complete");
    assert_eq!(first.kind(), "text/event-stream");
    for method in ["notifications/progress", "notifications/message"] {
        assert_eq!(first.message().await.unwrap()["method"], method);
    }
    assert_eq!(first.message().await.unwrap()["id"], 1);
    assert_eq!(first.message().await, None);
    server.deliver(&mcp_server::Change::Tools);
    for method in [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
    ] {
        assert_eq!(
            listen.message().await.unwrap()["method"],
            method,
            "and nothing else"
        );
    }
}
