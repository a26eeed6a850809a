//! The HTTP+SSE transport of 2024-11-05, client side.

use std::net::SocketAddr;

use mcp_server::{Elicitation, ServerBuilder};
use mcp_transport_http::serve_with;
use mcp_types::{ElicitAction, ElicitResult};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::{Gate, pass, server};
use crate::prelude::*;
use crate::scripted::wired;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sure {
    sure: bool,
}

/// Serves until the sender is dropped.
async fn served(service: ServerBuilder) -> (SocketAddr, oneshot::Sender<()>, JoinSet<()>) {
    let options = ServerOptions::new()
        .with_legacy()
        .with_timeouts(|timeouts| timeouts.shutdown = Duration::ZERO);
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

fn client() -> ClientBuilder {
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
    let transport = HttpTransport::new(format!("http://{address}/sse")).unwrap();
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
    let transport = HttpTransport::new(format!("http://{address}/sse")).unwrap();
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

/// Connects to a server that refuses every POST with this status, and answers a GET with an endpoint of another origin.
/// Returns the error and the number of GETs.
async fn refused_with(status: u16) -> (String, usize) {
    let (service, mut server) = wired();
    let transport = HttpTransport::new("http://localhost/mcp")
        .unwrap()
        .service(service);
    let connecting = tokio::spawn(client().connect(transport));
    let mut gets = 0;
    while let Some(exchange) = server.recv().await {
        assert_eq!(exchange.head.uri.path(), "/mcp");
        if exchange.head.method == Method::GET {
            gets += 1;
            let stream = exchange.stream();
            let elsewhere = "http://127.0.0.1:1/steal?sessionId=secret";
            let event = format!("event: endpoint\ndata: {elsewhere}\n\n");
            stream.raw(&event).await;
        } else {
            exchange.status(status);
        }
    }
    let error = connecting.await.unwrap().unwrap_err();
    (error.to_string(), gets)
}

// proves: HTTP-068
#[tokio::test]
async fn only_the_statuses_400_404_and_405_lead_to_the_old_transport() {
    for (status, old) in [
        (400, true),
        (404, true),
        (405, true),
        (401, false),
        (403, false),
        (500, false),
    ] {
        let (error, gets) = refused_with(status).await;
        assert!(
            error.contains(&status.to_string()),
            "the first refusal is told: {error}"
        );
        // The endpoint event names another origin, so nothing is sent there.
        assert_eq!(gets, usize::from(old), "{status}");
        assert!(!error.contains("secret"), "{error}");
    }
}
