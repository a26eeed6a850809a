//! The fixture server as a program: `everything-server --stdio`, or `--http ADDRESS` with the endpoint `/mcp`, and
//! `/sse` for clients of 2024-11-05 after `--legacy`.
//!
//! `--sessions` at the end serves the revisions with sessions alone. After `--strict`, deviations of clients are errors.

use mcp_server::Strictness;
use mcp_tests::everything::{serve_http, server, sessions};
use mcp_transport_http::ServerOptions;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (args, strictness) = match &*args {
        [args @ .., "--strict"] => (args, Strictness::Strict),
        args => (args, Strictness::Tolerant),
    };
    let (args, server) = match args {
        [args @ .., "--sessions"] => (args, sessions()),
        args => (args, server()),
    };
    let server = server.strictness(strictness);
    match *args {
        ["--stdio"] => Ok(mcp_transport_stdio::serve(server).await?),
        ["--http", address] => serve_http(address, server, ServerOptions::new()).await,
        ["--http", address, "--legacy"] => {
            serve_http(address, server, ServerOptions::new().with_legacy()).await
        }
        _ => Err(
            "usage: everything-server --stdio | --http ADDRESS [--legacy], then [--sessions]"
                .into(),
        ),
    }
}
