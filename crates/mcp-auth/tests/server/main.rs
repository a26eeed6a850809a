//! Tests of the server side through its public interface.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod anonymous;
mod crafted;
mod dpop;
mod introspection;
mod keys;
mod layer;
mod net;
mod signed_in;
mod streams;
mod support;
mod tokens;
