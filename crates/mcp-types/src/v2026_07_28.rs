//! The types of revision 2026-07-28, as they stand on the wire.
//!
//! Every type of that revision has a name here. Most are those of the crate root; the others differ from their
//! namesakes there in a member, or in a type that they hold. Where they have only lost members, the one turns into the
//! other by [`From`].
//!
//! ```
//! use mcp_types::v2026_07_28::{CallToolOutcome, CallToolResult, InputRequest};
//!
//! // A server answers with what its handler made, of whichever revision that is written in.
//! let result = CallToolResult::from(mcp_types::CallToolResult::text("sunny"));
//! assert_eq!(
//!     serde_json::to_string(&result)?,
//!     r#"{"resultType":"complete","content":[{"type":"text","text":"sunny"}]}"#,
//! );
//!
//! // Or it asks back, and its client sees what kind of answer that is.
//! let outcome: CallToolOutcome = serde_json::from_str(
//!     r#"{"resultType":"input_required","inputRequests":{"where":{"method":"roots/list"}}}"#,
//! )?;
//! let CallToolOutcome::InputRequired(asks) = outcome else { panic!() };
//! let questions = asks.input_requests.unwrap_or_default();
//! assert_eq!(questions["where"], InputRequest::ListRoots(None));
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! Specification: <https://modelcontextprotocol.io/specification/2026-07-28/schema>

mod tasks;

pub use crate::generated::v2026_07_28::*;
pub use crate::{JsonObject, Meta, ProgressToken, RequestId};
pub use tasks::*;
