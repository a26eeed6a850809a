//! Hosts with servers that work, and servers that do not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod config;
#[cfg(target_os = "linux")]
mod orphans;
mod supervise;
mod support;
#[cfg(unix)]
mod thirty;
