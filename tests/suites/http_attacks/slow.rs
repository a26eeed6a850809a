//! T16: peers that send almost nothing for as long as possible. T17: clients that stop reading.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use mcp_protocol::BoxFuture;
use mcp_tests::http::Peer;
use mcp_tests::tcp::{Conn, RunningServer, tool};
use mcp_transport_http::{Durability, EventStore, EventStoreError, Replay, SessionId, StreamKey};

use tower_service::Service as _;

use super::h2::H2;
use super::{FLOOD, Gate, healthy, server};
use crate::prelude::*;

/// The timeouts of the servers here.
const SHORT: Duration = Duration::from_millis(300);

/// The HTTP/2 connection preface. Empty settings follow.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

async fn impatient() -> RunningServer {
    let options = ServerOptions::new()
        .with_timeouts(|timeouts| timeouts.head = SHORT)
        .with_timeouts(|timeouts| timeouts.body = SHORT);
    RunningServer::start(server(&Gate::new()), options).await
}

// Connections that stop at any point of a request head, HTTP/1 or HTTP/2, are closed; other calls
// are served.
#[tokio::test]
async fn t16_a_head_that_never_ends_times_out() {
    let served = impatient().await;
    let (mut well, session) = served.open().await;
    let head = session.tool(1, "echo", "x").head();
    let h2 = [PREFACE, SETTINGS].concat();
    let beginnings: Vec<&[u8]> = vec![
        b"",
        b"P",
        b"PRI * HT",
        &PREFACE[..23],
        PREFACE,
        &h2,
        b"POST",
        &head[..head.len() / 2],
        &head[..head.len() - 2],
        &head[..head.len() - 1],
    ];
    let mut conns = Vec::new();
    for _ in 0..10 {
        for beginning in &beginnings {
            let mut conn = served.connect().await;
            conn.send(beginning).await;
            conns.push(conn);
        }
        healthy(&mut well, &session).await;
    }
    for mut conn in conns {
        let said = conn.closed().await;
        let said = String::from_utf8_lossy(&said);
        assert!(!said.contains("HTTP/1.1 200"), "{said}");
    }
    let (mut well, _) = served.open().await;
    healthy(&mut well, &session).await;
}

// A body that arrives byte by byte is rejected at the timeout; other calls are served meanwhile.
#[tokio::test]
async fn t16_a_body_that_arrives_too_slowly_times_out() {
    let served = impatient().await;
    let (mut well, session) = served.open().await;
    let request = session.tool(1, "echo", &"x".repeat(100_000));
    let body = request.bytes().split_off(request.head().len());
    let mut conns = Vec::new();
    for _ in 0..50 {
        let mut conn = served.connect().await;
        conn.send(request.head()).await;
        conns.push(conn);
    }
    // The other calls set the pace.
    let mut sent = 0;
    let mut refused = 0;
    while !conns.is_empty() {
        healthy(&mut well, &session).await;
        let byte = &body[sent..=sent];
        sent += 1;
        let mut open = Vec::new();
        for mut conn in conns {
            if conn.try_send(byte).await.is_ok() && !conn.has_answer() {
                open.push(conn);
                continue;
            }
            let said = conn.closed().await;
            let said = String::from_utf8_lossy(&said);
            assert!(said.starts_with("HTTP/1.1 408"), "{said}");
            assert!(said.contains("ServerTimeouts::body"), "{said}");
            refused += 1;
        }
        conns = open;
    }
    assert_eq!(refused, 50);
    assert!(sent > 1, "some of it came");
}

