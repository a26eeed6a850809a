//! Spans and metrics of both roles, recorded by the SDK.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod calls;
mod connections;
mod errors;
mod http;
mod support;
