//! The load: one process that starts a server, talks to it as its only client, and asks the system what that has cost.
//!
//! Server and load have a core each where there are two. The load speaks HTTP and lines itself, in one thread: it has to
//! be cheaper than every server.

mod account;
mod calls;
mod check;
mod child;
pub mod cpu;
mod figures;
mod http;
mod memory;
mod options;
mod start;
mod stdio;

pub use figures::{Figures, Times};

use std::io::Write as _;

use serde::Serialize;

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
    match options.doing {
        Doing::Calls => print(&runtime.block_on(calls::run(&options))?),
        Doing::Memory => print(&runtime.block_on(memory::run(&options))?),
        Doing::Start => print(&runtime.block_on(start::run(&options))?),
    }
}

/// Prints figures as one line of JSON.
///
/// # Errors
/// stdout is closed.
pub fn print(figures: &impl Serialize) -> Result<(), Fault> {
    let line = serde_json::to_string(figures)?;
    Ok(writeln!(std::io::stdout(), "{line}")?)
}
