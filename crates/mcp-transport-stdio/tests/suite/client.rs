//! A client with a scripted server: lines that are too long.

use std::sync::Arc;

use mcp_protocol::{CallError, Connection};
use mcp_transport_stdio::{StdioOptions, duplex};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines};

use crate::support::{connect, soon, start_call};

const LIMIT: usize = 100;

/// The server's end of the pipe.
struct Script<R, W> {
    reads: Lines<BufReader<R>>,
    writes: W,
}

/// A client that accepts lines of at most [`LIMIT`] bytes and `noise` stray lines.
async fn script(
    noise: usize,
) -> (
    Arc<dyn Connection>,
    Script<impl AsyncRead + Unpin, impl AsyncWrite + Unpin>,
) {
    let options = StdioOptions::for_client()
        .with_line_limit(LIMIT)
        .with_max_stray_lines(noise);
    let (pipe, server) = duplex(1 << 10);
    let connection = connect(pipe.options(options)).await;
    let (reads, writes) = server.into_streams();
    let reads = BufReader::new(reads).lines();
    (connection, Script { reads, writes })
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Script<R, W> {
    async fn read(&mut self) -> Value {
        let line = soon(self.reads.next_line()).await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn write(&mut self, text: &str) {
        soon(self.writes.write_all(text.as_bytes())).await.unwrap();
    }
}

/// `head`, followed by more bytes than the limit.
fn long(head: &str) -> String {
    head.to_owned() + &"x".repeat(2 * LIMIT)
}

#[tokio::test]
async fn an_answer_above_the_limit_fails_its_call_at_once() {
    let (connection, mut server) = script(1_000).await;
    let calls = ["ping", "tools/list"].map(|method| start_call(&*connection, method));
    for id in [1, 2] {
        assert_eq!(server.read().await["id"], id);
    }
    let [failed, answered] = calls;
    // The line is reported before its newline arrives.
    server
        .write(&long("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\""))
        .await;
    let error = soon(failed).await.unwrap().unwrap_err();
    assert!(matches!(error, CallError::Malformed(_)), "{error:?}");
    assert!(error.to_string().contains("100 bytes"), "{error}");
    server
        .write("\"}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n")
        .await;
    assert!(soon(answered).await.unwrap().unwrap().is_ok());
    drop(server);
    let reason = soon(connection.closed()).await.to_string();
    assert!(reason.contains("1 line(s)"), "{reason}");
    assert!(reason.contains("StdioOptions::with_line_limit"), "{reason}");
}

#[tokio::test]
async fn a_request_above_the_limit_gets_an_error_with_its_id() {
    let (_connection, mut server) = script(1_000).await;
    server
        .write(&long("{\"id\":\"a\",\"method\":\"ping\",\"params\":\""))
        .await;
    let answer = server.read().await;
    assert_eq!(answer["id"], "a");
    assert_eq!(answer["error"]["code"], -32700);
}

/// The kind of message does not matter.
#[tokio::test]
async fn a_line_above_the_limit_is_counted_once() {
    for head in [
        "garbage ",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":\"",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":\"",
        "{\"jsonrpc\":\"2.0\",\"result\":\"",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":\"",
    ] {
        let (connection, mut server) = script(1).await;
        let call = start_call(&*connection, "ping");
        server.read().await;
        server.write(&(long(head) + "\n")).await;
        server
            .write("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n")
            .await;
        assert!(soon(call).await.unwrap().is_ok(), "after one of {head}");
        server.write(&(long(head) + "\n")).await;
        let reason = soon(connection.closed()).await.to_string();
        assert!(reason.contains("2 line(s)"), "{reason} after two of {head}");
        assert!(
            reason.contains("StdioOptions::with_max_stray_lines"),
            "{reason}"
        );
    }
}
