//! Drives servers of other projects with our client, for `cargo xtask interop`.
//!
//! Prints one JSON line per feature: `feature`, `outcome` (`ok`, `absent` or `failed`) and
//! `detail`. It has side jobs: it watches how a server ends and what it asks, and it serves the
//! everything server in small pages to clients of other projects.

mod arguments;
mod asks;
mod content;
mod everything;
mod filesystem;
mod host;
mod lifecycle;
mod memory;
mod report;
mod sdk;
mod target;
mod tasks;
mod tools;
mod witness;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_server::{Ctx, Tool};
use mcp_tests::everything::serve_http;
use mcp_transport_http::Options;
use report::Fault;
use target::Target;

const USAGE: &str = "\
usage: interop-client drive SCENARIO FOLDER PROGRAM ARGS...
       interop-client drive SCENARIO FOLDER --http URL | --sse URL
       interop-client witness STATUS-FILE PROGRAM ARGS...
       interop-client overhear STATUS-FILE PROGRAM ARGS...
       interop-client pages SIZE [--http ADDRESS [--legacy]]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(|arg| &**arg).collect();
    let outcome = match &*words {
        ["drive", scenario, folder, server @ ..] if !server.is_empty() => {
            block_on(drive(scenario, folder, server)).map(|()| 0)
        }
        ["witness", status, ..] => witness::watch(Path::new(status), &args[2..]),
        ["overhear", status, ..] => witness::overhear(Path::new(status), &args[2..]),
        ["pages", size] => block_on(pages(size, None)).map(|()| 0),
        ["pages", size, "--http", address] => {
            block_on(pages(size, Some((address, Options::new())))).map(|()| 0)
        }
        ["pages", size, "--http", address, "--legacy"] => {
            block_on(pages(size, Some((address, Options::new().with_legacy())))).map(|()| 0)
        }
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(code) => u8::try_from(code).unwrap_or(1).into(),
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn block_on<T>(work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    tokio::runtime::Runtime::new()?.block_on(work)
}

async fn drive(scenario: &str, folder: &str, server: &[&str]) -> Result<(), Fault> {
    let target = Target::new(folder, server)?;
    match scenario {
        "everything" => everything::run(&target).await,
        "filesystem" => filesystem::run(&target).await,
        "memory" => memory::run(&target).await,
        "python" => sdk::run(&target, "python-peer").await,
        "fastmcp" => sdk::run(&target, "fastmcp-peer").await,
        "rmcp" => sdk::run(&target, "rmcp-peer").await,
        other => Err(format!("there is no scenario {other}").into()),
    }
}

/// The everything server, a few items a page, with a tool that works the second time.
async fn pages(size: &str, address: Option<(&str, Options)>) -> Result<(), Fault> {
    let visited = Arc::new(AtomicBool::new(false));
    let gated = Tool::new("interop_url_required", move |cx: Ctx| {
        if visited.swap(true, Ordering::Relaxed) {
            return Ok("visited");
        }
        Err(cx.urls_required([("Visit this first", "https://example.com/first")]))
    });
    let server = mcp_tests::everything::sessions()
        .page_size(size.parse()?)
        .tool(gated.description("Needs a URL to be visited first"));
    match address {
        Some((address, options)) => serve_http(address, server, options).await,
        None => Ok(mcp_transport_stdio::serve(server).await?),
    }
}
