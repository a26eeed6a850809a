//! The server's side of a connection, for session-based revisions and the stateless revision.
//!
//! Specification: [lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle).

mod layered;
mod readiness;
mod session;
mod stateless;

pub use readiness::READINESS_META;
pub use session::ServerSession;
