//! Lists the tools of our server and calls two with a client of another Rust SDK: `rust-hosts NAME PROGRAM URL`.
//!
//! Prints one JSON line per feature, as the other drivers do.

mod pmcp_host;
#[path = "../../../../src/bin/interop-client/report.rs"]
#[allow(dead_code, reason = "other programs use the rest")]
mod report;
mod rust_mcp_host;
mod tower_host;
mod turbo_host;

use report::{Fault, ensure, row, says, worked};
use serde_json::{Value, json};

/// The location of our server.
#[derive(Clone, Copy)]
enum Target<'a> {
    /// A program, with the argument `--stdio`.
    Program(&'a str),
    Url(&'a str),
}

/// What a host has seen: the names of the tools, and the results of the calls.
struct Observations {
    names: Vec<String>,
    results: Vec<String>,
}

const MESSAGE: &str = "Grüße, 世界 ☃";
const TEXT: &str = "This is a simple text response for testing.";

/// The calls of each host.
fn calls() -> [(&'static str, Value); 2] {
    [
        ("echo", json!({ "message": MESSAGE })),
        ("test_simple_text", json!({})),
    ]
}

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(|arg| &**arg).collect();
    let [name, program, url] = *words else {
        return match *words {
            ["pmcp-child"] => pmcp_host::child().await,
            _ => Err("usage: rust-hosts NAME PROGRAM URL".into()),
        };
    };
    for (target, suffix) in [(Target::Program(program), ""), (Target::Url(url), "-http")] {
        let visit = visit(name, target).await;
        let seen = || visit.as_ref().map_err(ToString::to_string);
        row(&format!("listed{suffix}"), async {
            let names = &seen()?.names;
            for (tool, _) in calls() {
                ensure(names.iter().any(|name| name == tool), || {
                    format!("{tool} is not among {names:?}")
                })?;
            }
            worked(format!("{} tools", names.len()))
        })
        .await;
        row(&format!("called{suffix}"), async {
            for (result, text) in seen()?.results.iter().zip([MESSAGE, TEXT]) {
                says("the result", result, text)?;
            }
            worked("2 calls")
        })
        .await;
    }
    Ok(())
}

async fn visit(name: &str, target: Target<'_>) -> Result<Observations, Fault> {
    match name {
        "pmcp" => pmcp_host::visit(target).await,
        "rust-mcp-sdk" => rust_mcp_host::visit(target).await,
        "tower-mcp" => tower_host::visit(target).await,
        "turbomcp" => turbo_host::visit(target).await,
        other => Err(format!("there is no host {other}").into()),
    }
}
