//! The client's transport against scripted servers: in memory with the clock under control, and
//! on real sockets.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod auth;
mod calls;
mod chaos;
mod close;
mod errors;
mod limits;
mod listen;
mod log;
mod modern;
mod order;
mod pair;
mod questions;
mod redirects;
mod renew;
mod resume;
mod secrets;
mod sockets;
mod streams;
mod support;
