//! Drives servers of other projects with our client, for `cargo xtask interop`.
//!
//! Prints one JSON line per feature: `feature`, `outcome` (`ok`, `absent` or `failed`) and
//! `detail`. It has other modes: a proxy that records how a server ends and which requests it
//! sends, the everything server with small pages, and a server with an app, for clients of other projects.

mod aggregated;
mod app;
mod arguments;
mod content;
mod host;
mod hosted;
mod lifecycle;
mod profile;
mod report;
mod round_trips;
mod run;
mod server_requests;
mod skills;
mod target;
mod tasks;
mod tools;
mod visit;
mod witness;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_protocol::Revision;
use mcp_server::{Ctx, Tool};
use mcp_tests::everything::serve_http;
use mcp_transport_http::ServerOptions;
use profile::Profile;
use report::Fault;
use target::Target;
use visit::DefaultCall;

const USAGE: &str = "\
usage: interop-client drive REVISION SCENARIO FOLDER PROGRAM ARGS...
       interop-client drive REVISION SCENARIO FOLDER --http URL | --sse URL
       interop-client aggregated REVISION SCENARIO FOLDER PROGRAM ARGS...
       interop-client aggregated REVISION SCENARIO FOLDER --http URL
       interop-client visit TOOL ARGUMENTS EXPECTED PROGRAM ARGS...
       interop-client visit TOOL ARGUMENTS EXPECTED --http URL
       interop-client hosted TOOL ARGUMENTS EXPECTED PROGRAM ARGS...
       interop-client format openai-chat|openai-responses|anthropic|gemini PROGRAM ARGS...
       interop-client witness STATUS-FILE PROGRAM ARGS...
       interop-client overhear STATUS-FILE PROGRAM ARGS...
       interop-client app --http ADDRESS
       interop-client pages REVISION SIZE [--http ADDRESS [--legacy]]
REVISION is sessions or stateless";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(|arg| &**arg).collect();
    let outcome = match &*words {
        [
            mode @ ("drive" | "aggregated"),
            revision,
            scenario,
            folder,
            server @ ..,
        ] if !server.is_empty() => block_on(async {
            let target = Target::new(newest(revision)?, folder, server)?;
            match (*mode, *scenario) {
                ("drive", "skills") => skills::run(&target).await,
                ("drive", _) => run::run(&target, &Profile::of(scenario, &target)?).await,
                _ => aggregated::run(&target, &Profile::of(scenario, &target)?).await,
            }
        })
        .map(|()| 0),
        [
            mode @ ("visit" | "hosted"),
            tool,
            arguments,
            expected,
            server @ ..,
        ] => {
            let call = DefaultCall {
                tool,
                arguments,
                expected,
            };
            let run = async {
                match *mode {
                    "visit" => call.run(server).await,
                    _ => call.run_hosted(server).await,
                }
            };
            block_on(run).map(|()| 0)
        }
        ["format", name, program @ ..] => block_on(hosted::print_format(name, program)).map(|()| 0),
        ["witness", status, ..] => witness::watch(Path::new(status), &args[2..]),
        ["overhear", status, ..] => witness::overhear(Path::new(status), &args[2..]),
        ["app", "--http", address] => {
            let server = serve_http(address, app::server(), ServerOptions::new());
            block_on(server).map(|()| 0)
        }
        ["pages", revision, size, place @ ..] => block_on(pages(revision, size, place)).map(|()| 0),
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

/// Parses the name of a kind of revisions; returns the newest of that kind.
fn newest(word: &str) -> Result<Revision, Fault> {
    match word {
        "sessions" => Ok(Revision::LATEST_WITH_SESSIONS),
        "stateless" => Ok(Revision::LATEST),
        other => Err(format!("expected sessions or stateless, not {other}").into()),
    }
}

/// Creates the everything server with small pages and a tool that succeeds at the second call.
async fn pages(word: &str, size: &str, place: &[&str]) -> Result<(), Fault> {
    let visited = Arc::new(AtomicBool::new(false));
    let gated = Tool::new("interop_url_required", move |cx: Ctx| {
        if visited.swap(true, Ordering::Relaxed) {
            return Ok("visited");
        }
        Err(cx.urls_required([("Visit this first", "https://example.com/first")]))
    });
    let server = match newest(word)?.is_stateless() {
        true => mcp_tests::everything::server(),
        false => mcp_tests::everything::sessions(),
    };
    let server = server
        .page_size(size.parse()?)
        .tool(gated.description("Needs a URL to be visited first"));
    match *place {
        [] => Ok(mcp_transport_stdio::serve(server).await?),
        ["--http", address] => serve_http(address, server, ServerOptions::new()).await,
        ["--http", address, "--legacy"] => {
            serve_http(address, server, ServerOptions::new().with_legacy()).await
        }
        _ => Err(USAGE.into()),
    }
}
