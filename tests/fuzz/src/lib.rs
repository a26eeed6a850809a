//! The targets of `cargo xtask fuzz`. Each has its own program in `src/bin`, because libFuzzer reads the counters of all linked
//! code after each input.

pub mod client;
pub mod gateway;
pub mod host;
pub mod parsers;
pub mod server;

use tokio::runtime::Runtime;

/// Runs a future on this thread. The clock is paused, so that timeouts expire at once when nothing else can happen.
fn run<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}

/// A runtime for one input, so that no task outlives it.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can be built")
}