// A used connection that becomes idle is closed too, and one with an open stream is not.
#[tokio::test]
async fn t16_an_idle_connection_is_closed_and_an_open_stream_is_not() {
    let served = impatient().await;
    let (mut idle, session) = served.open().await;
    let (mut listens, other) = served.open().await;
    listens.send(other.get().bytes()).await;
    assert_eq!(listens.head().await.status, 200);
    assert_eq!(idle.closed().await, b"");
    let mut conn = served.connect().await;
    healthy(&mut conn, &session).await;
    // The stream survived the connection that was used later.
    let end = other.post("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    let end = end.line("DELETE /mcp HTTP/1.1");
    assert_eq!(conn.ask(&end).await.status, 204);
    assert_eq!(listens.chunk().await, None);
}

// Connections above the limit wait to be accepted; the first one that closes makes room.
#[tokio::test]
async fn t16_the_number_of_connections_is_limited() {
    let options = ServerOptions::new()
        .with_connection_limits(|limits| limits.max_connections = 2)
        .with_client_share(100);
    let served = RunningServer::start(server(&Gate::new()), options).await;
    let (one, session) = served.open().await;
    let (_two, _) = served.open().await;
    let mut three = served.connect().await;
    three.send(session.tool(3, "echo", "three").bytes()).await;
    tokio::task::yield_now().await;
    assert!(!three.has_answer());
    drop(one);
    assert_eq!(three.answer().await.said(), "three");
}

// A head above the limit is rejected without being read completely.
#[tokio::test]
async fn t16_a_head_has_a_limit() {
    let options =
        ServerOptions::new().with_connection_limits(|limits| limits.max_head_bytes = 16 << 10);
    let served = RunningServer::start(server(&Gate::new()), options).await;
    let (mut conn, session) = served.open().await;
    let fits = session
        .tool(1, "echo", "x")
        .with("x-long", "x".repeat(12 << 10));
    assert_eq!(conn.ask(&fits).await.said(), "x");
    let mut head = session.get().with("x-long", "x".repeat(17 << 10)).head();
    head.truncate(16 << 10);
    conn.send(head).await;
    assert_eq!(conn.head().await.status, 431);
}

const READERS: usize = 20;

/// Longer than anything here takes on a busy machine.
const HANG: Duration = Duration::from_secs(60);

/// An event store that stores nothing and knows which events are still referenced.
#[derive(Debug, Clone, Default)]
struct Scales(Arc<Mutex<Vec<Bytes>>>);

impl Scales {
    /// Returns how many bytes of events are in queues and buffers.
    fn held(&self) -> usize {
        let mut events = self.0.lock().unwrap();
        events.retain(|event| !event.is_unique());
        events.iter().map(Bytes::len).sum()
    }
}

impl EventStore for Scales {
    fn append(&self, _: StreamKey, sequence: u64, event: Bytes) -> Durability {
        if sequence.is_multiple_of(100) {
            self.held();
        }
        self.0.lock().unwrap().push(event);
        Durability::Immediate
    }

    fn replay(
        &self,
        _: StreamKey,
        _: u64,
        _: usize,
    ) -> BoxFuture<'_, Result<Replay, EventStoreError>> {
        Box::pin(std::future::ready(Ok(Replay::Gone)))
    }

    fn forget_stream(&self, _: StreamKey) {}
    fn forget_session(&self, _: SessionId) {}
    fn expire(&self, _: tokio::time::Instant) {}
}

/// Starts a call that sends too much, and reads only the head of the response.
async fn unread(served: &RunningServer) -> Conn {
    let (_, session) = served.open().await;
    let mut conn = Conn::narrow(served.address).await;
    conn.send(session.tool(1, "floods", "x").bytes()).await;
    assert_eq!(conn.head().await.status, 200);
    conn
}

// Unread streams of 6 MiB: their handlers end, each holds little memory, and other calls are served
// normally.
#[tokio::test]
async fn t17_an_unread_stream_takes_little_memory_and_delays_no_other_stream() {
    let scales = Scales::default();
    let options = ServerOptions::new().with_event_store(scales.clone());
    let served = RunningServer::start(server(&Gate::new()), options).await;
    let (mut well, session) = served.open().await;
    let mut longest = Duration::ZERO;
    let mut conns = Vec::new();
    for _ in 0..READERS {
        conns.push(unread(&served).await);
        let start = Instant::now();
        healthy(&mut well, &session).await;
        longest = longest.max(start.elapsed());
    }
    // No handler waits for a reader.
    served.idle().await;
    assert!(longest < Duration::from_secs(10), "{longest:?}");
    let held = scales.held();
    // The buffer of the connection, the event that exceeds its limit, and the events left in the
    // queue.
    let each = (64 << 10) + 3 * FLOOD.1;
    assert!(held <= READERS * each, "{held} bytes");
    // The client can still read the queued events up to a proper end.
    let mut read = 0;
    while let Some(chunk) = conns[0].chunk().await {
        read += chunk.len();
    }
    assert!(read < FLOOD.0 * FLOOD.1, "{read}: it was cut");
}

