//! A server program on stdin and stdout, written without `mcp-server`.
//!
//! Prints before and while it serves, as a careless library would: the session does not mind.

#[path = "../tests/suite/fixture.rs"]
mod fixture;

use std::process::ExitCode;

use mcp_transport_stdio::{Options, serve_with};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut options = Options::for_server();
    if std::env::args().any(|arg| arg == "--without-guard") {
        options = options.without_guard();
    }
    match serve_with(fixture::Fixture, options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
