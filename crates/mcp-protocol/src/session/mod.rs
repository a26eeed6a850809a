//! The state of a session, which a client opens with `initialize`.
//!
//! Specification: [lifecycle](https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle).

mod saved;
mod state;

pub use saved::SessionState;
pub use state::Session;
pub(crate) use state::{ANSWERED, Agreed, ENDED, NEW, OPEN, Subscriptions};
