//! The types of revision 2026-07-28, in their wire format.
//!
//! This module contains all types of the revision. Most of them are the types of the crate root. The other types differ in
//! a member, or contain a type that differs. If two versions of a type differ only in removed members, [`From`] converts between
//! them.
//!
//! ```
//! use mcp_types::v2026_07_28::{CallToolOutcome, CallToolResult, InputRequest};
//!
//! // A server converts the result of its handler.
//! let result = CallToolResult::from(mcp_types::CallToolResult::text("sunny"));
//! assert_eq!(
//!     serde_json::to_string(&result)?,
//!     r#"{"resultType":"complete","content":[{"type":"text","text":"sunny"}]}"#,
//! );
//!
//! // Or the server requests input, and the client sees the kind of the result.
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
