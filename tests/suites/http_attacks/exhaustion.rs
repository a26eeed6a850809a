//! Messages just below the limits, and clients that keep what they cause in memory.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_tests::tcp::{Conn, RunningServer, Session, tool};
use tokio::task::JoinSet;

use super::h2::{Frames, H2};
use super::memory::Process;
use super::{Gate, server};
use crate::prelude::*;

const URI: &str = "http://localhost/mcp";

/// Grown memory of a server process in MiB.
fn grown(server: &Process, before: usize) -> usize {
    (server.peak() - before) >> 20
}

/// Calls a tool that returns nearly 4 MiB.
fn big() -> String {
    let arguments = json!({"bytes": (4 << 20) - 200});
    let params = json!({"name": "big", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

// 6 connections with 30 streams each call a tool that returns nearly 4 MiB, and take nothing of it.
#[tokio::test]
async fn t17_responses_that_are_not_read_use_little_memory() {
    let server = Process::start();
    let mut conn = server.connect().await;
    let mut calls = JoinSet::new();
    for _ in 0..6 {
        let session = Session::open(&mut conn).await;
        let mut h2 = H2::with_window(&*server.address, 0).await;
        calls.spawn(async move {
            let mut replies = Vec::new();
            for _ in 0..30 {
                let headers = [("mcp-session-id", session.id())];
                replies.push(h2.post(URI, &headers, big()).await);
            }
            replies
        });
    }
    // Kept, so that the streams stay open.
    let replies = calls.join_all().await;
    server.survives().await;
    drop(replies);
}

// A stream whose client takes nothing, or only a part, is reset at the write timeout. Until then its
// request is in flight. The connection continues.
#[tokio::test]
async fn t17_a_stream_that_is_not_read_is_reset() {
    let options =
        ServerOptions::new().with_timeouts(|timeouts| timeouts.write = Duration::from_millis(300));
    let served = RunningServer::start(server(&Gate::new()), options).await;
    let (_, session) = served.open().await;
    let headers = [("mcp-session-id", session.id())];
    for window in [0, 1_000] {
        let mut h2 = H2::with_window(served.address, window).await;
        let long = tool(1, "echo", &"x".repeat(1 << 20));
        let unread = h2.post(URI, &headers, long).await;
        assert_eq!(unread.status, 200);
        assert_eq!(served.endpoint.in_flight(), 1, "{window}");
        served.idle().await;
        if window > 0 {
            let reply = h2.post(URI, &headers, tool(2, "echo", "well")).await;
            assert!(reply.text().await.contains("well"));
        }
    }
}

// 40 connections with 99 requests each, whose heads have 1,900 headers of one byte and whose bodies
// never come.
#[tokio::test]
async fn t15_small_heads_do_not_become_much_memory() {
    let server = Process::start();
    let before = server.peak();
    let mut conns = Vec::new();
    for _ in 0..40 {
        let mut conn = Frames::connect(&*server.address).await;
        for _ in 0..99 {
            conn.head(1_900).await;
        }
        conns.push(conn);
    }
    let mut last = Frames::connect(&*server.address).await;
    last.head(0).await;
    let grown = grown(&server, before);
    assert!(grown < 64, "{grown} MiB");
    server.survives().await;
}

// Heads that never end take little memory in total; the connections above the limit are closed.
#[tokio::test]
async fn t16_unfinished_heads_share_a_limit() {
    let server = Process::start();
    let before = server.peak();
    let mut conns = Vec::new();
    let head = format!("POST /mcp HTTP/1.1\r\nx-long: {}", "x".repeat(63 << 10));
    for _ in 0..2_500 {
        let mut conn = server.connect().await;
        // The server may close the connection while the head is sent.
        let _ = conn.try_send(&head).await;
        conns.push(conn);
    }
    let grown = grown(&server, before);
    assert!(grown < 150, "{grown} MiB");
    server.survives().await;
}

// As with HTTP/2, over HTTP/1.1: 150 responses of nearly 4 MiB are not read.
#[tokio::test]
async fn t17_unread_responses_share_a_limit() {
    let server = Process::start();
    let session = Session::open(&mut server.connect().await).await;
    let before = server.peak();
    let address = server.address.parse().unwrap();
    let mut conns = Vec::new();
    for _ in 0..150 {
        let mut conn = Conn::narrow(address).await;
        conn.send(session.post(big()).bytes()).await;
        let head = conn.head().await;
        assert_eq!(head.status, 200);
        conns.push(conn);
    }
    let grown = grown(&server, before);
    assert!(grown < 200, "{grown} MiB");
    server.survives().await;
}

// Clients at many addresses send calls with large arguments and do not read the responses, which contain the arguments.
// Other clients are served at once, also with large responses.
#[tokio::test]
async fn t17_clients_that_do_not_read_do_not_block_other_clients() {
    for (addresses, calls) in [(12, 12), (50, 3)] {
        let server = Process::start();
        let mut first = server.connect().await;
        let session = Session::open(&mut first).await;
        let text = "x".repeat((4 << 20) - 1_000);
        let request = session.tool(1, "echo", &text).bytes();
        let mut conns = Vec::new();
        for _ in 0..calls {
            for from in 1..=addresses {
                let mut conn = server.narrow_from(from).await;
                // The server may refuse the call before it has received the whole body.
                let _ = conn.try_send(&request).await;
                conns.push(conn);
            }
            server
                .serves(200 + u8::try_from(conns.len() % 50).unwrap())
                .await;
        }
        let large = async {
            let mut conn = server.connect_from(199).await;
            let session = Session::open(&mut conn).await;
            let call = session.tool(1, "echo", &text);
            // Some unread responses of other clients have to end first.
            while !conn.ask(&call).await.text().contains(&text) {}
        };
        let served = tokio::time::timeout(Duration::from_secs(4), large).await;
        served.expect("a large response");
        println!("{addresses} addresses: {} MiB", server.peak() >> 20);
        server.survives().await;
    }
}

// hyper's read buffer of a connection grows with its bodies, and stays large while the connection is idle.
#[tokio::test]
async fn connections_that_have_sent_large_bodies_keep_small_buffers() {
    const CONNECTIONS: usize = 1_000;
    let server = Process::start();
    let mut conn = server.connect().await;
    let session = Session::open(&mut conn).await;
    let request = session.tool(1, "echo", &"x".repeat(60_000));
    assert_eq!(conn.ask(&request).await.status, 200);
    let before = server.peak();
    let mut conns = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut conn = server.connect().await;
        assert_eq!(conn.ask(&request).await.status, 200);
        conns.push(conn);
    }
    let grown = grown(&server, before);
    println!("{grown} MiB");
    assert!(grown < 48, "{grown} MiB");
    server.survives().await;
}

/// Sends calls on new connections, of which at most `held` stay open, without reading the responses.
async fn send_unread(server: &Process, from: u8, request: &[u8], calls: usize, held: usize) {
    let mut conns = VecDeque::new();
    for _ in 0..calls {
        let mut conn = server.narrow_from(from).await;
        // The server may refuse the call before it has received the whole body.
        let _ = conn.try_send(request).await;
        conns.push_back(conn);
        if conns.len() > held {
            conns.pop_front();
        }
    }
}

// The same attack, on connections that are replaced all the time, with the default settings of the allocator, which
// keeps much of the freed memory.
#[tokio::test]
async fn t17_repeated_calls_that_are_not_read_share_a_limit() {
    const HELD: usize = 30;
    for (addresses, calls) in [(1, 100), (12, 60), (50, 15)] {
        let server = Arc::new(Process::with_default_allocator());
        let session = Session::open(&mut server.connect().await).await;
        let text = "x".repeat(3_900_000);
        let request = Arc::new(session.tool(1, "echo", &text).bytes());
        let mut attacks = JoinSet::new();
        for from in 1..=addresses {
            let (server, request) = (Arc::clone(&server), Arc::clone(&request));
            attacks.spawn(async move { send_unread(&server, from, &request, calls, HELD).await });
        }
        let (mut served, mut slowest) = (0, Duration::ZERO);
        while served == 0 || !attacks.is_empty() {
            let start = Instant::now();
            server.serves(200).await;
            slowest = slowest.max(start.elapsed());
            served += 1;
            while let Some(ended) = attacks.try_join_next() {
                ended.unwrap();
            }
        }
        println!(
            "{addresses} addresses: {} MiB, {served} calls of another address, the slowest took {slowest:?}",
            server.peak() >> 20
        );
        server.survives().await;
    }
}

// A connection without requests is closed after the head timeout, although it answers PINGs; one with
// an open stream is not.
#[tokio::test]
async fn t16_an_idle_http2_connection_is_closed() {
    let options =
        ServerOptions::new().with_timeouts(|timeouts| timeouts.head = Duration::from_millis(300));
    let served = RunningServer::start(server(&Gate::new()), options).await;
    let mut silent = Frames::connect(served.address).await;
    let (_, session) = served.open().await;
    let mut used = H2::connect(served.address).await;
    let headers = [("mcp-session-id", session.id())];
    let reply = used.post(URI, &headers, tool(1, "echo", "well")).await;
    assert!(reply.text().await.contains("well"));
    // The window keeps the stream open.
    let mut busy = H2::with_window(served.address, 0).await;
    let unread = busy.post(URI, &headers, tool(2, "echo", "well")).await;
    silent.closed().await;
    used.closed().await;
    assert!(!busy.is_closed());
    drop(unread);
    busy.closed().await;
}
