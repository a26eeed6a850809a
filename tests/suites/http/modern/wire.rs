//! Interrupted connections over real sockets.

use mcp_protocol::{Delivery, Reply};
use mcp_tests::tcp::{Request, RunningServer};
use mcp_types::{CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY};

use super::super::pass;
use super::{Probe, permit_on_drop};
use crate::prelude::*;

/// A request and the headers that repeat its values.
fn request(method: &str, mut params: Value) -> Request {
    params["_meta"] = json!({PROTOCOL_VERSION_KEY: "2026-07-28", CLIENT_CAPABILITIES_KEY: {}});
    let name = params["name"].as_str().map(str::to_owned);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = Request::post(body.to_string())
        .with("mcp-protocol-version", "2026-07-28")
        .with("MCP-METHOD", method);
    match name {
        Some(name) => request.with("Mcp-Name", name),
        None => request,
    }
}

// proves: M-HTTP-028, M-HTTP-041, M-CANC-004
#[tokio::test]
async fn a_broken_connection_cancels_its_running_calls() {
    let dropped = Arc::new(Semaphore::new(0));
    let started = Arc::new(Semaphore::new(0));
    let (drops, starts) = (Arc::clone(&dropped), Arc::clone(&started));
    let calls = AtomicUsize::new(0);
    let probe = Probe::new(move |cx| {
        // Every second call sends a notification first.
        if calls.fetch_add(1, Ordering::AcqRel) % 2 == 1 {
            let link = cx.exchange().link();
            link.notify("notifications/x", None, Delivery::Lossy)
                .unwrap();
        }
        let guard = permit_on_drop(&drops);
        starts.add_permits(1);
        Reply::Pending(Box::pin(async move {
            let _guard = guard;
            std::future::pending().await
        }))
    });
    let served = RunningServer::start(probe, ServerOptions::new()).await;
    for speaks in [false, true, false, true] {
        let mut conn = served.connect().await;
        let call = request("tools/call", json!({"name": "go"}));
        conn.send(call.bytes()).await;
        pass(&started).await;
        if speaks {
            let head = conn.head().await;
            assert_eq!(head.header("content-type"), Some("text/event-stream"));
            assert_eq!(head.header("x-accel-buffering"), Some("no"));
            assert!(conn.chunk().await.is_some());
        }
        drop(conn);
        pass(&dropped).await;
    }
    assert_eq!(served.endpoint.in_flight(), 0);
    served.stop().await;
}

// proves: M-HTTP-028
#[tokio::test]
async fn subscriptions_end_with_their_connections_and_with_the_server() {
    let server = Server::builder("listens", "1").tool(Tool::new("a", || "a"));
    let served = RunningServer::start(server, ServerOptions::new()).await;
    let listen = request(
        "subscriptions/listen",
        json!({"notifications": {"toolsListChanged": true}}),
    );
    let mut conns = Vec::new();
    for _ in 0..2 {
        let mut conn = served.connect().await;
        conn.send(listen.bytes()).await;
        assert_eq!(conn.head().await.status, 200);
        let acknowledged = conn.chunk().await.unwrap();
        let acknowledged = String::from_utf8(acknowledged).unwrap();
        assert!(acknowledged.contains("acknowledged"), "{acknowledged}");
        conns.push(conn);
    }
    drop(conns.pop());
    while served.endpoint.subscriptions() > 1 {
        tokio::task::yield_now().await;
    }
    served.stop().await;
    let mut conn = conns.pop().unwrap();
    let last = String::from_utf8(conn.chunk().await.unwrap()).unwrap();
    assert!(last.contains("\"result\""), "{last}");
    assert_eq!(conn.chunk().await, None);
    assert_eq!(conn.closed().await, b"");
}
