//! Threat T30: streams that transfer one byte at a time, wait at random, and fail at any point.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use mcp_transport_stdio::{Pipe, StdioOptions, duplex, serve_io_with};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::fixture::Fixture;
use crate::support::{connect, handshake, request, soon, start_call, tool_request};
use crate::wire::frames;

/// A random generator; the same seed gives the same sequence.
#[derive(Clone)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    /// Waits at random.
    fn wait(&mut self, cx: &Context<'_>) -> Poll<()> {
        if self.roll(3) == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// How a stream ends.
#[derive(Clone, Copy, PartialEq)]
enum Break {
    Eof,
    Reset,
}

/// Returns a script in pieces, then fails.
struct Script {
    bytes: Vec<u8>,
    at: usize,
    end: Break,
    dice: Dice,
}

impl AsyncRead for Script {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.dice.wait(cx).is_pending() {
            return Poll::Pending;
        }
        if self.at == self.bytes.len() && self.end == Break::Reset {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let most = if self.dice.roll(4) == 0 { 100 } else { 1 };
        let count = most.min(self.bytes.len() - self.at).min(buffer.remaining());
        let at = self.at;
        buffer.put_slice(&self.bytes[at..at + count]);
        self.at += count;
        Poll::Ready(Ok(()))
    }
}

/// Accepts one byte at a time, and fails after `room` bytes.
struct RecordingWriter {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
    dice: Dice,
}

impl AsyncWrite for RecordingWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.dice.wait(cx).is_pending() {
            return Poll::Pending;
        }
        if self.room == 0 {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        self.room -= 1;
        self.bytes.lock().unwrap().push(bytes[0]);
        Poll::Ready(Ok(1))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.dice.wait(cx).map(Ok)
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A session with all kinds of messages.
fn session() -> String {
    handshake()
        + &tool_request(2, "echo", "one\ntwo")
        + "garbage\n\r\n"
        + &tool_request(3, "later", "x")
        + &tool_request(4, "never", "")
        + &tool_request(5, "panic", "")
        + "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4}}\n"
        + &tool_request(6, "think", "y")
        + &request(7, "ping", &json!({}))
}

/// Serves a script on random streams; returns the output.
async fn serve(script: &[u8], end: Break, room: usize, seed: u64) -> Vec<u8> {
    let bytes = Arc::<Mutex<Vec<u8>>>::default();
    let reader = Script {
        bytes: script.to_vec(),
        at: 0,
        end,
        dice: Dice(seed | 1),
    };
    let writer = RecordingWriter {
        bytes: Arc::clone(&bytes),
        room,
        dice: Dice(!seed | 1),
    };
    soon(serve_io_with(
        Fixture,
        reader,
        writer,
        StdioOptions::for_server(),
    ))
    .await
    .expect("a client that disconnects is not an error");
    std::mem::take(&mut bytes.lock().unwrap())
}

// proves: CUST-002
#[tokio::test(start_paused = true)]
async fn a_session_works_if_every_read_and_write_is_short() {
    for seed in 1..50 {
        let output = serve(session().as_bytes(), Break::Eof, usize::MAX, seed * 7919).await;
        let frames = frames(&output);
        let mut ids: Vec<_> = frames.iter().filter_map(|f| f["id"].as_i64()).collect();
        ids.sort_unstable();
        assert_eq!(
            ids,
            [1, 2, 3, 5, 6, 7],
            "each request is answered once, except 4, which was \
         cancelled"
        );
        assert_eq!(frames.len(), 7, "invalid lines are answered too");
    }
}

#[tokio::test(start_paused = true)]
async fn the_client_may_disconnect_at_any_byte() {
    let session = session();
    for at in 0..=session.len() {
        for end in [Break::Eof, Break::Reset] {
            let output = serve(&session.as_bytes()[..at], end, usize::MAX, at as u64).await;
            if end == Break::Eof {
                frames(&output);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_client_may_stop_reading_at_any_byte() {
    let session = session();
    let whole = serve(session.as_bytes(), Break::Eof, usize::MAX, 1).await;
    for room in 0..whole.len() {
        let output = serve(session.as_bytes(), Break::Eof, room, 1).await;
        assert!(output.len() <= room);
        let complete = output.iter().rposition(|byte| *byte == b'\n');
        frames(&output[..complete.map_or(0, |at| at + 1)]);
    }
}

/// A client whose server fails after any byte: every call ends, with its response or an error.
#[tokio::test(start_paused = true)]
async fn the_server_may_disconnect_at_any_byte() {
    const ANSWERS: &str = concat!(
        "not a message\n",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"first\":true}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\r\n",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n",
    );
    let first = ANSWERS.find("true}}").unwrap() + 6;
    for at in 0..=ANSWERS.len() {
        let (pipe, server) = duplex(64);
        let connection = connect(pipe).await;
        let (mut reads, mut writes) = server.into_streams();
        let calls = [1, 2].map(|_| start_call(&*connection, "ping"));
        // The requests must be sent before their responses.
        let mut asked = Vec::new();
        while asked.iter().filter(|byte| **byte == b'\n').count() < 2 {
            asked.push(soon(reads.read_u8()).await.unwrap());
        }
        soon(writes.write_all(&ANSWERS.as_bytes()[..at]))
            .await
            .unwrap();
        drop((reads, writes));
        let [one, two] = calls;
        let (one, two) = soon(async { (one.await.unwrap(), two.await.unwrap()) }).await;
        assert_eq!(one.is_ok(), at >= first, "cut at {at}");
        assert_eq!(two.is_ok(), at >= ANSWERS.len() - 1, "cut at {at}");
        let reason = soon(connection.closed()).await;
        assert!(reason.is_peer_gone(), "{reason}");
        soon(connection.close()).await.unwrap();
    }
}

/// The same streams on the client's side.
#[tokio::test(start_paused = true)]
async fn a_client_works_on_streams_with_random_interruptions() {
    for seed in 1..20 {
        let written = Arc::<Mutex<Vec<u8>>>::default();
        let reader = Script {
            bytes: b"hello\n{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}\n".to_vec(),
            at: 0,
            end: Break::Eof,
            dice: Dice(seed),
        };
        let writer = RecordingWriter {
            bytes: Arc::clone(&written),
            room: usize::MAX,
            dice: Dice(!seed),
        };
        let connection = connect(Pipe::new(reader, writer)).await;
        let reason = soon(connection.closed()).await;
        assert!(reason.is_peer_gone());
        assert!(reason.to_string().contains("the first: hello"), "{reason}");
        soon(connection.close()).await.unwrap();
        let answers = frames(&written.lock().unwrap());
        assert_eq!(answers.len(), 1, "a client does not answer invalid lines");
        assert_eq!(answers[0]["id"], 5);
    }
}
