//! The HTTP+SSE transport of 2024-11-05, client side.

use std::net::SocketAddr;

use mcp_server::Elicitation;
use mcp_transport_http::serve_with;
use mcp_types::{ElicitAction, ElicitResult};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::{Gate, pass, server};
use crate::prelude::*;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sure {
    sure: bool,
}

/// Serves until the sender is dropped.
async fn served(service: Server) -> (SocketAddr, oneshot::Sender<()>, JoinSet<()>) {
    let options = Options::new()
        .with_legacy()
        .with_shutdown_timeout(Duration::ZERO);
    let endpoint = Endpoint::with_options(service, options).unwrap();
    let (listener, address) = listen().await;
    let (stop, stopped) = oneshot::channel();
    let mut task = JoinSet::new();
    task.spawn(async move {
        let ended = async { stopped.await.unwrap_or_default() };
        serve_with(listener, endpoint, ended).await.unwrap();
    });
    (address, stop, task)
}

fn client() -> Builder {
    Client::builder("new", "1").on_elicit(|_| async {
        ElicitResult::new(ElicitAction::Accept)
            .with_content([("sure".to_owned(), true.into())].into())
    })
}

// proves: HTTP-067, HTTP-069, SSE-006
#[tokio::test]
async fn an_old_server_is_detected_and_served_with_its_transport() {
    let gate = Gate::new();
    let service = server(&gate).tool(Tool::new("ask", |cx: Ctx| async move {
        match cx.elicit::<Sure>("Sure?").await {
            Ok(Elicitation::Accepted(answer)) => answer.sure.to_string(),
            other => format!("{:?}", other.is_ok()),
        }
    }));
    let (address, _stop, _task) = served(service).await;
    let transport = Http::new(format!("http://{address}/sse")).unwrap();
    let client = client().connect(transport).await.unwrap();
    assert_eq!(client.server_info().name, "http");
    assert_eq!(
        called(&client, "echo", json!({"message": "hi"})).await,
        "hi"
    );
    assert_eq!(called(&client, "ask", json!({})).await, "true");
    let calls: Vec<_> = (0..20)
        .map(|n| {
            client
                .call_tool("echo", json!({"message": n.to_string()}))
                .into_future()
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap().joined_text(), n.to_string());
    }
    client.close().await.unwrap();
}

#[tokio::test]
async fn the_end_of_the_stream_fails_waiting_calls_with_the_reason() {
    let gate = Gate::new();
    let (address, stop, mut task) = served(server(&gate)).await;
    let transport = Http::new(format!("http://{address}/sse")).unwrap();
    let client = client().connect(transport).await.unwrap();
    let call = tokio::spawn(
        client
            .call_tool("wait", json!({"message": "x"}))
            .into_future(),
    );
    pass(&gate.started).await;
    drop(stop);
    assert_fails!(call.await.unwrap(), Error::Closed(_));
    assert!(client.closed().await.to_string().contains("stream"));
    while task.join_next().await.is_some() {}
}

/// A server that sends the same text to the first request of each connection, and counts the
/// connections.
async fn answers(text: &'static str) -> (SocketAddr, Arc<AtomicUsize>, JoinSet<()>) {
    let (listener, address) = listen().await;
    let gets = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&gets);
    let mut task = JoinSet::new();
    task.spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 4_096];
            let length = socket.read(&mut request).await.unwrap();
            let is_get = request[..length].starts_with(b"GET");
            if is_get {
                count.fetch_add(1, Ordering::AcqRel);
            }
            let event = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n\
                         event: endpoint\ndata: http://127.0.0.1:1/steal?sessionId=secret\n\n";
            let text = if is_get { event } else { text };
            socket.write_all(text.as_bytes()).await.unwrap();
        }
    });
    (address, gets, task)
}

// proves: HTTP-068
#[tokio::test]
async fn only_three_refusals_lead_to_the_old_transport() {
    for (status, old) in [
        (400, true),
        (404, true),
        (405, true),
        (401, false),
        (403, false),
        (500, false),
    ] {
        let text =
            format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let (address, gets, _task) = answers(text.leak()).await;
        let transport = Http::new(format!("http://{address}/mcp")).unwrap();
        fails_with(client().connect(transport).await, &status.to_string());
        assert_eq!(gets.load(Ordering::Acquire) > 0, old, "{status}");
    }
}

// The endpoint event names another origin, so nothing is sent there.
#[tokio::test]
async fn an_address_of_another_origin_gets_nothing() {
    let text = "HTTP/1.1 405 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (address, gets, _task) = answers(text).await;
    let transport = Http::new(format!("http://{address}/mcp")).unwrap();
    let error = client().connect(transport).await.unwrap_err().to_string();
    assert_eq!(gets.load(Ordering::Acquire), 1);
    assert!(!error.contains("secret"), "{error}");
}
