//! Sessions, events, tasks and changes in Redis processes that the tests start, disturb and end.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[cfg(feature = "changes")]
mod changes;
#[cfg(feature = "cluster")]
mod cluster;
mod events;
mod http;
mod leases;
mod process;
#[cfg(feature = "dpop")]
mod replays;
#[cfg(feature = "sentinel")]
mod sentinel;
mod silence;
mod stores;
