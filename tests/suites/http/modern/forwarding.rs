//! Requests of the stateless revision whose handler lets another endpoint respond.

use mcp_protocol::{Delivery, Outcome, Payload, Reply, RequestContext};
use mcp_tests::http::Peer;
use mcp_transport_http::serve_with;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::{Probe, permit_on_drop};
use crate::prelude::*;

fn url(address: SocketAddr) -> String {
    format!("http://{address}/mcp")
}

fn options(address: SocketAddr) -> ServerOptions {
    ServerOptions::new().with_forwarding(url(address).parse().unwrap())
}

/// The error of a handler whose request another endpoint was to answer.
fn not_forwarded() -> Outcome {
    Err(ErrorObject::invalid_params("not forwarded"))
}

fn said(text: &str) -> Outcome {
    Ok(Payload::of(
        json!({ "content": [{ "type": "text", "text": text }] }),
    ))
}

/// An endpoint whose handlers let the endpoint at `address` respond, at once or after they have waited, and the results of
/// `forward`.
fn forwarding(address: SocketAddr, waits: bool) -> (Endpoint, Arc<Mutex<Vec<bool>>>) {
    let chosen: Arc<Mutex<Vec<bool>>> = Arc::default();
    let choices = Arc::clone(&chosen);
    let probe = Probe::new(move |cx| {
        let choices = Arc::clone(&choices);
        let choose = move |cx: &RequestContext| {
            choices.lock().unwrap().push(cx.forward(&url(address)));
            not_forwarded()
        };
        if !waits {
            return Reply::Ready(choose(&cx));
        }
        Reply::Pending(Box::pin(async move {
            tokio::task::yield_now().await;
            choose(&cx)
        }))
    });
    (probe.endpoint_with(options(address)), chosen)
}

/// Serves an endpoint at a free port.
async fn served(probe: impl FnOnce(SocketAddr) -> Probe) -> (Endpoint, SocketAddr) {
    let (listener, address) = listen().await;
    let endpoint = probe(address).endpoint_with(options(address));
    tokio::spawn(serve_with(
        listener,
        endpoint.clone(),
        std::future::pending(),
    ));
    (endpoint, address)
}

/// Accepts a connection, and reads the request that arrives on it.
async fn accepted(listener: &TcpListener) -> (TcpStream, String) {
    let (mut connection, _) = listener.accept().await.unwrap();
    let mut request = String::new();
    while !request.contains("tools/call\"") {
        let mut bytes = [0; 4_096];
        let count = connection.read(&mut bytes).await.unwrap();
        assert_ne!(count, 0, "{request}");
        request += &String::from_utf8_lossy(&bytes[..count]);
    }
    (connection, request)
}

#[tokio::test]
async fn the_response_of_another_endpoint_is_passed_on() {
    for waits in [false, true] {
        let (_, address) = served(|_| {
            Probe::new(|cx| {
                let parts: &::http::request::Parts = cx.transport().unwrap();
                let sent = parts.headers["authorization"].to_str().unwrap();
                Reply::Ready(said(sent))
            })
        })
        .await;
        let (endpoint, chosen) = forwarding(address, waits);
        let mut client = StatelessPeer::new(&endpoint);
        client.peer = client.peer.with("authorization", Some("Bearer a"));
        for id in 0..3 {
            let reply = client.tool(id, "t", json!({ "long": "x".repeat(9_000) }));
            assert_eq!(reply.await.said().await, "Bearer a");
        }
        assert_eq!(*chosen.lock().unwrap(), [true; 3]);
        assert_eq!(endpoint.in_flight(), 0);
    }
}

#[tokio::test]
async fn a_forwarded_request_is_not_forwarded_again() {
    let (_, address) = served(|own| {
        Probe::new(move |cx| match cx.forward(&url(own)) {
            true => Reply::Ready(not_forwarded()),
            false => Reply::Ready(said("answered here")),
        })
    })
    .await;
    let (endpoint, _) = forwarding(address, false);
    let reply = StatelessPeer::new(&endpoint).tool(1, "t", json!({})).await;
    assert_eq!(reply.said().await, "answered here");
}

