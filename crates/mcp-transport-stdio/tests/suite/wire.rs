//! A server with scripted input: its responses, and invalid input.

use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::{IntoService, InvalidServer, MuxLimits, Service};
use mcp_transport_stdio::{ErrorKind, StdioOptions, in_memory, serve_io, serve_io_with};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use crate::fixture::Fixture;
use crate::support::{handshake, request, soon, tool_request, try_connect};

/// Serves `input` to its end; returns every line of the output, parsed.
async fn serve(input: &[u8], options: StdioOptions) -> Vec<Value> {
    let (mut theirs, server_reads) = duplex(1 << 16);
    let (server_writes, mut ours) = duplex(1 << 16);
    let mut output = Vec::new();
    let (served, (), read) = soon(async {
        tokio::join!(
            serve_io_with(Fixture, server_reads, server_writes, options),
            async {
                theirs.write_all(input).await.unwrap();
                drop(theirs);
            },
            ours.read_to_end(&mut output),
        )
    })
    .await;
    served.unwrap();
    read.unwrap();
    frames(&output)
}

/// Checks that every line is one JSON object and ends with a newline.
pub(crate) fn frames(output: &[u8]) -> Vec<Value> {
    assert!(output.is_empty() || output.ends_with(b"\n"), "a torn frame");
    output
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let frame: Value = serde_json::from_slice(line).expect("one line, one JSON text");
            assert_eq!(frame["jsonrpc"], "2.0");
            frame
        })
        .collect()
}

fn pong(id: impl Into<Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "result": {}})
}

fn code(frame: &Value) -> i64 {
    assert_eq!(frame.get("id"), None, "the id of such a line is unknown");
    frame["error"]["code"].as_i64().unwrap()
}

// proves: STDIO-003, STDIO-012, M-STDIO-001
#[tokio::test]
async fn an_invalid_line_does_not_affect_other_lines() {
    let ping = request(1, "ping", &json!({}));
    let two = format!("{}{}", request(2, "ping", &json!({})).trim(), ping);
    let mut input = b"garbage\n".to_vec();
    for bad in [
        b"\xff\xfe\n".as_slice(),
        b"{\"a\":\"\xc3\x28\"}\n",
        two.as_bytes(),
    ] {
        input.extend_from_slice(bad);
    }
    input.extend_from_slice(ping.as_bytes());
    let frames = serve(&input, StdioOptions::for_server()).await;
    let codes: Vec<i64> = frames[..3].iter().map(code).collect();
    assert_eq!(codes, [-32700; 3]);
    assert_eq!(frames[3]["error"]["code"], -32700, "two objects on a line");
    assert_eq!(frames[4..], [pong(1)]);
}

// proves: STDIO-004
#[tokio::test]
async fn line_endings_are_tolerated() {
    let input = "\n  \r\n{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}\r\n\r\n\
                 {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}";
    let frames = serve(input.as_bytes(), StdioOptions::for_server()).await;
    assert_eq!(frames, [pong("a"), pong(2)]);
}

// proves: STDIO-005, M-STDIO-002
#[tokio::test]
async fn newlines_in_a_text_are_escaped_and_do_not_end_a_message() {
    let text = "one\ntwo\r\n\u{2028}three";
    let input = handshake() + &tool_request(2, "echo", text);
    let frames = serve(input.as_bytes(), StdioOptions::for_server()).await;
    assert_eq!(frames[1]["result"]["content"][0]["text"], text);
}

#[tokio::test]
async fn a_line_above_the_limit_is_answered_and_skipped() {
    let long = tool_request(2, "echo", &"x".repeat(300));
    let limit = long.trim_end().len();
    for (limit, answered) in [(limit, true), (limit - 1, false)] {
        let input = handshake() + &long + &request(3, "ping", &json!({}));
        let frames = serve(
            input.as_bytes(),
            StdioOptions::for_server().with_line_limit(limit),
        )
        .await;
        assert_eq!(frames[1].get("result").is_some(), answered, "{}", frames[1]);
        if !answered {
            assert_eq!(frames[1]["id"], 2, "the head tells the id");
            assert_eq!(frames[1]["error"]["code"], -32700);
            let message = frames[1]["error"]["message"].as_str().unwrap();
            let limit =
                format!("longer than {limit} bytes, the limit of StdioOptions::with_line_limit");
            assert!(message.contains(&limit), "{message}");
        }
        assert_eq!(frames[2], pong(3));
    }
}

