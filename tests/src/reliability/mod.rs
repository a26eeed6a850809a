//! Programs of the reliability campaign: a server, clients that use and disturb it for a long time, and clients that load
//! it beyond its capacity. `cargo xtask` starts them and writes their figures to `docs/reliability.md`.
//!
//! Each program prints its figures as one line of JSON on stdout, and its progress on stderr. It fails if a promise is
//! broken, for example if a call never ends.

mod bridge;
mod budget;
mod chaos;
mod cluster;
mod fit;
mod options;
mod overload;
mod process;
mod proxy;
mod server;
mod soak;
mod steady;
mod user;

use tokio::runtime::Builder;

use crate::bench::Fault;
use options::{Options, USAGE};

/// Runs the program that the arguments name.
///
/// # Errors
/// The arguments are invalid, a server cannot be started, or a promise is broken.
pub fn run(args: impl Iterator<Item = String>) -> Result<(), Fault> {
    let options = Options::new(args);
    let name = options.words.first().map_or("", String::as_str);
    // The overload has one core for the server and one for itself.
    let mut runtime = match name {
        "overload" => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    runtime.enable_all().build()?.block_on(async {
        match name {
            "server" => server::run(&options).await,
            "bridge" => bridge::run(&options).await,
            "cluster" => cluster::run(&options).await,
            "steady" => steady::run(&options).await,
            "soak" => soak::run(&options).await,
            "chaos" => chaos::run(&options).await,
            "overload" => overload::run(&options).await,
            "budget" => budget::run(&options).await,
            "user" => user::run(&options).await,
            _ => Err(USAGE.into()),
        }
    })
}
