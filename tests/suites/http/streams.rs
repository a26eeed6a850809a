//! GET streams, and which message is sent on which stream.

use mcp_tests::http::Peer;

use super::{Gate, opened, server, with};
use crate::prelude::*;

// proves: HTTP-033, HTTP-032
#[tokio::test]
async fn a_get_opens_a_stream_or_is_rejected() {
    let (_gate, _endpoint, peer) = opened().await;
    let reply = peer.get(None).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.kind(), "text/event-stream");
    let reply = peer
        .with("accept", Some("application/json"))
        .get(None)
        .await;
    assert_eq!(reply.status, 406);
}

// proves: HTTP-035, HTTP-036, HTTP-037, HTTP-042, HTTP-043, HTTP-038
#[tokio::test]
async fn notifications_are_sent_on_one_stream_and_messages_of_a_call_on_its_stream() {
    let gate = Gate::new();
    let service = server(&gate).build().unwrap();
    let endpoint = Endpoint::new(service.clone()).unwrap();
    let peer = Peer::open(&endpoint).await;
    let mut first = peer.get(None).await;
    service.tools().add([Tool::new("more", || "more")]).unwrap();
    let news = first.message().await.unwrap();
    assert_eq!(news["method"], "notifications/tools/list_changed");
    // A second stream takes over, and the first one ends.
    let mut second = peer.get(None).await;
    assert_eq!(first.event().await, None);
    let params = json!({
        "name": "quick", "arguments": {"message": "x"}, "_meta": {"progressToken": 1},
    });
    let mut call = peer.call(1, "tools/call", params).await;
    let progress = loop {
        let message = call.message().await.unwrap();
        if message["method"] == "notifications/progress" {
            break message;
        }
    };
    assert_eq!(progress["params"]["progressToken"], 1);
    service.tools().add([Tool::new("most", || "most")]).unwrap();
    let news = second.message().await.unwrap();
    assert_eq!(
        news["method"], "notifications/tools/list_changed",
        "nothing came before it"
    );
    drop(second);
    assert_eq!(peer.call(2, "ping", json!({})).await.status, 200);
}

#[tokio::test]
async fn notifications_wait_for_the_stream_that_is_opened_later() {
    let gate = Gate::new();
    let service = server(&gate).build().unwrap();
    let endpoint = Endpoint::new(service.clone()).unwrap();
    let peer = Peer::open(&endpoint).await;
    service.tools().add([Tool::new("more", || "more")]).unwrap();
    let mut stream = peer.get(None).await;
    let news = stream.message().await.unwrap();
    assert_eq!(news["method"], "notifications/tools/list_changed");
    drop(stream);
    // Delivered events are not delivered again.
    service.tools().add([Tool::new("most", || "most")]).unwrap();
    let mut stream = peer.get(None).await;
    assert!(stream.message().await.is_some());
    peer.delete().await;
    assert_eq!(
        stream.event().await,
        None,
        "the end of the session ends its streams"
    );
}

// proves: HTTP-024
#[tokio::test]
async fn a_server_request_is_sent_on_the_stream_of_its_call_and_answered_by_post() {
    let service = Server::builder("asks", "1").tool(Tool::new("ask", |cx: Ctx| async move {
        match cx.elicit::<Name>("Sure?").await {
            Ok(answer) => format!("{}", matches!(answer, mcp_server::Elicitation::Accepted(_))),
            Err(error) => error.to_string(),
        }
    }));
    let endpoint = Endpoint::new(service).unwrap();
    for revision in ["2025-06-18", "2025-11-25"] {
        let peer = Peer::open_as(&endpoint, revision, json!({"elicitation": {}})).await;
        let mut call = peer.tool("ask", "ask", json!({})).await;
        let question = call.message().await.unwrap();
        assert_eq!(question["method"], "elicitation/create");
        let answer = json!({
            "jsonrpc": "2.0", "id": question["id"],
            "result": {"action": "accept", "content": {"name": "Ada"}},
        });
        assert_eq!(peer.post(answer).await.status, 202);
        let answer = call.message().await.unwrap();
        assert_eq!(answer["result"]["content"][0]["text"], "true", "{answer}");
    }
}

#[tokio::test]
async fn a_malformed_response_of_a_client_fails_the_server_request() {
    let service = Server::builder("asks", "1").tool(Tool::new("ask", async |cx: Ctx| {
        cx.elicit::<Name>("Sure?").await.map(|_| "asked")
    }));
    let endpoint = Endpoint::new(service).unwrap();
    for response in [
        r#"{"jsonrpc":"2.0","id":ID,"result":{"action":NaN}}"#,
        r#"{"jsonrpc":"2.0","result":{"action":"\x"},"id":ID}"#,
        r#"[{"jsonrpc":"2.0","id":ID,"result":{"action":"cancel"}}]"#,
    ] {
        let peer = Peer::open_as(&endpoint, "2025-11-25", json!({"elicitation": {}})).await;
        let mut call = peer.tool("ask", "ask", json!({})).await;
        let request = call.message().await.unwrap();
        let response = response.replace("ID", &request["id"].to_string());
        assert_eq!(peer.send(Method::POST, response).await.status, 400);
        let answer = call.message().await.unwrap();
        assert_eq!(answer["id"], "ask", "{answer}");
    }
}

#[tokio::test]
async fn the_number_of_open_streams_of_a_session_is_limited() {
    let endpoint = with(
        &Gate::new(),
        ServerOptions::new().with_session_limits(|limits| limits.max_streams_per_session = 1),
    );
    let peer = Peer::open(&endpoint).await;
    let first = peer.get(None).await;
    let second = peer.get(None).await;
    assert_eq!(second.status, 429);
    assert!(second.text().await.contains("max_streams_per_session"));
    drop(first);
    assert_eq!(peer.get(None).await.status, 200);
}

// proves: HTTP-026
#[tokio::test(start_paused = true)]
async fn closing_the_endpoint_lets_calls_finish_and_ends_every_stream() {
    let (gate, endpoint, peer) = opened().await;
    let mut news = peer.get(None).await;
    let quick = peer.tool(1, "wait", json!({"message": "in time"})).await;
    let closing = tokio::spawn({
        let endpoint = endpoint.clone();
        async move { endpoint.close().await }
    });
    tokio::task::yield_now().await;
    assert_eq!(peer.call(2, "ping", json!({})).await.status, 503);
    gate.go.add_permits(1);
    assert_eq!(quick.said().await, "in time");
    closing.await.unwrap();
    assert_eq!(news.event().await, None);
    assert_eq!(endpoint.sessions(), 0);
}

#[tokio::test(start_paused = true)]
async fn closing_the_endpoint_is_limited_in_time() {
    let (_gate, endpoint, peer) = opened().await;
    let stuck = peer.tool(1, "wait", json!({"message": "never"})).await;
    endpoint.close().await;
    assert_eq!(stuck.answer().await, Value::Null);
    assert_eq!(endpoint.in_flight(), 0);
}
