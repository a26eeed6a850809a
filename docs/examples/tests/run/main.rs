//! Runs each example as a user does: starts the program, and uses it with a client. `servers/testing.rs` has its tests inside.

mod hosts;
mod http;
mod issuer;
mod program;
mod servers;
