//! Idle sessions need no tasks.

use mcp_tests::http::Peer;
use mcp_tests::tcp::Session;
use tokio::runtime::Handle;

use super::{Witness, served, server};
use crate::prelude::*;

const SESSIONS: usize = 1_000;

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

// A thousand sessions, with and without open streams, share one task: the sweeper of expired
// sessions.
#[tokio::test]
async fn held_sessions_and_their_streams_own_no_task() {
    let before = tasks();
    let endpoint = Endpoint::new(server(&Witness::new())).unwrap();
    let mut peers = Vec::new();
    for _ in 0..SESSIONS {
        peers.push(Peer::open(&endpoint).await);
    }
    assert_eq!(endpoint.sessions(), SESSIONS);
    assert_eq!(tasks(), before + 1);
    let mut streams = Vec::new();
    for peer in &peers {
        let stream = peer.get(None).await;
        assert_eq!(stream.status, StatusCode::OK);
        streams.push(stream);
    }
    assert_eq!(tasks(), before + 1);
}

// Over sockets, a session with an open stream has the task of its connection, and one without a
// stream has none.
#[tokio::test]
async fn a_connection_is_one_task_and_a_session_without_one_none() {
    let served = served(&Witness::new()).await;
    let (mut conn, _) = served.open().await;
    let before = tasks();
    for _ in 0..100 {
        Session::open(&mut conn).await;
    }
    assert_eq!(tasks(), before);
    let mut streams = Vec::new();
    for _ in 0..100 {
        let session = Session::open(&mut conn).await;
        let mut stream = served.connect().await;
        stream.send(session.get().bytes()).await;
        assert_eq!(stream.head().await.status, 200);
        streams.push(stream);
    }
    assert_eq!(tasks(), before + 100);
}
