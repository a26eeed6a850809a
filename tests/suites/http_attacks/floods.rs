//! T18, T19: more requests than there is capacity for.

use std::time::Instant;

use mcp_tests::http::Peer;
use mcp_tests::tcp::RunningServer;

use super::{Gate, server};
use crate::prelude::*;

// At the limit a thousand requests get 503 at once, and running requests are not affected.
#[tokio::test]
async fn t18_at_the_limit_requests_are_rejected_at_once() {
    let gate = Gate::new();
    let options = Options::new().with_max_in_flight(8).with_client_share(100);
    let served = RunningServer::start(server(&gate), options).await;
    let (mut conn, session) = served.open().await;
    let mut runs = Vec::new();
    for id in 0..8 {
        let mut conn = served.connect().await;
        conn.send(session.tool(id, "wait", "at last").bytes()).await;
        runs.push(conn);
    }
    gate.started(8).await;
    let start = Instant::now();
    for id in 100..1_100 {
        let answer = conn.ask(&session.tool(id, "echo", "x")).await;
        assert_eq!(answer.status, 503);
        assert_eq!(answer.header("retry-after"), Some("1"));
        assert_eq!(answer.json()["id"], id);
        assert!(answer.text().contains("Options::with_max_in_flight"));
    }
    let each = start.elapsed() / 1_000;
    assert!(each < Duration::from_millis(5), "{each:?}");
    assert_eq!(gate.calls(), 8);
    assert_eq!(served.endpoint.in_flight(), 8);
    gate.go.add_permits(8);
    for mut conn in runs {
        let answer = conn.answer().await;
        assert!(answer.text().contains("at last"), "{answer:?}");
    }
    assert_eq!(conn.ask(&session.tool(1, "echo", "x")).await.said(), "x");
}

// 20,000 handshakes of clients that disappear: the table fills up to its limit, rejects cheaply, is
// empty after the handshake timeout, and then accepts new sessions.
#[tokio::test(start_paused = true)]
async fn t19_abandoned_handshakes_leak_nothing() {
    let endpoint = Endpoint::new(server(&Gate::new())).unwrap();
    let start = Instant::now();
    let mut refused = 0;
    for _ in 0..20_000 {
        let reply = Peer::begin(&endpoint).await;
        match reply.status {
            StatusCode::OK => {}
            StatusCode::SERVICE_UNAVAILABLE => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!(endpoint.sessions(), 10_000);
    assert_eq!(refused, 10_000);
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "{:?}",
        start.elapsed()
    );
    tokio::time::sleep(Duration::from_secs(70)).await;
    assert_eq!(endpoint.sessions(), 0);
    Peer::open(&endpoint).await;
    assert_eq!(endpoint.sessions(), 1);
}

// A table full of expired sessions has capacity at once, also before the sweeper has run.
#[tokio::test(start_paused = true)]
async fn t19_an_expired_session_releases_its_capacity() {
    let options = Options::new().with_max_sessions(1);
    let endpoint = Endpoint::with_options(server(&Gate::new()), options).unwrap();
    Peer::begin(&endpoint).await;
    assert_eq!(Peer::begin(&endpoint).await.status, 503);
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(Peer::begin(&endpoint).await.status, 200);
}
