//! Differences over HTTP: transport, headers, start and end of a stream.

use mcp_server::ServerBuilder;
use mcp_tests::http::Peer;
use mcp_tests::network::Network;
use mcp_transport_http::serve_with;
use tokio::sync::oneshot;

use super::REVISIONS;
use crate::prelude::*;
use crate::scripted::{HttpServer, wired};

fn builder(revision: Revision) -> ClientBuilder {
    Client::builder("host", "1")
        .revision(revision)
        .on_elicit(async |form| form.accept(json!({ "username": "u", "email": "e@x" })))
}

/// Lists, calls, reads, and answers server requests on revisions that have them.
async fn talk(client: &Client, revision: Revision) {
    assert_eq!(client.revision(), revision);
    assert!(client.list_tools().await.unwrap().len() > 10);
    let sum = client.call_tool("add", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(sum.unwrap().joined_text(), "3");
    let asked = client
        .call_tool("test_elicitation", json!({ "message": "?" }))
        .await
        .unwrap();
    let asks = revision >= Revision::V2025_06_18;
    assert_eq!(asked.is_error == Some(true), !asks);
    let missing = client.read_resource("test://no").await.unwrap_err();
    assert!(matches!(missing, Error::Rejected(error) if error.code.0 == -32002));
}

#[tokio::test]
async fn every_revision_works_over_a_pipe() {
    for revision in Revision::WITH_SESSIONS {
        let connecting = connect(builder(revision), everything::server());
        let client = connecting.await.unwrap();
        talk(&client, revision).await;
        client.close().await.unwrap();
    }
}

// The header exists since 2025-06-18 and is harmless before.
// proves: LIFE-014
#[tokio::test]
async fn every_revision_works_over_streamable_http_and_names_itself_in_every_request() {
    for revision in Revision::WITH_SESSIONS {
        let network = Network::to(&Endpoint::new(everything::server()).unwrap());
        let transport = HttpTransport::new("http://localhost/mcp").unwrap();
        let client = builder(revision)
            .connect(transport.service(network.clone()))
            .await
            .unwrap();
        talk(&client, revision).await;
        client.close().await.unwrap();
        let seen = network.heads();
        let methods = |method: Method| seen.iter().filter(|(it, _)| *it == method).count();
        assert!(methods(Method::POST) > 4, "{seen:?}");
        assert!(
            methods(Method::GET) > 0 && methods(Method::DELETE) == 1,
            "{seen:?}"
        );
        assert!(seen[0].1.get("mcp-protocol-version").is_none());
        for (method, headers) in &seen[1..] {
            let named = headers.get("mcp-protocol-version");
            assert_eq!(named.unwrap(), revision.as_str(), "{method}");
            assert!(headers.contains_key("mcp-session-id"), "{method}");
        }
    }
}

// Framing depends on the transport, features on the revision.
#[tokio::test]
async fn every_revision_works_over_the_http_sse_transport_of_2024_11_05() {
    let options = ServerOptions::new()
        .with_legacy()
        .with_timeouts(|timeouts| timeouts.shutdown = Duration::ZERO);
    let endpoint = Endpoint::with_options(everything::server(), options).unwrap();
    let (listener, address) = listen().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(serve_with(listener, endpoint, async {
        stopped.await.unwrap_or_default();
    }));
    for revision in Revision::WITH_SESSIONS {
        let transport = HttpTransport::new(format!("http://{address}/sse")).unwrap();
        let client = builder(revision).connect(transport).await.unwrap();
        talk(&client, revision).await;
        client.close().await.unwrap();
    }
    drop(stop);
    serving.await.unwrap().unwrap();
}

fn releases() -> ServerBuilder {
    Server::builder("releases", "1").tool(Tool::new("long", |cx: Ctx| async move {
        let released = cx.release(Duration::from_millis(700));
        cx.progress(1.0, 2.0);
        // sleep: the clock is paused
        tokio::time::sleep(Duration::from_secs(3)).await;
        format!("released: {released}")
    }))
}

// A first event without data, and a stream that ends before its response, exist since 2025-11-25.
#[tokio::test(start_paused = true)]
async fn only_2025_11_25_has_event_streams_that_close_early_and_are_polled() {
    for revision in REVISIONS {
        let endpoint = Endpoint::new(releases()).unwrap();
        let peer = Peer::open_as(&endpoint, revision, json!({})).await;
        let polls = revision == "2025-11-25";
        let params = json!({ "name": "long", "_meta": { "progressToken": 1 } });
        let mut call = peer.call(1, "tools/call", params).await;
        let first = call.event().await.unwrap();
        assert!(first.id.is_some(), "{revision}: {first:?}");
        assert_eq!(first.data.as_deref() == Some(""), polls, "{revision}");
        let mut last = None;
        let mut id = first.id.clone();
        while let Some(event) = call.event().await {
            id = event.id.clone().or(id);
            last = event.data.is_some().then_some(event).or(last);
        }
        let answered = last.is_some_and(|event| event.json()["id"] == 1);
        assert_eq!(answered, !polls, "{revision}");
        if polls {
            assert_eq!(peer.get(id.as_deref()).await.said().await, "released: true");
        }
    }
}

// An interrupted stream is resumed with GET and delivers the rest.
#[tokio::test(start_paused = true)]
async fn a_stream_is_resumed_on_every_revision() {
    for revision in REVISIONS {
        let endpoint = Endpoint::new(releases()).unwrap();
        let peer = Peer::open_as(&endpoint, revision, json!({})).await;
        let params = json!({ "name": "long", "_meta": { "progressToken": 1 } });
        let mut call = peer.call(1, "tools/call", params).await;
        let first = call.event().await.unwrap();
        drop(call);
        let mut rest = peer.get(first.id.as_deref()).await;
        let mut said = Vec::new();
        while let Some(message) = rest.message().await {
            said.push(message);
        }
        assert_eq!(said.last().unwrap()["id"], 1, "{revision}: {said:?}");
    }
}

// Before 2025-11-25 the GET stream has no event without data either.
#[tokio::test]
async fn a_get_stream_of_an_older_revision_begins_with_a_notification() {
    for revision in &REVISIONS[..3] {
        let server = releases().build().unwrap();
        let endpoint = Endpoint::new(server.clone()).unwrap();
        let peer = Peer::open_as(&endpoint, revision, json!({})).await;
        let mut stream = peer.get(None).await;
        assert_eq!(stream.status, 200);
        server.tools().add([Tool::new("more", || "more")]).unwrap();
        let first = stream.event().await.unwrap();
        assert_eq!(first.json()["method"], "notifications/tools/list_changed");
    }
}

// Without the header the revision of the session counts; an unknown revision is rejected.
#[tokio::test]
async fn a_session_accepts_a_missing_version_header_and_refuses_an_invalid_header() {
    for revision in REVISIONS {
        let endpoint = Endpoint::new(everything::server()).unwrap();
        let peer = Peer::open_as(&endpoint, revision, json!({})).await;
        let batch = json!([{ "jsonrpc": "2.0", "id": 1, "method": "ping" }]);
        let without = peer.with("mcp-protocol-version", None);
        let status = without.post(batch).await.status;
        assert_eq!(status == StatusCode::OK, revision == "2025-03-26");
        let tools = without.call(2, "tools/list", json!({})).await.json().await;
        let titled = tools["result"]["tools"].as_array().unwrap().iter();
        assert_eq!(
            titled
                .clone()
                .any(|tool| tool.get("outputSchema").is_some()),
            revision >= "2025-06-18"
        );
        let bad = peer.with("mcp-protocol-version", Some("2099-01-01"));
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
            let reply = bad.send(method.clone(), ping).await;
            assert_eq!(reply.status, 400, "{revision} {method}");
        }
        assert_eq!(peer.call(4, "ping", Value::Null).await.status, 200);
        assert_eq!(peer.delete().await.status, 204);
        assert_eq!(peer.call(5, "ping", Value::Null).await.status, 404);
    }
}

