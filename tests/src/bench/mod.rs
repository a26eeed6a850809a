//! What `cargo xtask bench` measures with: a server, the baselines below it, and the load.
//!
//! A baseline is a server without an SDK: it parses the same bytes with `serde_json` and answers the same. The load checks
//! every answer. Which programs meet, and what becomes of the figures, is the business of `xtask/src/bench`.

pub mod listen;
pub mod server;
pub mod words;

#[cfg(unix)]
pub mod baseline;
#[cfg(target_os = "linux")]
pub mod load;

#[cfg(all(feature = "client", target_os = "linux"))]
pub mod client;

/// Why a program of the bench ends.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;
