//! The load generator: one process that starts a server, is its only client, and reads its cost
//! from the system.
//!
//! If there are two cores, the server and the load generator have one each. The load generator
//! implements HTTP and lines itself, in one thread, because it has to be cheaper than every server.

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

#[cfg(feature = "suites")]
pub(crate) use account::{Cores, family};
#[cfg(feature = "suites")]
pub(crate) use calls::open_session;
pub use figures::{Figures, Times};
#[cfg(feature = "suites")]
pub(crate) use http::Connection;

use std::io::Write as _;

use serde::Serialize;

use options::{Doing, Options};

use super::Fault;

/// Runs the measurement that the arguments name, and prints its figures.
///
/// # Errors
/// The arguments are invalid, the server cannot be started or ends, a time limit is exceeded, or a
/// response is not the expected one.
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
