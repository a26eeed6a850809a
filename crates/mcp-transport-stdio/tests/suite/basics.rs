//! Sessions in memory.

use mcp_transport_stdio::{duplex, in_memory, serve, serve_io};

use crate::fixture::Fixture;
use crate::support::{call, open, soon, tool};

// proves: CUST-001, CUST-003
#[tokio::test]
async fn a_session_works_over_pipes_in_memory() {
    let connection = open(in_memory(Fixture)).await;
    for name in ["echo", "later", "think"] {
        assert_eq!(
            tool(&*connection, name, "hi\nthere").await.unwrap(),
            "hi\nthere"
        );
    }
    let asked = tool(&*connection, "ask", "").await.unwrap();
    assert_eq!(asked, "refused: method \"roots/list\" is not available");
    soon(connection.close()).await.unwrap();
    assert!(soon(connection.closed()).await.is_local());
    let error = call(&*connection, "ping", serde_json::json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "connection closed by this side");
}

#[tokio::test]
async fn a_large_response_is_delivered_through_a_small_pipe() {
    let connection = open(in_memory(Fixture).capacity(100)).await;
    let text = tool(&*connection, "big", "1000000").await.unwrap();
    assert_eq!(text.len(), 1_000_000);
    soon(connection.close()).await.unwrap();
}

#[tokio::test]
async fn a_duplex_connects_a_client_and_a_server() {
    let (client, server) = duplex(1 << 10);
    let serving = tokio::spawn(server.serve(Fixture));
    let connection = open(client).await;
    assert_eq!(tool(&*connection, "echo", "hi").await.unwrap(), "hi");
    drop(connection);
    soon(serving).await.unwrap().unwrap();
}

#[test]
fn the_future_that_serves_a_client_can_be_spawned() {
    fn is_send<T: Send>(_: T) {}
    is_send(serve(Fixture));
    is_send(serve_io(Fixture, tokio::io::empty(), tokio::io::sink()));
}
