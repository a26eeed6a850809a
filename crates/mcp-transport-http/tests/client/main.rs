//! The client transport against scripted servers: in memory with a paused clock, and on real
//! sockets.

#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod auth;
mod calls;
mod chaos;
mod close;
mod errors;
mod limits;
mod listen;
mod log;
mod lost;
mod order;
mod pair;
mod redirects;
mod reinitialize;
mod resume;
mod secrets;
mod server_requests;
mod sockets;
mod stateless;
mod streams;
mod support;
