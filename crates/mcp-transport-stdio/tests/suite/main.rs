//! The transport on real bytes and real processes.

mod basics;
#[cfg(unix)]
mod child;
mod fixture;
mod support;
