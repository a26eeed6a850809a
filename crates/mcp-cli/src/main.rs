//! `mcp`, the command line for servers of the Model Context Protocol.
//!
//! - `mcp inspect`, `list`, `call`, `read`, `get`, `complete`, `watch` and `repl` use a server.
//! - `mcp doctor` finds out why a server does not work, and `mcp lock` detects changes in the tools, prompts and resources of a
//!   server.
//! - `mcp login` signs in to a server with the browser, and `mcp logout` signs out.
//! - `mcp bridge` makes a server available on another transport and in all revisions, and `mcp serve` combines several servers
//!   behind one endpoint.
//!
//! ```console
//! $ mcp call add a=2 b=3 -- ./calc
//! ```
//!
//! Results go to stdout, everything else to stderr. The guide `cli.md` in the folder `docs/guide` of the
//! repository explains more, and lists the exit codes.

mod answers;
mod args;
mod arguments;
mod commands;
mod connect;
mod failure;
mod hidden;
mod inputs;
mod lock;
mod log;
mod login;
mod output;
mod sign_in_hint;
mod target;

use std::process::ExitCode;

use args::Cli;
use failure::{Code, Failure};

fn main() -> ExitCode {
    hidden::add_words(std::env::args_os().filter_map(|word| word.into_string().ok()));
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => {
            // If the terminal is closed, nothing can be reported.
            let _ = error.print();
            return match error.use_stderr() {
                true => Code::Usage.into(),
                false => ExitCode::SUCCESS,
            };
        }
    };
    match run(cli) {
        Ok(code) => code.into(),
        Err(failure) => {
            failure.print();
            failure.code.into()
        }
    }
}

fn run(cli: Cli) -> Result<Code, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build();
    let runtime = runtime.map_err(|error| Failure::usage(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            outcome = commands::run(cli) => outcome,
            // Dropping the command cancels its request and ends its child process.
            Ok(()) = tokio::signal::ctrl_c() => Ok(Code::Interrupted),
        }
    });
    // Does not wait for a thread that reads a line of stdin.
    runtime.shutdown_background();
    outcome
}