/// Threat T09, with a whole session.
#[tokio::test]
async fn a_request_after_an_endless_line_is_answered() {
    let mut input = vec![b'x'; 32 << 20];
    input.push(b'\n');
    input.extend_from_slice(request(1, "ping", &json!({})).as_bytes());
    let frames = serve(&input, StdioOptions::for_server()).await;
    assert_eq!(frames.len(), 2);
    assert_eq!(code(&frames[0]), -32700);
    assert_eq!(frames[1], pong(1));
}

#[tokio::test]
async fn responses_are_written_after_the_end_of_the_input_until_the_timeout() {
    let input = handshake() + &tool_request(2, "later", "a") + &tool_request(3, "think", "b");
    let mut frames = serve(input.as_bytes(), StdioOptions::for_server()).await;
    frames.sort_by_key(|frame| frame["id"].as_i64());
    assert_eq!(frames[1]["result"]["content"][0]["text"], "a");
    assert_eq!(frames[2]["result"]["content"][0]["text"], "b");
}

#[tokio::test(start_paused = true)]
async fn handlers_are_cancelled_after_the_shutdown_timeout() {
    let started = tokio::time::Instant::now();
    let input = handshake() + &tool_request(2, "never", "") + &tool_request(3, "echo", "a");
    let frames = serve(input.as_bytes(), StdioOptions::for_server()).await;
    assert_eq!(frames.len(), 2);
    assert_eq!(frames[1]["id"], 3);
    let took = started.elapsed();
    assert!(
        took >= Duration::from_millis(700) && took < Duration::from_secs(1),
        "{took:?}"
    );
}

/// A handler that waits for a response of the client fails at once at the end of the input. Other
/// handlers get the shutdown timeout.
#[tokio::test(start_paused = true)]
async fn a_server_request_fails_at_once_after_the_end_of_the_input() {
    let started = tokio::time::Instant::now();
    let input = handshake() + &tool_request(2, "ask", "") + &tool_request(3, "later", "a");
    let frames = serve(input.as_bytes(), StdioOptions::for_server()).await;
    assert_eq!(started.elapsed(), Duration::ZERO);
    let text = |id: i64| {
        let answer = frames.iter().find(|frame| frame["id"] == id).unwrap();
        answer["result"]["content"][0]["text"].as_str().unwrap()
    };
    assert!(text(2).starts_with("failed: "), "{}", text(2));
    assert_eq!(text(3), "a");
}

#[tokio::test]
async fn a_panic_of_a_handler_is_answered_and_the_session_continues() {
    let input = handshake() + &tool_request(2, "panic", "") + &tool_request(3, "echo", "a");
    let frames = serve(input.as_bytes(), StdioOptions::for_server()).await;
    assert_eq!(frames[1]["error"]["code"], -32603);
    assert!(!frames[1].to_string().contains("as asked"));
    assert_eq!(frames[2]["result"]["content"][0]["text"], "a");
}

