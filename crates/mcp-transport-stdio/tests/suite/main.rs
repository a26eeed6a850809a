//! The transport with real bytes and real processes.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod basics;
mod chaos;
#[cfg(unix)]
mod child;
mod client;
#[cfg(target_os = "linux")]
mod cycles;
mod fair;
mod fixture;
mod lines;
#[cfg(unix)]
mod standard;
mod support;
mod wire;
