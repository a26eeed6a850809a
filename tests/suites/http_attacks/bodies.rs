//! T07: bodies that are too long, compressed or inconsistent.

use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::Frame;
use mcp_tests::tcp::{Request, RunningServer, Session, tool};
use tower_service::Service as _;

use super::h2::H2;
use super::{Gate, served, server};
use crate::prelude::*;

/// The default limit.
const LIMIT: usize = 4 << 20;

/// Builds a call of exactly this length.
fn of_length(bytes: usize) -> String {
    let call = tool(1, "echo", "");
    tool(1, "echo", &"x".repeat(bytes - call.len()))
}

async fn opened(gate: &Gate) -> (RunningServer, Session) {
    let served = served(gate).await;
    let (_, session) = served.open().await;
    (served, session)
}

// The longest valid body is served and one more byte is 413: with an announced length, in chunks,
// and over HTTP/2. A body that is too long reaches no handler.
#[tokio::test]
async fn t07_a_body_over_the_limit_is_refused_by_every_framing() {
    let gate = Gate::new();
    let (served, session) = opened(&gate).await;
    let (fits, over) = (of_length(LIMIT), of_length(LIMIT + 1));

    let mut conn = served.connect().await;
    let answer = conn.ask(&session.post(fits.clone())).await;
    assert_eq!(answer.status, 200);
    // The server does not wait for an announced body.
    conn.send(session.post(over.clone()).head()).await;
    let answer = conn.answer().await;
    assert_eq!(answer.status, 413);
    assert!(answer.text().contains("RequestLimits::max_body_bytes"));

    let mut conn = served.connect().await;
    let answer = conn.ask(&session.post(fits.clone()).chunked(60_000)).await;
    assert_eq!(answer.status, 200);
    let mut chunked = session.post(over.clone()).chunked(60_000).bytes();
    chunked.truncate(chunked.len() - "\r\n0\r\n\r\n".len());
    conn.send(chunked).await;
    assert_eq!(conn.answer().await.status, 413);

    let mut h2 = H2::connect(served.address).await;
    let headers = [("mcp-session-id", session.id())];
    let reply = h2.post("http://localhost/mcp", &headers, fits).await;
    assert_eq!(reply.status, 200);
    assert!(reply.text().await.contains("xxx"));
    let reply = h2.post("http://localhost/mcp", &headers, over).await;
    assert_eq!(reply.status, 413);
    assert!(reply.text().await.contains("RequestLimits::max_body_bytes"));

    assert_eq!(gate.calls(), 3);
}

/// A body without an end, and how much of it was read.
struct Endless(Arc<AtomicUsize>);

const PIECE: usize = 16 << 10;

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.fetch_add(PIECE, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b' '; PIECE])))))
    }
}

// Of a body without an end, the server reads at most the limit and the chunk that exceeds it.
#[tokio::test]
async fn t07_reading_of_a_body_stops_at_the_limit() {
    let endpoint = Endpoint::new(server(&Gate::new())).unwrap();
    let taken = Arc::<AtomicUsize>::default();
    let request = http::Request::post("/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Endless(Arc::clone(&taken)))
        .unwrap();
    let Ok(response) = endpoint.clone().call(request).await;
    assert_eq!(response.status(), 413);
    assert_eq!(taken.load(Ordering::Relaxed), LIMIT + PIECE);
}

// A compressed body is rejected unread, with any encoding.
#[tokio::test]
async fn t07_a_compressed_body_is_refused() {
    let gate = Gate::new();
    let (served, session) = opened(&gate).await;
    let mut conn = served.connect().await;
    let call = session.tool(1, "echo", "x");
    for encoding in [
        "gzip",
        "GZIP",
        "br",
        "deflate",
        "zstd",
        "identity, gzip",
        "",
        "\u{e9}",
    ] {
        let answer = conn.ask(&call.with("content-encoding", encoding)).await;
        assert_eq!(answer.status, 415, "{encoding}");
        assert_eq!(answer.header("accept-encoding"), Some("identity"));
        assert!(answer.text().contains("Content-Encoding"), "{answer:?}");
    }
    let twice = call
        .and("content-encoding", "identity")
        .and("content-encoding", "gzip");
    assert_eq!(conn.ask(&twice).await.status, 415);
    assert_eq!(gate.calls(), 0);
    let plain = call.with("content-encoding", "Identity");
    assert_eq!(conn.ask(&plain).await.said(), "x");
}

// All bodies share a limit: above it, requests are rejected with `Retry-After`, and the capacity is
// released afterwards.
#[tokio::test]
async fn t07_bodies_share_a_limit() {
    let options = ServerOptions::new()
        .with_memory_limits(|memory| memory.max_request_bytes = 100_000)
        .with_client_share(100);
    let served = RunningServer::start(server(&Gate::new()), options).await;
    let (_, session) = served.open().await;
    let half = session.post(of_length(80_000)).bytes();
    let mut one = served.connect().await;
    one.send(&half[..half.len() - 1]).await;
    let mut two = served.connect().await;
    let answer = loop {
        let answer = two.ask(&session.post(of_length(50_000))).await;
        // The first body may not have arrived completely.
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!(answer.status, 503);
    assert_eq!(answer.header("retry-after"), Some("1"));
    assert!(answer.text().contains("MemoryLimits::max_request_bytes"));
    one.send(&half[half.len() - 1..]).await;
    assert_eq!(one.answer().await.status, 200);
    let mut two = served.connect().await;
    assert_eq!(two.ask(&session.post(of_length(50_000))).await.status, 200);
}

// A truncated body, or one with contradictory framing, is never a second request.
#[tokio::test]
async fn t07_bytes_after_a_body_are_not_a_request() {
    let gate = Gate::new();
    let (served, session) = opened(&gate).await;
    // Truncated: nothing is executed.
    let whole = session.tool(1, "echo", "cut").bytes();
    let mut conn = served.connect().await;
    conn.send(&whole[..whole.len() - 1]).await;
    conn.finish().await;
    let said = conn.closed().await;
    assert!(
        !said.starts_with(b"HTTP/1.1 200"),
        "{}",
        said.escape_ascii()
    );
    // Two framings: the chunks count, and nothing after them.
    let hidden = session.tool(2, "echo", "hidden").bytes();
    let twice = session.tool(3, "echo", "seen").chunked(1_000);
    let twice = twice.and("content-length", "4");
    let mut conn = served.connect().await;
    conn.send([twice.bytes(), hidden].concat()).await;
    let said = conn.closed().await;
    let answers = said.windows(9).filter(|it| it == b"HTTP/1.1 ").count();
    assert_eq!(answers, 1, "{}", said.escape_ascii());
    // Two different lengths are not a valid request.
    let differ = Request::post(tool(4, "echo", "x")).and("content-length", "1");
    let mut conn = served.connect().await;
    assert_eq!(conn.ask(&differ).await.status, 400);
    assert_eq!(gate.calls(), 1);
}
