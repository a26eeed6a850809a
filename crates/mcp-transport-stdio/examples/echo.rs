//! A server program on stdin and stdout, written without `mcp-server`.
//!
//! Its tools print to stdout by accident. The session is not affected, unless the program is
//! started with `--without-guard`. With `--early` it protects stdout and prints before it serves.
//! With `--twice` it tries to serve twice at once.

#[path = "../tests/suite/fixture.rs"]
mod fixture;

use std::process::ExitCode;

use mcp_transport_stdio::{StdioOptions, protect_stdout, serve_with};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if std::env::args().any(|arg| arg == "--early") {
        if let Err(error) = protect_stdout() {
            return report(Err(error));
        }
        #[expect(clippy::print_stdout, reason = "shows that stdout is protected")]
        {
            println!("starting up");
        }
    }
    let mut options = StdioOptions::for_server();
    if std::env::args().any(|arg| arg == "--without-guard") {
        options = options.without_guard();
    }
    if std::env::args().any(|arg| arg == "--twice") {
        let first = serve_with(fixture::Fixture, options.clone());
        let (_, second) = tokio::join!(first, serve_with(fixture::Fixture, options));
        return report(second);
    }
    report(serve_with(fixture::Fixture, options).await)
}

fn report(result: Result<(), mcp_transport_stdio::Error>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::FAILURE
        }
    }
}
