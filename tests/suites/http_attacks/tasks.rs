//! Tasks: shutdown of a server in use, and idle sessions, which need none.

use mcp_tests::http::Peer;
use mcp_tests::tcp::{RunningServer, Session};
use tokio::runtime::Handle;

use super::{Gate, served, server};
use crate::prelude::*;

/// Returns the number of tasks.
fn alive() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Waits until no more than this many tasks are left.
async fn tasks(left: usize) {
    let ended = async {
        while alive() > left {
            tokio::task::yield_now().await;
        }
    };
    let limit = Duration::from_secs(10);
    tokio::time::timeout(limit, ended).await.expect("all end");
}

// Open streams, a running call and idle connections: each ends as HTTP requires, within the
// shutdown timeout, and no task is left.
#[tokio::test]
async fn a_shutdown_ends_everything_gracefully() {
    let before = alive();
    let gate = Gate::new();
    let served = served(&gate).await;
    let (mut stream, session) = served.open().await;
    stream.send(session.get().bytes()).await;
    assert_eq!(stream.head().await.status, 200);
    let (mut idle, _) = served.open().await;
    let mut silent = served.connect().await;
    let mut runs = served.connect().await;
    runs.send(session.tool(7, "wait", "in time").bytes()).await;
    let head = runs.head().await;
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    gate.started(1).await;
    let address = served.address;
    let stopping = tokio::spawn(served.stop());
    while tokio::net::TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    // New requests are rejected, and running ones may finish.
    gate.go.add_permits(1);
    let mut text = String::new();
    while let Some(chunk) = runs.chunk().await {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
    }
    assert!(text.contains("in time"), "{text}");
    assert_eq!(stream.chunk().await, None);
    for conn in [&mut stream, &mut idle, &mut silent, &mut runs] {
        assert_eq!(conn.closed().await, b"");
    }
    stopping.await.unwrap();
    tasks(before).await;
}

// A handler that never ends, a client that never reads, and one that sends half a request: they are
// cut after the shutdown timeout.
#[tokio::test]
async fn a_shutdown_is_limited_in_time() {
    let before = alive();
    let gate = Gate::new();
    let grace = Duration::from_millis(50);
    let served = RunningServer::start(
        server(&gate),
        ServerOptions::new().with_timeouts(|timeouts| timeouts.shutdown = grace),
    )
    .await;
    let (mut stuck, session) = served.open().await;
    stuck.send(session.tool(1, "wait", "never").bytes()).await;
    stuck.head().await;
    gate.started(1).await;
    let mut half = served.connect().await;
    let whole = session.tool(2, "echo", &"x".repeat(10_000)).bytes();
    half.send(&whole[..whole.len() - 1]).await;
    let mut unread = mcp_tests::tcp::Conn::narrow(served.address).await;
    let big = session.tool(3, "echo", &"x".repeat(4_000_000)).bytes();
    unread.send(big).await;
    unread.head().await;
    served.stop().await;
    assert!(stuck.closed().await.ends_with(b"\r\n0\r\n\r\n"));
    half.closed().await;
    tasks(before).await;
    assert_eq!(gate.running.load(Ordering::SeqCst), 0);
}

// Dropping the future closes the listener and its connections.
#[tokio::test]
async fn a_server_that_is_dropped_leaves_no_connection_behind() {
    let before = alive();
    let served = served(&Gate::new()).await;
    let (mut stream, session) = served.open().await;
    stream.send(session.get().bytes()).await;
    assert_eq!(stream.head().await.status, 200);
    let (mut idle, _) = served.open().await;
    served.drop_it().await;
    assert_eq!(idle.closed().await, b"");
    assert_eq!(stream.closed().await, b"");
    tasks(before).await;
}

const SESSIONS: usize = 1_000;

// A thousand sessions, with and without open streams, share one task: the sweeper of expired
// sessions.
#[tokio::test]
async fn idle_sessions_and_their_streams_need_no_task() {
    let before = alive();
    let endpoint = Endpoint::new(server(&Gate::new())).unwrap();
    let mut peers = Vec::new();
    for _ in 0..SESSIONS {
        peers.push(Peer::open(&endpoint).await);
    }
    assert_eq!(endpoint.sessions(), SESSIONS);
    assert_eq!(alive(), before + 1);
    let mut streams = Vec::new();
    for peer in &peers {
        let stream = peer.get(None).await;
        assert_eq!(stream.status, 200);
        streams.push(stream);
    }
    assert_eq!(alive(), before + 1);
}

// Over sockets, a session with an open stream has the task of its connection, and one without a
// stream has none.
#[tokio::test]
async fn a_connection_has_one_task_and_an_idle_session_has_no_task() {
    let served = served(&Gate::new()).await;
    let (mut conn, _) = served.open().await;
    let before = alive();
    for _ in 0..100 {
        Session::open(&mut conn).await;
    }
    assert_eq!(alive(), before);
    let mut streams = Vec::new();
    for _ in 0..100 {
        let session = Session::open(&mut conn).await;
        let mut stream = served.connect().await;
        stream.send(session.get().bytes()).await;
        assert_eq!(stream.head().await.status, 200);
        streams.push(stream);
    }
    assert_eq!(alive(), before + 100);
}
