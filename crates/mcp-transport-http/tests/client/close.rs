//! The end of a connection.

use std::time::Duration;

use mcp_transport_http::ClientOptions;
use mcp_types::method;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::support::*;

const HOUR: Duration = Duration::from_secs(3_600);
const LOCAL: &str = "connection closed by this side";

fn close(pair: &Pair) -> JoinHandle<()> {
    let closing = pair.connection.close();
    tokio::spawn(async move { closing.await.unwrap() })
}

// proves: HTTP-060, HTTP-061
#[tokio::test(start_paused = true)]
async fn closing_ends_the_session_once_whatever_the_server_responds() {
    for status in [200, 202, 204, 405, 404, 500] {
        let mut pair = Pair::open(quiet()).await;
        let both = [close(&pair), close(&pair)];
        let end = pair.server.next().await;
        assert_eq!(end.head.method, http::Method::DELETE);
        assert_eq!(end.header("mcp-session-id"), Some(SESSION));
        end.status(status);
        for closing in both {
            closing.await.unwrap();
        }
        assert_eq!(pair.connection.closed().await.to_string(), LOCAL);
        assert_eq!(
            pair.notes.next().await,
            ReceivedMessage::Closed(LOCAL.into())
        );
        drop(pair.connection);
        pair.server.receives_nothing_for(HOUR).await;
        assert!(pair.notes.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn closing_fails_pending_and_later_calls_at_once() {
    let mut pair = Pair::open(quiet()).await;
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    let streaming = pair.call(method::TOOLS_CALL);
    let stream = pair.server.expect(method::TOOLS_CALL).await.stream();
    settle().await;
    let closing = close(&pair);
    assert_eq!(failure(call).await, LOCAL);
    assert_eq!(failure(streaming).await, LOCAL);
    seen.abandoned().await;
    stream.abandoned().await;
    assert_eq!(failure(pair.call(method::PING)).await, LOCAL);
    let always = mcp_protocol::Delivery::Always;
    assert_eq!(
        pair.link.notify("n", None, always).unwrap_err().to_string(),
        LOCAL
    );
    // Calls are not cancelled individually: the session ends.
    let end = pair.server.next().await;
    assert_eq!(end.head.method, http::Method::DELETE);
    end.status(200);
    closing.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn closing_has_a_timeout() {
    let options = quiet().with_close_timeout(Duration::from_secs(6));
    let mut pair = Pair::open(options).await;
    pair.notify("notifications/stuck");
    let stuck = pair.server.expect("notifications/stuck").await;
    let began = Instant::now();
    let closing = close(&pair);
    let end = pair.server.next().await;
    assert_eq!(end.head.method, http::Method::DELETE);
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    closing.await.unwrap();
    assert_eq!(began.elapsed(), Duration::from_secs(6));
    stuck.abandoned().await;
    end.abandoned().await;
}

#[tokio::test(start_paused = true)]
async fn queued_notifications_are_sent_before_the_session_ends() {
    let mut pair = Pair::open(quiet()).await;
    pair.notify("notifications/first");
    pair.notify("notifications/second");
    let closing = close(&pair);
    pair.server.expect("notifications/first").await.accept();
    pair.server.expect("notifications/second").await.accept();
    let end = pair.server.next().await;
    assert_eq!(end.head.method, http::Method::DELETE);
    end.status(200);
    closing.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn no_message_is_delivered_after_closing() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    let stream = pair.server.expect_get().await.stream();
    settle().await;
    let closing = pair.connection.close();
    let closing = tokio::spawn(closing);
    settle().await;
    stream
        .try_raw(b"data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n".to_vec())
        .await;
    pair.server.next().await.status(200);
    closing.await.unwrap().unwrap();
    assert_eq!(
        pair.notes.next().await,
        ReceivedMessage::Closed(LOCAL.into())
    );
    assert!(pair.notes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_connection_ends_it_in_the_background() {
    let mut pair = Pair::open(quiet_but_listening()).await;
    let stream = pair.server.expect_get().await.stream();
    let call = pair.call(method::TOOLS_CALL);
    let seen = pair.server.expect(method::TOOLS_CALL).await;
    drop(pair.connection);
    assert_eq!(failure(call).await, LOCAL);
    seen.abandoned().await;
    stream.abandoned().await;
    let end = pair.server.next().await;
    assert_eq!(end.head.method, http::Method::DELETE);
    end.status(200);
    assert_eq!(
        pair.notes.next().await,
        ReceivedMessage::Closed(LOCAL.into())
    );
}

#[test]
fn the_connection_can_be_dropped_after_its_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let pair = runtime.block_on(Pair::open(ClientOptions::new()));
    let call = pair.link.request(method::TOOLS_CALL, None);
    drop(runtime);
    drop(call);
    let closed = pair.connection.close();
    drop(pair);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(closed).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_dropped_connection_leaves_no_tasks() {
    let (wire, server) = wire();
    let http = http(wire, ClientOptions::new());
    let (ear, mut notes) = ear();
    let ear = std::sync::Arc::new(ear);
    let inbound = std::sync::Arc::downgrade(&ear);
    let mut server = server;
    {
        use mcp_protocol::Transport;
        let connection = Box::new(http).start(ear).await.unwrap();
        let link = connection.link();
        let call = spawn(link.request(method::INITIALIZE, Some(initialize())));
        server
            .expect(method::INITIALIZE)
            .await
            .open(Some(SESSION), "2025-11-25");
        result(call).await;
        link.notify(
            method::NOTIFICATIONS_INITIALIZED,
            None,
            mcp_protocol::Delivery::Always,
        )
        .unwrap();
        server
            .expect(method::NOTIFICATIONS_INITIALIZED)
            .await
            .accept();
        let stream = server.expect_get().await.stream();
        let question = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        stream.event("", &question).await;
        server.next().await.accept();
        let closing = tokio::spawn(connection.close());
        server.next().await.status(200);
        closing.await.unwrap().unwrap();
    }
    assert!(matches!(
        notes.next().await,
        ReceivedMessage::ServerRequest(_)
    ));
    assert!(matches!(notes.next().await, ReceivedMessage::Closed(_)));
    settle().await;
    assert!(
        inbound.upgrade().is_none(),
        "something still holds the connection"
    );
}
