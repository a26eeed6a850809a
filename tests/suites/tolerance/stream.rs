//! Responses on the GET stream, which some servers send after 202.

use mcp_transport_http::ClientOptions;

use crate::peer::client;
use crate::prelude::*;
use crate::scripted::{HttpServer, Stream, wired};

/// A client with a session and its GET stream.
async fn session(options: ClientOptions) -> (HttpServer, Stream, Client) {
    let (wired, mut server) = wired();
    let http = HttpTransport::new("http://server.test/mcp").unwrap();
    let http = http.service(wired).options(options);
    let builder = client().negotiation(Negotiation::SessionBased);
    let connecting = tokio::spawn(builder.connect(http));
    let result = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
        "serverInfo": { "name": "s", "version": "1" }
    });
    server
        .next()
        .await
        .answer_with("mcp-session-id", "4711", result);
    let mut stream = None;
    let client = connecting.await.unwrap().unwrap();
    for _ in 0..2 {
        let exchange = server.next().await;
        match exchange.head.method {
            Method::GET => stream = Some(exchange.stream()),
            _ => exchange.status(202),
        }
    }
    (server, stream.unwrap(), client)
}

#[tokio::test(start_paused = true)]
async fn a_response_on_the_get_stream_answers_its_request() {
    let (mut server, stream, client) = session(ClientOptions::new()).await;
    let host = client.clone();
    let listing = tokio::spawn(async move { host.list_tools().await });
    let exchange = server.next().await;
    let id = exchange.body["id"].clone();
    exchange.status(202);
    let tool = json!({ "name": "t", "inputSchema": { "type": "object" } });
    let response = json!({ "jsonrpc": "2.0", "id": id, "result": { "tools": [tool] } });
    stream.raw(&format!("data: {response}\n\n")).await;
    assert_eq!(listing.await.unwrap().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_strict_client_rejects_a_response_on_the_get_stream() {
    let options = ClientOptions::new().with_strictness(Strictness::Strict);
    let (mut server, _stream, client) = session(options).await;
    let listing = tokio::spawn(async move { client.list_tools().await });
    server.next().await.status(202);
    let error = listing.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("202"), "{error}");
}
