//! The load: one process that starts a server, talks to it as its only client, and asks the system what that has cost.
//!
//! Server and load have a core each where there are two. The load speaks HTTP and lines itself, in one thread: it has to
//! be cheaper than every server.

mod account;
mod calls;
mod check;
mod child;
mod figures;
mod http;
mod options;
mod stdio;

pub use figures::Figures;
pub use http::Connection;

use options::{Doing, Options};

use super::Fault;

/// Does what the arguments ask for and prints the figures.
///
/// # Errors
/// The arguments are wrong, the server cannot be started or ends, a limit of time is over, or an answer is not the one
/// that was asked for.
pub fn run(args: impl Iterator<Item = String>) -> Result<(), Fault> {
    let options = Options::parse(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let line = match options.doing {
        Doing::Calls => serde_json::to_string(&runtime.block_on(calls::run(&options))?)?,
    };
    use std::io::Write as _;
    writeln!(std::io::stdout(), "{line}")?;
    Ok(())
}
