//! What a call may cost: exact counts, no clocks.
//!
//! A recorded session is served from memory, once with few and once with many calls; the
//! difference is what a call costs, reading and writing included.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mcp_server::{Args, Ctx, Server, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

/// Plays a recording, then ends or falls silent.
struct Recording {
    bytes: Vec<u8>,
    at: usize,
    ends: bool,
}

impl AsyncRead for Recording {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.at == self.bytes.len() && !self.ends {
            return Poll::Pending;
        }
        let count = buffer.remaining().min(self.bytes.len() - self.at);
        buffer.put_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Poll::Ready(Ok(()))
    }
}

/// Counts the lines it is given.
struct Sink(Arc<AtomicUsize>);

impl AsyncWrite for Sink {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let lines = bytes.iter().filter(|b| **b == b'\n').count();
        self.0.fetch_add(lines, Ordering::Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn session(tool: &str, calls: usize) -> Vec<u8> {
    let mut lines = String::from(concat!(
        r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n"
    ));
    let message = "x".repeat(64);
    for id in 0..calls {
        lines.push_str(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"message":"{message}"}}}}}}"#
        ));
        lines.push('\n');
    }
    lines.into_bytes()
}

/// Serves a session and returns how many allocations it took.
fn allocations(server: &Server, tool: &str, calls: usize) -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let (bytes, lines) = (session(tool, calls), Arc::new(AtomicUsize::new(0)));
    let (read, write) = (
        Recording {
            bytes,
            at: 0,
            ends: true,
        },
        Sink(Arc::clone(&lines)),
    );
    let server = server.clone();
    let counted = allocation_counter::measure(|| {
        runtime
            .block_on(mcp_transport_stdio::serve_io(server, read, write))
            .unwrap();
    });
    assert_eq!(
        lines.load(Ordering::Relaxed),
        calls + 1,
        "every call is answered"
    );
    counted.count_total
}

fn per_call(server: &Server, tool: &str) -> f64 {
    let few = allocations(server, tool, 100);
    let many = allocations(server, tool, 1_100);
    (many - few) as f64 / 1_000.0
}

fn server(more: usize) -> Server {
    let dummy = |n: usize| Tool::new(format!("dummy{n}"), || "x");
    Server::new("bench", "1")
        .tools((0..more).map(dummy))
        .tool(Tool::new("sync", |Args(echo): Args<Echo>| echo.message))
        .tool(Tool::new("async", async |Args(echo): Args<Echo>| {
            echo.message
        }))
        .tool(Tool::new(
            "context",
            async |Args(echo): Args<Echo>, _: Ctx| echo.message,
        ))
}

#[test]
fn a_small_call_takes_at_most_five_allocations_however_many_tools_there_are() {
    for more in [0, 1_000] {
        let server = server(more);
        for tool in ["sync", "async", "context"] {
            let count = per_call(&server, tool);
            println!("{tool} beside {more} tools: {count} allocations per call");
            assert!(count <= 5.0, "{tool} beside {more} tools: {count}");
        }
    }
}

/// Outside a runtime a spawn would panic: a handler that does not wait needs neither task nor
/// thread.
#[test]
fn a_call_that_does_not_wait_spawns_nothing() {
    let lines = Arc::new(AtomicUsize::new(0));
    let read = Recording {
        bytes: session("async", 500),
        at: 0,
        ends: false,
    };
    let write = Sink(Arc::clone(&lines));
    let mut serving = Box::pin(mcp_transport_stdio::serve_io(server(0), read, write));
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for _ in 0..1_000 {
        assert!(serving.as_mut().poll(&mut cx).is_pending());
    }
    assert_eq!(lines.load(Ordering::Relaxed), 501);
}
