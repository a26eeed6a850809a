//! T18, T19: more requests than there is capacity for.

use mcp_protocol::Principal;
use mcp_server::TaskMode;
use mcp_tests::http::Peer;
use mcp_tests::tcp::{Conn, Request, RunningServer, Session, initialize};

use super::{Gate, healthy, server};
use crate::prelude::*;

// At the limit a thousand requests get 503 at once, and running requests are not affected.
#[tokio::test]
async fn t18_at_the_limit_requests_are_rejected_at_once() {
    let gate = Gate::new();
    let options = ServerOptions::new()
        .with_request_limits(|limits| limits.max_in_flight = 8)
        .with_client_share(100);
    let served = RunningServer::start(server(&gate), options).await;
    let (mut conn, session) = served.open().await;
    let mut runs = Vec::new();
    for id in 0..8 {
        let mut conn = served.connect().await;
        conn.send(session.tool(id, "wait", "at last").bytes()).await;
        runs.push(conn);
    }
    gate.started(8).await;
    for id in 100..1_100 {
        let answer = conn.ask(&session.tool(id, "echo", "x")).await;
        assert_eq!(answer.status, 503);
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert_eq!(answer.json()["id"], id);
        assert!(answer.text().contains("RequestLimits::max_in_flight"));
    }
    assert_eq!(gate.calls(), 8);
    assert_eq!(served.endpoint.in_flight(), 8);
    gate.go.add_permits(8);
    for mut conn in runs {
        let answer = conn.answer().await;
        assert!(answer.text().contains("at last"), "{answer:?}");
    }
    assert_eq!(conn.ask(&session.tool(1, "echo", "x")).await.said(), "x");
}

// 20,000 handshakes of clients that disappear: the table fills up to its limit, replaces the oldest
// sessions, and is empty after the handshake timeout.
#[tokio::test(start_paused = true)]
async fn t19_abandoned_handshakes_leak_nothing() {
    let options =
        ServerOptions::new().with_memory_limits(|memory| memory.max_session_bytes = 96 << 20);
    let endpoint = Endpoint::with_options(server(&Gate::new()), options).unwrap();
    let mut refused = 0;
    for _ in 0..20_000 {
        let reply = Peer::begin(&endpoint).await;
        match reply.status {
            StatusCode::OK => {}
            StatusCode::SERVICE_UNAVAILABLE => refused += 1,
            other => panic!("{other}"),
        }
    }
    // Each full table lost its hundredth part.
    assert!(endpoint.sessions() > 9_900 && endpoint.sessions() <= 10_000);
    assert_eq!(refused, 0);
    tokio::time::sleep(Duration::from_secs(70)).await;
    assert_eq!(endpoint.sessions(), 0);
    Peer::open(&endpoint).await;
    assert_eq!(endpoint.sessions(), 1);
}

// A table full of expired sessions has capacity at once, also before the sweeper has run.
#[tokio::test(start_paused = true)]
async fn t19_an_expired_session_releases_its_capacity() {
    let options = ServerOptions::new().with_session_limits(|limits| limits.max_sessions = 1);
    let endpoint = Endpoint::with_options(server(&Gate::new()), options).unwrap();
    // The session of a principal is not ended to make room.
    let mut known = Peer::new(&endpoint);
    known.principal = Some(Principal::new("known"));
    known.initialize("2025-11-25", json!({})).await;
    assert_eq!(Peer::begin(&endpoint).await.status, 503);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(Peer::begin(&endpoint).await.status, 200);
}

/// A client at this address.
fn at(endpoint: &Endpoint, last: u8) -> Peer {
    let mut peer = Peer::new(endpoint);
    peer.address = Some(([10, 0, 0, last], 1).into());
    peer
}

// A client that opens sessions without end replaces its own, and others keep theirs.
#[tokio::test]
async fn t19_one_address_does_not_take_all_sessions() {
    let options = ServerOptions::new().with_session_limits(|limits| limits.max_sessions = 100);
    let endpoint = Endpoint::with_options(server(&Gate::new()), options).unwrap();
    let mut other = at(&endpoint, 2);
    other.handshake("2025-11-25", json!({})).await;
    for _ in 0..300 {
        let reply = at(&endpoint, 1).initialize("2025-11-25", json!({})).await;
        assert_eq!(reply.status, StatusCode::OK);
    }
    assert_eq!(endpoint.sessions(), 50);
    assert_eq!(
        other.tool(1, "echo", json!({"message": "x"})).await.status,
        200
    );
    at(&endpoint, 3).handshake("2025-11-25", json!({})).await;
    assert_eq!(endpoint.sessions(), 51);
}

// Connections of one address beyond its share are closed, and other addresses are served.
#[tokio::test]
async fn t16_one_address_does_not_take_all_connections() {
    let options = ServerOptions::new().with_connection_limits(|limits| limits.max_connections = 10);
    let served = RunningServer::start(server(&Gate::new()), options).await;
    let mut conns = Vec::new();
    for _ in 0..6 {
        conns.push(served.open().await);
    }
    for _ in 0..6 {
        served.connect().await.closed().await;
    }
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = Conn::new(socket.connect(served.address).await.unwrap());
    let session = Session::open(&mut other).await;
    healthy(&mut other, &session).await;
    // After a connection is closed, the address can open another one.
    drop(conns.pop());
    let mut again = served.connect().await;
    while again
        .try_send(Request::post(initialize()).bytes())
        .await
        .is_err()
        || again.try_head().await.is_none()
    {
        again = served.connect().await;
    }
}