// A connection that accepts no data is closed at the timeout; the session is not.
#[tokio::test]
async fn t17_a_client_that_does_not_read_loses_its_connection() {
    let options = ServerOptions::new()
        .with_timeouts(|timeouts| timeouts.write = Duration::from_millis(300))
        // The rest exceeds the buffers of a connection.
        .with_streams(|streams| {
            streams.max_queued_events = 10_000;
            streams.max_queued_bytes = 64 << 20;
        })
        .without_event_store();
    let served = RunningServer::start(server(&Gate::new()), options).await;
    let (_other, session) = served.open().await;
    // The number of tasks shows when the connection is gone.
    let alive = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = alive();
    let mut conn = Conn::narrow(served.address).await;
    conn.send(session.tool(1, "floods", "x").bytes()).await;
    assert_eq!(conn.head().await.status, 200);
    served.idle().await;
    let start = Instant::now();
    while alive() > before {
        assert!(start.elapsed() < HANG, "it is kept");
        tokio::task::yield_now().await;
    }
    let said = conn.closed().await;
    assert!(
        !said.ends_with(b"0\r\n\r\n"),
        "the client must not take it for the end"
    );
    let mut conn = served.connect().await;
    healthy(&mut conn, &session).await;
}

// Over HTTP/2 an unread stream does not delay the other streams of its connection.
#[tokio::test]
async fn t17_an_unread_stream_does_not_delay_its_connection() {
    let served = RunningServer::start(server(&Gate::new()), ServerOptions::new()).await;
    let (_, session) = served.open().await;
    let headers = [("mcp-session-id", session.id())];
    let mut h2 = H2::connect(served.address).await;
    let uri = "http://localhost/mcp";
    let unread = h2.post(uri, &headers, tool(1, "floods", "x")).await;
    for id in 2..20 {
        let reply = h2.post(uri, &headers, tool(id, "echo", "well")).await;
        assert!(reply.text().await.contains("well"));
    }
    served.idle().await;
    drop(unread);
}

// Notifications for an unread stream without an event store are dropped above the limit.
#[tokio::test]
async fn t17_unread_notifications_do_not_accumulate_without_a_store() {
    let service = server(&Gate::new())
        .resource(Resource::new("mem://one", "one", || "1"))
        .build()
        .unwrap();
    let options = ServerOptions::new()
        .without_event_store()
        .with_streams(|streams| {
            streams.max_queued_events = 50;
            streams.max_queued_bytes = 1 << 20;
        });
    let endpoint = Endpoint::with_options(service.clone(), options).unwrap();
    let peer = Peer::open(&endpoint).await;
    let reply = peer
        .call(1, "resources/subscribe", json!({"uri": "mem://one"}))
        .await;
    assert_eq!(reply.status, 200);
    let mut stream = peer.get(None).await;
    for _ in 0..10_000 {
        service.resources().updated("mem://one");
    }
    peer.delete().await;
    let mut news = 0;
    while stream.message().await.is_some() {
        news += 1;
    }
    assert!((1..=51).contains(&news), "{news}");
}

/// A body that never ends.
struct Stalled(Bytes);

impl http_body::Body for Stalled {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        match std::mem::take(&mut self.0) {
            data if data.is_empty() => Poll::Pending,
            data => Poll::Ready(Some(Ok(http_body::Frame::data(data)))),
        }
    }
}

async fn stalled(endpoint: Endpoint, bytes: usize) -> StatusCode {
    let request = http::Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Stalled(vec![b' '; bytes].into()))
        .unwrap();
    let response = endpoint.clone().call(request).await;
    response.unwrap().status()
}

// A body that stops shortly before its end is rejected after a few seconds, and its memory is free.
#[tokio::test(start_paused = true)]
async fn t16_a_body_has_a_minimum_rate() {
    let options = ServerOptions::new().with_request_limits(|limits| limits.max_receiving = 2);
    let endpoint = Endpoint::with_options(server(&Gate::new()), options).unwrap();
    let start = tokio::time::Instant::now();
    let slow = tokio::spawn(stalled(endpoint.clone(), (4 << 20) - 1));
    let other = tokio::spawn(stalled(endpoint.clone(), 1));
    tokio::task::yield_now().await;
    // Only so many bodies are waited for; complete ones do not count.
    assert_eq!(stalled(endpoint.clone(), 1).await, 503);
    assert_eq!(Peer::begin(&endpoint).await.status, 200);
    assert_eq!(slow.await.unwrap(), 408);
    assert_eq!(other.await.unwrap(), 408);
    assert_eq!(start.elapsed().as_secs(), 5);
}
