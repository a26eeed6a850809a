//! Servers without an SDK: they parse a request into types, in one pass, and write its answer. What they leave out is
//! everything that a server has to check.

mod answer;
mod http;
mod stdio;

pub use answer::{Answer, Floor};

use super::Fault;

const USAGE: &str = "usage: bench-floor --stdio [--tools N] | --http ADDRESS [--tools N]";

/// Runs a floor until stdin ends, or until the process is ended.
///
/// # Errors
/// The arguments are wrong, or the address cannot be listened on.
pub fn run(mut args: impl Iterator<Item = String>) -> Result<(), Fault> {
    let (mut address, mut stdio, mut tools) = (None, false, 0);
    while let Some(arg) = args.next() {
        match &*arg {
            "--stdio" => stdio = true,
            "--http" => address = Some(args.next().ok_or(USAGE)?),
            "--tools" => tools = args.next().ok_or(USAGE)?.parse()?,
            // A floor has no sessions either way.
            "--stateless" => {}
            _ => return Err(USAGE.into()),
        }
    }
    let floor = Floor::new(tools);
    match address {
        Some(address) => http::run(&address, floor),
        None if stdio => stdio::run(&floor),
        None => Err(USAGE.into()),
    }
}
