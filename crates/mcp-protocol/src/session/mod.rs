//! The session that a client opens with `initialize`: its state, and the server's side of it.
//!
//! Specification: [lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle).

mod layered;
mod saved;
mod server;
mod state;

pub use saved::SessionState;
pub use server::ServerSession;
pub use state::Session;
