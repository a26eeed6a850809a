//! An endpoint in other HTTP servers, and what a handler sees of the request there.

use axum::middleware::{Next, from_fn};
use axum::{Router, routing};
use mcp_server::ServerBuilder;
use mcp_tests::tcp::{Conn, RunningServer, Session};
use mcp_transport_http::PeerAddr;
use tokio::net::TcpStream;

use crate::prelude::*;

/// A value that middleware attached for the handler.
#[derive(Clone)]
struct Extension(&'static str);

/// `who` returns the origin of its request.
fn who() -> ServerBuilder {
    Server::builder("who", "1").tool(Tool::new("who", |cx: Ctx| async move {
        // The facts of the request stay available during the call.
        tokio::task::yield_now().await;
        let parts = cx.transport::<http::request::Parts>();
        let header = parts.and_then(|it| it.headers.get("x-told")?.to_str().ok());
        let left = parts.and_then(|it| it.extensions.get::<Extension>());
        let peer = parts.and_then(|it| it.extensions.get::<PeerAddr>());
        json!({
            "method": parts.map(|it| it.method.as_str()),
            "path": parts.map(|it| it.uri.path()),
            "told": header,
            "left": left.map(|it| it.0),
            "peer": peer.map(|it| it.0.to_string()),
            "principal": cx.principal().map(Principal::as_str),
        })
        .to_string()
    }))
}

async fn ask(conn: &mut Conn, path: &str) -> Value {
    let session = Session::open_at(conn, path).await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who"}}"#;
    let answer = conn
        .ask(&session.post(call).with("x-told", "a thing"))
        .await;
    serde_json::from_str(&answer.said()).unwrap()
}

// In axum, at any path, beside other routes and behind middleware: the handler sees the head of the
// request, the value attached by the middleware, and the principal.
#[tokio::test]
async fn an_endpoint_is_a_service_of_axum() {
    let layer = from_fn(|mut request: axum::extract::Request, next: Next| {
        request.extensions_mut().insert(Principal::new("alice"));
        request.extensions_mut().insert(Extension("by the layer"));
        next.run(request)
    });
    let app = Router::new()
        .route_service("/tools/mcp", Endpoint::new(who()).unwrap())
        .layer(layer)
        .route("/health", routing::get(|| async { "ok" }));
    let (listener, address) = listen().await;
    tokio::spawn(async move { axum::serve(listener, app).await });
    let mut conn = Conn::new(TcpStream::connect(address).await.unwrap());
    let knows = ask(&mut conn, "/tools/mcp").await;
    let expected = json!({
        "method": "POST", "path": "/tools/mcp", "told": "a thing", "left": "by the layer",
        "peer": null, "principal": "alice",
    });
    assert_eq!(knows, expected);
}

// On the built-in listener the handler sees the address of the client, and no principal.
#[tokio::test]
async fn a_handler_can_read_the_address_of_the_client() {
    let served = RunningServer::start(who(), ServerOptions::new()).await;
    let mut conn = served.connect().await;
    let knows = ask(&mut conn, "/mcp").await;
    let expected = json!({
        "method": "POST", "path": "/mcp", "told": "a thing", "left": null,
        "peer": conn.address().to_string(), "principal": null,
    });
    assert_eq!(knows, expected);
}

// Over stdio the same handler finds nothing, and runs.
#[tokio::test]
async fn the_same_handler_runs_over_stdio() {
    let mut wire = PipeEnd::session(who()).await;
    let result = wire.tool("who", json!({})).await;
    let knows = result["content"][0]["text"].as_str().unwrap();
    let knows: Value = serde_json::from_str(knows).unwrap();
    let nothing = knows.as_object().unwrap().values().all(|it| it.is_null());
    assert!(nothing, "{knows}");
}
