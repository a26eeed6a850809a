//! The server's side of a connection, for both kinds of revisions.
//!
//! Specification: [lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle).

mod layered;
mod readiness;
mod session;
mod stateless;

pub use readiness::READINESS_META;
pub use session::ServerSession;
