//! Integration suites across crates, one binary.

mod base;
mod calls;
mod lifecycle;
mod older;
mod server_features;
