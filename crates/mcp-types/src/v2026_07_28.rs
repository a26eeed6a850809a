//! The types of revision 2026-07-28.
//!
//! Every type of that revision has a name here. Most are those of the crate root; the others differ from their
//! namesakes there, in a member or in a type that they hold.
//!
//! Specification: <https://modelcontextprotocol.io/specification/2026-07-28/schema>

pub use crate::generated::v2026_07_28::*;
pub use crate::{JsonObject, Meta, ProgressToken, RequestId};
