//! T16: peers that send almost nothing for as long as possible.

use mcp_tests::tcp::{Conn, RunningServer, Session};

use super::{Witness, server};
use crate::prelude::*;

/// The timeouts of the servers here.
const SHORT: Duration = Duration::from_millis(300);

/// The HTTP/2 connection preface. Empty settings follow.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

async fn impatient() -> RunningServer {
    let options = Options::new()
        .with_head_timeout(SHORT)
        .with_body_timeout(SHORT);
    RunningServer::start(server(&Witness::new()), options).await
}

async fn healthy(conn: &mut Conn, session: &Session) {
    let answer = conn.ask(&session.tool(1, "echo", "well")).await;
    assert_eq!(answer.said(), "well");
}

// Connections that stop at any point of a request head, HTTP/1 or HTTP/2, are closed; other calls
// are served.
#[tokio::test]
async fn t16_a_head_that_never_ends_is_not_waited_for() {
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
async fn t16_a_body_that_trickles_is_not_waited_for() {
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
            assert!(said.contains("Options::with_body_timeout"), "{said}");
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
async fn t16_there_are_only_so_many_connections() {
    let options = Options::new().with_max_connections(2);
    let served = RunningServer::start(server(&Witness::new()), options).await;
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
    let options = Options::new().with_max_head_bytes(16 << 10);
    let served = RunningServer::start(server(&Witness::new()), options).await;
    let (mut conn, session) = served.open().await;
    let fits = session
        .tool(1, "echo", "x")
        .with("x-long", "x".repeat(12 << 10));
    assert_eq!(conn.ask(&fits).await.said(), "x");
    let mut head = session.get().with("x-long", "x".repeat(17 << 10)).head();
    head.truncate(16 << 10);
    conn.send(head).await;
    let answer = conn.head().await;
    assert_eq!(answer.status, 431);
}
