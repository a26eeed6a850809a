//! A response is sent in one write, so that delayed acknowledgements do not slow it down.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mcp_tests::tcp::{Conn, Request, Session, initialize};
use mcp_types::{CLIENT_CAPABILITIES_KEY, PROTOCOL_VERSION_KEY};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tower_service::Service as _;

use super::{Gate, served, server};
use crate::prelude::*;

/// Counts the writes that would be system calls.
struct Counted {
    stream: DuplexStream,
    writes: Arc<AtomicUsize>,
}

impl Counted {
    fn count(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.writes.fetch_add(1, Ordering::SeqCst);
        }
        written
    }
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.count(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.count(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

fn endpoint() -> Endpoint {
    Endpoint::new(server(&Gate::new())).unwrap()
}

/// Serves a connection like a program that already uses hyper.
async fn mount<S>(endpoint: Endpoint, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(move |request| endpoint.clone().call(request));
    let io = TokioIo::new(stream);
    // A client that disconnects is not a failure.
    let _ = http1::Builder::new().serve_connection(io, service).await;
}

/// Opens a connection and returns the count of its writes.
fn counted(endpoint: Endpoint) -> (DuplexStream, Arc<AtomicUsize>) {
    let (client, stream) = tokio::io::duplex(1 << 20);
    let writes = Arc::<AtomicUsize>::default();
    let counted = Counted {
        stream,
        writes: Arc::clone(&writes),
    };
    tokio::spawn(mount(endpoint, counted));
    (client, writes)
}

/// Sends a request, reads until `end`, and returns the bytes.
async fn exchange(client: &mut DuplexStream, request: &Request, end: &str) -> String {
    client.write_all(&request.bytes()).await.unwrap();
    let mut said = Vec::new();
    while !said.ends_with(end.as_bytes()) {
        assert_ne!(client.read_buf(&mut said).await.unwrap(), 0);
    }
    String::from_utf8(said).unwrap()
}

/// Reads a JSON response to its end.
async fn answer(client: &mut DuplexStream) -> Value {
    let mut said = Vec::new();
    loop {
        assert_ne!(client.read_buf(&mut said).await.unwrap(), 0);
        let text = str::from_utf8(&said).unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap_or_default();
        if let Ok(answer) = serde_json::from_str(body) {
            return answer;
        }
    }
}

// The response to the handshake, a JSON response, an empty one, an error, and a complete stream:
// each is one write.
#[tokio::test]
async fn every_answer_is_one_write() {
    let (mut client, writes) = counted(endpoint());
    let wrote = || writes.swap(0, Ordering::SeqCst);
    let said = exchange(&mut client, &Request::post(initialize()), "}").await;
    assert_eq!(wrote(), 1, "{said}");
    let (_, id) = said.split_once("mcp-session-id: ").unwrap();
    let session = Session::known(id.split_once('\r').unwrap().0);
    let opened = session.post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let unknown = session.post(r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#);
    let stream = "0\r\n\r\n";
    for (request, holds, end) in [
        (opened, "202 Accepted", "\r\n\r\n"),
        (session.tool(1, "echo", "hi"), "hi", "}"),
        (session.tool(1, "echo", &"x".repeat(100_000)), "xxx", "}"),
        (unknown, "-32601", "}"),
        (session.post("{"), "400 Bad Request", "}"),
        (session.tool(2, "speaks", "spoken"), "spoken", stream),
    ] {
        let said = exchange(&mut client, &request, end).await;
        assert!(said.contains(holds), "{said}");
        assert_eq!(wrote(), 1, "{said}");
    }
}

// A shared list is long enough that hyper gathers no further buffer after it: the end of the
// response must not be a separate write.
#[tokio::test]
async fn a_long_list_is_one_write() {
    let long = "x".repeat(300_000);
    let tool = |name| Tool::new(name, || "ok").description(long.clone());
    let server = Server::builder("long", "1").tool(tool("a")).tool(tool("b"));
    let (mut client, writes) = counted(Endpoint::new(server).unwrap());
    let said = exchange(&mut client, &Request::post(initialize()), "}").await;
    let (_, id) = said.split_once("mcp-session-id: ").unwrap();
    let session = Session::known(id.split_once('\r').unwrap().0);
    let mut list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let older = session.post(list.to_string());
    let meta = json!({PROTOCOL_VERSION_KEY: "2026-07-28", CLIENT_CAPABILITIES_KEY: {}});
    list["params"] = json!({ "_meta": meta });
    let newer = Request::post(list.to_string())
        .with("mcp-protocol-version", "2026-07-28")
        .with("mcp-method", "tools/list");
    for (request, is_stamped) in [(older, false), (newer, true)] {
        writes.store(0, Ordering::SeqCst);
        client.write_all(&request.bytes()).await.unwrap();
        let result = answer(&mut client).await["result"].take();
        assert_eq!(writes.load(Ordering::SeqCst), 1);
        assert_eq!(result["tools"].as_array().unwrap().len(), 2);
        assert_eq!(result["tools"][1]["description"], long);
        assert_eq!(result["resultType"] == "complete", is_stamped);
    }
}

// The same seen by the client of the built-in listener: one read returns the whole response.
#[tokio::test]
async fn every_answer_arrives_in_one_piece() {
    let served = served(&Gate::new()).await;
    let (mut conn, session) = served.open().await;
    for name in ["echo", "speaks"] {
        conn.reads.clear();
        let answer = conn.ask(&session.tool(1, name, "whole")).await;
        assert!(answer.text().contains("whole"), "{answer:?}");
        assert_eq!(conn.reads.len(), 1, "{:?}", conn.reads);
    }
}

// 400 calls in a row on a listener without TCP_NODELAY: a second write would add the 40 ms of a
// delayed acknowledgement to each.
#[tokio::test]
async fn responses_do_not_wait_for_tcp_acknowledgements() {
    let (listener, address) = listen().await;
    let endpoint = endpoint();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        assert!(!stream.nodelay().unwrap());
        mount(endpoint, stream).await;
    });
    let mut conn = Conn::new(tokio::net::TcpStream::connect(address).await.unwrap());
    let session = Session::open(&mut conn).await;
    let start = Instant::now();
    for id in 0..200 {
        for name in ["echo", "speaks"] {
            let answer = conn.ask(&session.tool(id, name, "soon")).await;
            assert!(answer.text().contains("soon"), "{answer:?}");
        }
    }
    let each = start.elapsed() / 400;
    assert!(each < Duration::from_millis(10), "{each:?}");
}