#[tokio::test]
async fn blocking_handlers_have_a_limit() {
    let input = handshake() + &tool_request(2, "think", "a");
    let frames = serve(
        input.as_bytes(),
        StdioOptions::for_server().with_max_blocking_handlers(0),
    )
    .await;
    assert_eq!(frames[1]["error"]["code"], -32603);
    let message = frames[1]["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("StdioOptions::with_max_blocking_handlers"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_disconnected() {
    let (mut theirs, server_reads) = duplex(1 << 16);
    let (server_writes, _unread) = duplex(64);
    let input = handshake() + &tool_request(2, "big", "100000");
    theirs.write_all(input.as_bytes()).await.unwrap();
    let started = tokio::time::Instant::now();
    let error = serve_io(Fixture, server_reads, server_writes)
        .await
        .unwrap_err();
    assert!(error.is_timeout() && error.is_closed());
    assert_eq!(error.kind(), ErrorKind::WriteTimeout);
    assert_eq!(
        error.to_string(),
        "the peer read nothing for 30 s, the limit of StdioOptions::with_write_timeout"
    );
    assert_eq!(started.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_is_not_disconnected() {
    let (mut theirs, server_reads) = duplex(1 << 16);
    let (server_writes, mut ours) = duplex(64);
    let input = handshake() + &tool_request(2, "big", "4000");
    theirs.write_all(input.as_bytes()).await.unwrap();
    let read_slowly = async {
        let mut output = Vec::new();
        let mut part = [0; 64];
        while output.iter().filter(|byte| **byte == b'\n').count() < 2 {
            tokio::time::sleep(Duration::from_secs(20)).await;
            let count = ours.read(&mut part).await.unwrap();
            output.extend_from_slice(&part[..count]);
        }
        drop((theirs, ours));
        frames(&output).len()
    };
    let (served, count) = tokio::join!(serve_io(Fixture, server_reads, server_writes), read_slowly);
    served.unwrap();
    assert_eq!(count, 2);
}

/// A peer that writes and never reads takes bounded memory: the server stops reading
/// (backpressure).
#[tokio::test(start_paused = true)]
async fn a_congested_server_stops_reading() {
    let (mut theirs, server_reads) = duplex(1 << 10);
    let (server_writes, _unread) = duplex(64);
    let options =
        StdioOptions::for_server().with_limits(MuxLimits::default().with_queue_bytes(100_000));
    let serving = tokio::spawn(serve_io_with(Fixture, server_reads, server_writes, options));
    theirs.write_all(handshake().as_bytes()).await.unwrap();
    let mut sent = 0;
    let flood = async {
        loop {
            let line = tool_request(sent, "big", "1000");
            theirs.write_all(line.as_bytes()).await.unwrap();
            sent += 1;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(10), flood).await;
    assert!(waited.is_err(), "the server should stop reading");
    // One batch that is being written, one queue, and the capacity of the pipes and buffers.
    assert!((90..400).contains(&sent), "{sent}");
    assert!(soon(serving).await.unwrap().unwrap_err().is_timeout());
}

/// Handlers finish on one thread while the end of the input is detected on another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_response_of_a_handler_on_another_thread_is_lost() {
    for _ in 0..1_000 {
        let input = handshake() + &tool_request(2, "think", "a") + &tool_request(3, "later", "b");
        let frames = serve(input.as_bytes(), StdioOptions::for_server()).await;
        assert_eq!(frames.len(), 3);
    }
}

#[tokio::test]
async fn a_dropped_server_closes_its_connection() {
    let (mut theirs, server_reads) = duplex(1 << 16);
    let (server_writes, mut ours) = duplex(1 << 16);
    let serving = tokio::spawn(serve_io(Fixture, server_reads, server_writes));
    let input = handshake() + &tool_request(2, "never", "") + &request(3, "ping", &json!({}));
    theirs.write_all(input.as_bytes()).await.unwrap();
    let mut output = Vec::new();
    while output.iter().filter(|byte| **byte == b'\n').count() < 2 {
        output.push(soon(ours.read_u8()).await.unwrap());
    }
    serving.abort();
    soon(ours.read_to_end(&mut output)).await.unwrap();
    assert_eq!(frames(&output).len(), 2);
}

/// A server with an invalid configuration.
struct Invalid;

impl IntoService for Invalid {
    fn into_service(self) -> Result<Arc<dyn Service>, InvalidServer> {
        Err(InvalidServer::new("tool \"a\" is registered twice"))
    }
}

#[tokio::test]
async fn an_invalid_server_is_not_served() {
    let (read, write) = tokio::io::split(duplex(64).0);
    let error = serve_io(Invalid, read, write).await.unwrap_err();
    assert_eq!(format!("{error:?}"), "tool \"a\" is registered twice");
    assert!(!error.is_closed());
    assert_eq!(error.kind(), ErrorKind::InvalidServer);
    let error = try_connect(in_memory(Invalid)).await.unwrap_err();
    assert_eq!(error.to_string(), "tool \"a\" is registered twice");
}
