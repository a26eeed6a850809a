//! T20: HTTP/2 frames that no correct client sends, written by hand.

use mcp_tests::tcp::{RunningServer, Session, tool};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Gate, healthy, server};
use crate::prelude::*;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PRIORITY: u8 = 2;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut out = length[1..].to_vec();
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
    out
}

/// A literal header that is not indexed.
fn literal(name: &str, value: &str) -> Vec<u8> {
    let length = |text: &str| {
        u8::try_from(text.len())
            .ok()
            .filter(|it| *it < 127)
            .unwrap()
    };
    let mut out = vec![0, length(name)];
    out.extend_from_slice(name.as_bytes());
    out.push(length(value));
    out.extend_from_slice(value.as_bytes());
    out
}

/// The head of a POST of this session.
fn head(session: &Session) -> Vec<u8> {
    [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/mcp"),
        (":authority", "localhost"),
        ("content-type", "application/json"),
        ("mcp-session-id", session.id()),
    ]
    .iter()
    .flat_map(|(name, value)| literal(name, value))
    .collect()
}

fn post(stream: u32, head: &[u8], body: &str) -> Vec<u8> {
    let mut out = frame(HEADERS, END_HEADERS, stream, head);
    out.extend(frame(DATA, END_STREAM, stream, body.as_bytes()));
    out
}

/// A connection for arbitrary frames, and the frames from the server.
struct Raw {
    stream: TcpStream,
    said: Vec<u8>,
}

impl Raw {
    async fn connect(served: &RunningServer) -> Self {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let mut start = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        start.extend(frame(SETTINGS, 0, 0, &[]));
        stream.write_all(&start).await.unwrap();
        Self {
            stream,
            said: Vec::new(),
        }
    }

    /// Sends frames and reads what has arrived; returns false once the server has stopped reading.
    async fn say(&mut self, frames: &[u8]) -> bool {
        let mut rest = frames;
        while !rest.is_empty() {
            self.said.reserve(64 << 10);
            let (mut read, mut write) = self.stream.split();
            tokio::select! {
                written = write.write(rest) => match written {
                    Ok(written) => rest = &rest[written..],
                    Err(_) => return false,
                },
                read = read.read_buf(&mut self.said) => match read {
                    Ok(1..) => {}
                    _ => return false,
                },
            }
        }
        !self.went_away()
    }

    async fn closed(&mut self) {
        let read = self.stream.read_to_end(&mut self.said);
        // A reset also ends the connection.
        let _ = tokio::time::timeout(Duration::from_secs(10), read)
            .await
            .unwrap();
    }

    /// Returns the types of the frames from the server.
    fn kinds(&self) -> Vec<u8> {
        let mut kinds = Vec::new();
        let mut rest = &self.said[..];
        while let [a, b, c, kind, tail @ ..] = rest {
            kinds.push(*kind);
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            rest = tail.get(5 + length..).unwrap_or_default();
        }
        kinds
    }

    fn went_away(&self) -> bool {
        self.kinds().contains(&GO_AWAY)
    }
}

const CAP: usize = 16;

/// A server with a low limit, a session, and a connection for frames.
async fn attacked(gate: &Gate) -> (RunningServer, Session, Raw) {
    let options = ServerOptions::new()
        .with_request_limits(|limits| limits.max_in_flight = CAP)
        .with_client_share(100);
    let served = RunningServer::start(server(gate), options).await;
    let (_, session) = served.open().await;
    let raw = Raw::connect(&served).await;
    (served, session, raw)
}

/// Checks that the server still works: running calls can end, and capacity is released.
async fn recovers(served: &RunningServer, session: &Session, gate: &Gate) {
    assert!(gate.max_running.load(Ordering::SeqCst) <= CAP);
    assert!(served.endpoint.in_flight() <= CAP);
    gate.go.add_permits(CAP);
    served.idle().await;
    let mut conn = served.connect().await;
    healthy(&mut conn, session).await;
}