/// Idle connections of several addresses use nearly all connections. A client that needs two connections gets both.
#[tokio::test]
async fn t16_idle_connections_make_room_for_other_addresses() {
    let options = ServerOptions::new().with_connection_limits(|limits| limits.max_connections = 40);
    let served = RunningServer::start(server(&Gate::new()), options).await;
    let connect = async |last: u8| {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 1, last], 0).into()).unwrap();
        Conn::new(socket.connect(served.address).await.unwrap())
    };
    let mut idle = Vec::new();
    for last in 1..=6 {
        // Half of the connections, and the share of each address.
        for number in 0..if last == 1 { 24 } else { 4 } {
            let mut conn = connect(last).await;
            // Some send nothing at all.
            if number % 2 == 0 {
                let _ = conn.try_send("POST /mcp HTTP/1.1\r\nx: ").await;
            }
            idle.push(conn);
        }
    }
    let served_twice = async {
        let mut first = connect(9).await;
        let session = Session::open(&mut first).await;
        loop {
            let mut second = connect(9).await;
            let call = session.tool(1, "echo", "x");
            if second.try_send(call.bytes()).await.is_ok() && second.try_head().await.is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        healthy(&mut first, &session).await;
    };
    // The timeout for a head is 30 s.
    let served_twice = tokio::time::timeout(Duration::from_secs(15), served_twice);
    served_twice.await.expect("two connections");
}

/// The process has fewer files than `max_connections`, which is usual, so idle connections use all files.
#[tokio::test]
async fn t16_idle_connections_do_not_use_all_files() {
    let server = super::memory::Process::with_files(100);
    let mut idle = Vec::new();
    for number in 0..300 {
        let mut conn = server.connect_from(1).await;
        if number % 2 == 0 {
            let _ = conn.try_send("POST /mcp HTTP/1.1\r\nx: ").await;
        }
        idle.push(conn);
    }
    let served = tokio::time::timeout(Duration::from_secs(15), server.serves(2));
    served.await.expect("a response to another address");
}

/// The connections of one address receive bodies slowly or have streams, so none of them is idle.
#[tokio::test]
async fn t16_slow_bodies_do_not_use_all_files() {
    let server = super::memory::Process::with_files(100);
    let mut other = server.connect_from(2).await;
    let mut slow = Vec::new();
    for _ in 0..300 {
        let mut conn = server.connect_from(1).await;
        let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                    Accept: application/json, text/event-stream\r\nContent-Length: 60000\r\n\r\n{";
        let _ = conn.try_send(head).await;
        slow.push(conn);
    }
    let served = tokio::time::timeout(Duration::from_secs(15), server.serves(2));
    served.await.expect("a response to another address");
    // The idle connection of the other address is open.
    other
        .send("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await;
    assert_eq!(other.answer().await.status, 404);
}

// One address takes half of the requests in flight and its share, and others are served.
#[tokio::test]
async fn t18_one_address_does_not_take_all_requests() {
    let gate = Gate::new();
    let options = ServerOptions::new().with_request_limits(|limits| limits.max_in_flight = 20);
    let endpoint = Endpoint::with_options(server(&gate), options).unwrap();
    let mut greedy = at(&endpoint, 1);
    greedy.handshake("2025-11-25", json!({})).await;
    let mut calls = Vec::new();
    for id in 0..12 {
        let greedy = greedy.clone();
        calls.push(tokio::spawn(async move {
            greedy
                .tool(id, "wait", json!({"message": "x"}))
                .await
                .status
        }));
    }
    gate.started(12).await;
    let refused = greedy.tool(99, "echo", json!({"message": "x"})).await;
    assert_eq!(refused.status, 503);
    assert!(
        refused
            .text()
            .await
            .contains("ServerOptions::with_client_share")
    );
    let mut other = at(&endpoint, 2);
    other.handshake("2025-11-25", json!({})).await;
    assert_eq!(
        other.tool(1, "echo", json!({"message": "x"})).await.status,
        200
    );
    gate.go.add_permits(12);
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
}

// One address fills a part of the store of tasks only, and runs a part of them.
#[tokio::test]
async fn t18_one_address_does_not_take_all_tasks() {
    let gate = Gate::new();
    let tool = Tool::new("later", || "done").task(TaskMode::Optional);
    let endpoint = Endpoint::new(server(&gate).tool(tool)).unwrap();
    let later = async |peer: &Peer, id: i64| {
        let params = json!({"name": "later", "arguments": {}, "task": {}});
        let reply = peer.call(id, "tools/call", params).await;
        reply.text().await.contains("taskId")
    };
    let mut greedy = at(&endpoint, 1);
    greedy.handshake("2025-11-25", json!({})).await;
    let mut created = 0;
    for id in 0..150 {
        created += usize::from(later(&greedy, id).await);
        // Lets the task end, because running tasks have another limit.
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(created, 100);
    let mut other = at(&endpoint, 2);
    other.handshake("2025-11-25", json!({})).await;
    assert!(later(&other, 1).await);
}
