//! Programs that `cargo xtask bench` measures with: a server, its baselines, and the load
//! generator.
//!
//! A baseline is a server without an SDK: it parses the same bytes with `serde_json` and sends the
//! same responses. The load generator checks every response. `xtask/src/bench` combines the
//! programs and evaluates the figures.

pub mod listen;
pub mod requests;
pub mod server;

#[cfg(unix)]
pub mod baseline;
#[cfg(target_os = "linux")]
pub mod load;

#[cfg(all(feature = "client", target_os = "linux"))]
pub mod client;

/// The reason why a program of the benchmark fails.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;