// Every revision checks the origin.
#[tokio::test]
async fn a_request_from_a_foreign_web_page_is_rejected_at_every_revision() {
    for revision in REVISIONS {
        let endpoint = Endpoint::new(everything::server()).unwrap();
        let peer = Peer::open_as(&endpoint, revision, json!({})).await;
        let foreign = peer.with("origin", Some("https://evil.example"));
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
            assert_eq!(foreign.send(method, ping).await.status, 403, "{revision}");
        }
    }
}

/// Serves the HTTP+SSE transport: accepts messages with this status, and sends events without a name.
async fn oldest(mut server: HttpServer, accepts: u16) {
    let mut stream = None;
    while let Some(exchange) = server.recv().await {
        match (exchange.head.method.as_str(), exchange.head.uri.path()) {
            ("GET", "/sse") => {
                let events = exchange.stream();
                let address = "event: endpoint\ndata: /messages?id=1\n\n";
                events.raw(address).await;
                stream = Some(events);
            }
            ("POST", "/messages") => {
                let message = exchange.body.clone();
                exchange.status(accepts);
                let result = match message["method"].as_str() {
                    Some("initialize") => json!({
                        "protocolVersion": "2024-11-05", "capabilities": { "tools": {} },
                        "serverInfo": { "name": "oldest", "version": "0" }
                    }),
                    _ => json!({ "content": [{ "type": "text", "text": "old" }] }),
                };
                if let (Some(id), Some(stream)) = (message.get("id"), &stream) {
                    let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
                    stream.raw(&format!(": news\n\ndata: {answer}\n\n")).await;
                }
            }
            _ => exchange.status(405),
        }
    }
}

#[tokio::test]
async fn every_success_status_accepts_a_message_of_the_old_transport() {
    for accepts in [200, 202, 204] {
        let (service, server) = wired();
        tokio::spawn(oldest(server, accepts));
        let transport = HttpTransport::new("http://localhost/sse")
            .unwrap()
            .service(service);
        let client = Client::builder("host", "1").connect(transport);
        let client = client.await.unwrap();
        assert_eq!(client.revision(), Revision::V2024_11_05);
        assert_eq!(called(&client, "t", json!({})).await, "old", "{accepts}");
        client.close().await.unwrap();
    }
}
