//! Exact counts of the allocations per call.
//!
//! A session is served once with few calls and once with many; the difference is the cost of a call, including reading
//! and writing. The counts of the main paths are stored in `gates.toml`, which `cargo xtask bench --gate --bless` writes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod charges;
mod gates;
mod host;
mod http;
mod recording;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Context;

use mcp_server::middleware::{Middleware, Next, Request, Response};
use mcp_server::{Args, Ctx, Server, ServerBuilder, Tool};
use mcp_tests::bench::requests::{Protocol, Requests, Workload, opening};
use schemars::JsonSchema;
use serde::Deserialize;

use recording::{Recording, Sink};

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

/// A session of 2025-11-25 with calls of a tool that takes a message.
fn session(tool: &str, calls: usize) -> Vec<Vec<u8>> {
    let mut lines = opening(Protocol::Stdio, "", None).to_vec();
    let message = "x".repeat(64);
    for id in 1..=calls {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"message":"{message}"}}}}}}"#
        );
        lines.push([call.as_bytes(), b"\n"].concat());
    }
    lines
}

fn per_call(server: &Server, tool: &str) -> f64 {
    let allocations = |calls| {
        let recording = Recording::new(&session(tool, calls), 64, true);
        recording::allocations(server, recording, calls + 1)
    };
    (allocations(1_100) - allocations(100)) as f64 / 1_000.0
}

fn server(more: usize) -> ServerBuilder {
    let dummy = |n: usize| Tool::new(format!("dummy{n}"), || "x");
    Server::builder("bench", "1")
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
        let server = server(more).build().unwrap();
        for tool in ["sync", "async", "context"] {
            let count = per_call(&server, tool);
            println!("{tool} beside {more} tools: {count} allocations per call");
            assert!(count <= 5.0, "{tool} beside {more} tools: {count}");
        }
    }
}

#[test]
fn a_layer_takes_at_most_one_allocation() {
    struct Nothing;
    impl Middleware for Nothing {
        async fn request(&self, request: Request, next: Next) -> Response {
            next.run(request).await
        }
    }
    let count = |layers: usize| {
        let server = (0..layers).fold(server(0), |server, _| server.layer(Nothing));
        per_call(&server.build().unwrap(), "async")
    };
    let (one, four) = (count(1), count(4));
    println!("one layer: {one}, four layers: {four} allocations per call");
    assert!(four - one <= 3.0, "{one}, {four}");
}

/// Outside a runtime a spawn would panic: a handler that does not wait needs neither task nor
/// thread.
#[test]
fn a_call_that_does_not_wait_spawns_nothing() {
    let lines = Arc::new(AtomicUsize::new(0));
    let read = Recording::new(&session("async", 500), 64, false);
    let write = Sink(Arc::clone(&lines));
    let mut serving = pin!(mcp_transport_stdio::serve_io(server(0), read, write));
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for _ in 0..1_000 {
        assert!(serving.as_mut().poll(&mut cx).is_pending());
    }
    assert_eq!(lines.load(Ordering::Relaxed), 501);
}

#[test]
fn over_stdio_calls_and_lists_allocate_as_recorded() {
    let mut gates = gates::Gates::load();
    for (name, wire, asked, at_once, more, layers) in [
        ("stdio", Protocol::Stdio, Workload::Echo(64), 16, 0, 0),
        ("stdio-single", Protocol::Stdio, Workload::Echo(64), 1, 0, 0),
        (
            "stdio-3-layers",
            Protocol::Stdio,
            Workload::Echo(64),
            16,
            0,
            3,
        ),
        (
            "stdio-1000-tools",
            Protocol::Stdio,
            Workload::Echo(64),
            16,
            1_000,
            0,
        ),
        (
            "stdio-modern",
            Protocol::StdioModern,
            Workload::Echo(64),
            16,
            0,
            0,
        ),
        (
            "list-stdio",
            Protocol::Stdio,
            Workload::List(1_004),
            1,
            1_000,
            0,
        ),
    ] {
        let server = mcp_tests::bench::server::layered(more, layers)
            .build()
            .unwrap();
        let requests = Requests::new(wire, asked, "", None);
        let allocations = |calls: u64| {
            let mut lines = match wire {
                Protocol::StdioModern => Vec::new(),
                _ => opening(wire, "", None).to_vec(),
            };
            let opened = lines.len() / 2;
            lines.extend((1..=calls).map(|id| {
                let mut line = Vec::new();
                requests.write(id, &mut line);
                line
            }));
            let answers = calls as usize + opened;
            recording::allocations(&server, Recording::new(&lines, at_once, true), answers)
        };
        gates.check(name, allocations(352) - allocations(32), 320);
    }
    gates.done();
}

#[test]
fn over_http_calls_and_lists_allocate_as_recorded() {
    let mut gates = gates::Gates::load();
    for (name, wire, asked, more) in [
        ("http-sessions", Protocol::Http, Workload::Echo(64), 0),
        (
            "http-stateless",
            Protocol::HttpStateless,
            Workload::Echo(64),
            0,
        ),
        ("http-modern", Protocol::HttpModern, Workload::Echo(64), 0),
        (
            "list-http",
            Protocol::HttpStateless,
            Workload::List(1_004),
            1_000,
        ),
    ] {
        let allocations = |calls| http::allocations(wire, asked, more, calls);
        gates.check(name, allocations(352) - allocations(32), 320);
    }
    gates.done();
}
