//! Hosts with servers that work, and servers that do not.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod attached;
mod attacks;
mod config;
mod consent;
mod context;
mod coordinate;
mod formats;
mod model;
#[cfg(target_os = "linux")]
mod orphans;
mod reload;
mod roots_and_logs;
mod skills;
mod supervise;
mod support;
#[cfg(unix)]
mod thirty;