// 100,000 calls of a waiting handler, each reset at once: no more than the limit ever run, and the
// server ends the connection.
#[tokio::test]
async fn t20_cancelled_calls_count_until_they_end() {
    let gate = Gate::new();
    let (served, session, mut raw) = attacked(&gate).await;
    let head = head(&session);
    let cancel = 8_u32.to_be_bytes();
    let mut next = 1;
    let ended = loop {
        let mut frames = Vec::new();
        for _ in 0..500 {
            frames.extend(post(next, &head, &tool(next, "wait", "x")));
            frames.extend(frame(RST_STREAM, 0, next, &cancel));
            next += 2;
        }
        if !raw.say(&frames).await {
            break true;
        }
        assert!(served.endpoint.in_flight() <= CAP);
        if next > 200_000 {
            break false;
        }
    };
    assert!(ended, "the connection is not ended");
    raw.closed().await;
    assert!(raw.went_away(), "{:?}", raw.kinds());
    recovers(&served, &session, &gate).await;
}

// Calls that are reset after they have started keep using capacity.
#[tokio::test]
async fn t20_started_calls_keep_their_permits() {
    let gate = Gate::new();
    let (served, session, mut raw) = attacked(&gate).await;
    let head = head(&session);
    for n in 0..CAP as u32 {
        let stream = 2 * n + 1;
        assert!(raw.say(&post(stream, &head, &tool(n, "wait", "x"))).await);
        gate.started(1).await;
        let cancel = frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes());
        assert!(raw.say(&cancel).await);
    }
    let mut conn = served.connect().await;
    let answer = conn.ask(&session.tool("one more", "wait", "x")).await;
    assert_eq!(answer.status, 503);
    assert_eq!(gate.calls(), CAP);
    recovers(&served, &session, &gate).await;
}

// A client that makes the server reset its streams gains nothing.
#[tokio::test]
async fn t20_streams_that_the_server_resets_count_towards_the_limit() {
    let gate = Gate::new();
    let (served, session, mut raw) = attacked(&gate).await;
    let head = head(&session);
    let mut next = 1;
    loop {
        let mut frames = Vec::new();
        for _ in 0..100 {
            frames.extend(post(next, &head, &tool(next, "wait", "x")));
            // A window update of zero is an error.
            frames.extend(frame(WINDOW_UPDATE, 0, next, &[0; 4]));
            next += 2;
        }
        if !raw.say(&frames).await {
            break;
        }
        assert!(next < 200_000, "the connection is not ended");
    }
    raw.closed().await;
    recovers(&served, &session, &gate).await;
}

// Control frames that have no effect: a client may send some, and is disconnected if it sends too many.
#[tokio::test]
async fn t20_control_frames_without_end_end_the_connection() {
    let settings = frame(SETTINGS, 0, 0, &[]);
    let ping = frame(PING, 0, 0, &[0; 8]);
    let window = frame(WINDOW_UPDATE, 0, 0, &1_u32.to_be_bytes());
    let priority = frame(PRIORITY, 0, 1, &[0, 0, 0, 3, 1]);
    let unknown = frame(0xFA, 0, 0, b"x");
    for one in [settings, ping, window, priority, unknown] {
        let gate = Gate::new();
        let (served, session, mut raw) = attacked(&gate).await;
        assert!(raw.say(&one.repeat(900)).await, "{one:?}");
        let answer = raw
            .say(&post(1, &head(&session), &tool(1, "echo", "well")))
            .await;
        assert!(answer, "{one:?}");
        let mut sent = 0;
        while raw.say(&one.repeat(100)).await {
            sent += 100;
            assert!(sent < 200_000, "{one:?}");
        }
        raw.closed().await;
        recovers(&served, &session, &gate).await;
    }
}

// Headers without an end are cut off early.
#[tokio::test]
async fn t20_headers_without_an_end_are_cut_off() {
    let gate = Gate::new();
    let (served, session, mut raw) = attacked(&gate).await;
    let more = literal("x-more", &"x".repeat(100)).repeat(100);
    let mut open = raw.say(&frame(HEADERS, 0, 1, &head(&session))).await;
    let mut sent = 0;
    while open && sent < 64 << 20 {
        sent += more.len();
        open = raw.say(&frame(CONTINUATION, 0, 1, &more)).await;
    }
    assert!(!open, "{sent} bytes of headers");
    raw.closed().await;
    recovers(&served, &session, &gate).await;
}
