//! Integration suites across crates, one binary.

mod base;
mod calls;
mod client_features;
mod lifecycle;
mod older;
mod questions;
mod server_features;
