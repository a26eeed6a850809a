//! The server half, from outside.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod crafted;
mod introspection;
mod keys;
mod layer;
mod net;
mod support;
mod tokens;