#[tokio::test]
async fn the_handler_responds_if_the_other_endpoint_cannot_be_reached() {
    for waits in [false, true] {
        let (listener, address) = listen().await;
        drop(listener);
        let (endpoint, chosen) = forwarding(address, waits);
        let client = StatelessPeer::new(&endpoint);
        let answer = client.tool(1, "t", json!({})).await.json().await;
        says(&answer, "not forwarded");
        assert_eq!(*chosen.lock().unwrap(), [true]);
        assert_eq!(endpoint.in_flight(), 0);
    }
}

#[tokio::test]
async fn the_error_for_a_lost_endpoint_says_that_the_request_may_have_run() {
    const HEAD: &str =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    for response in ["", HEAD] {
        let (listener, address) = listen().await;
        let (endpoint, _) = forwarding(address, false);
        let client = StatelessPeer::new(&endpoint);
        let call = tokio::spawn(async move { client.tool(7, "t", json!({})).await.answer().await });
        let (mut connection, request) = accepted(&listener).await;
        assert!(request.contains("mcp-forwarded: 1"), "{request}");
        connection.write_all(response.as_bytes()).await.unwrap();
        drop(connection);
        let answer = call.await.unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(7), &json!(-32603))
        );
        says(&answer, "may have run completely, partly, or not at all");
    }
}

/// A call without a response becomes an event stream after the keep-alive interval, so its head may be late.
#[tokio::test]
async fn the_head_of_a_response_may_come_after_the_keep_alive_interval() {
    let (listener, address) = listen().await;
    let (endpoint, _) = forwarding(address, false);
    let client = StatelessPeer::new(&endpoint);
    let start = Instant::now();
    let call = tokio::spawn(async move { client.tool(1, "t", json!({})).await.answer().await });
    let _silent = accepted(&listener).await;
    tokio::time::pause();
    says(&call.await.unwrap(), "has ended");
    assert!(
        start.elapsed() >= Duration::from_secs(25),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test]
async fn events_and_a_disconnect_of_the_client_are_forwarded() {
    let dropped = Arc::new(Semaphore::new(0));
    let gives = Arc::clone(&dropped);
    let (other, address) = served(|_| {
        Probe::new(move |cx| {
            let guard = permit_on_drop(&gives);
            Reply::Pending(Box::pin(async move {
                let _guard = guard;
                let link = cx.link();
                link.notify("notifications/x", None, Delivery::Always)
                    .unwrap();
                std::future::pending().await
            }))
        })
    })
    .await;
    let (endpoint, _) = forwarding(address, false);
    let mut call = StatelessPeer::new(&endpoint).tool(1, "t", json!({})).await;
    assert_eq!(call.message().await.unwrap()["method"], "notifications/x");
    assert_eq!((endpoint.in_flight(), other.in_flight()), (1, 1));
    drop(call);
    let _dropped = dropped.acquire().await.unwrap();
    assert_eq!(endpoint.in_flight(), 0);
}

#[tokio::test]
async fn a_request_that_cannot_be_forwarded_gets_the_response_of_its_handler() {
    let (_listener, address) = listen().await;
    let choose = move |to: &'static str, speaks: bool| {
        Probe::new(move |cx| {
            if speaks {
                let link = cx.link();
                link.notify("notifications/x", None, Delivery::Always)
                    .unwrap();
            }
            assert!(!cx.forward(to));
            Reply::Ready(said("here"))
        })
    };
    let to: &str = url(address).leak();
    // Without the option, with unusable addresses, and after a message.
    let without = choose(to, false).endpoint();
    let mut endpoints = vec![without, choose(to, true).endpoint_with(options(address))];
    for wrong in ["https://a/mcp", "/mcp", "", "http:///mcp", "\0"] {
        endpoints.push(choose(wrong, false).endpoint_with(options(address)));
    }
    for endpoint in &endpoints {
        let reply = StatelessPeer::new(endpoint).tool(1, "t", json!({})).await;
        assert_eq!(reply.said().await, "here");
    }
    // In sessions, and without them on the same revisions.
    let sessionless = options(address).without_sessions();
    for options in [options(address), sessionless] {
        let endpoint = choose(to, false).endpoint_with(options);
        let peer = Peer::open(&endpoint).await;
        assert_eq!(peer.tool(1, "t", json!({})).await.said().await, "here");
    }
}
