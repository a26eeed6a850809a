//! The types of the Model Context Protocol, generated from the official schema.
//!
//! The types at the root are those of revision 2025-11-25; servers and clients of all revisions use them.
//! [`v2026_07_28`] has the messages of that revision in their wire format. A struct has public fields, `new` with its required members in the order of the fields, and `with_…` for each
//! optional member. All types can grow: unknown members of newer peers are ignored, and unions and string enums have
//! an `Unknown` variant that keeps unknown values.
//!
//! ```
//! use mcp_types::{CallToolRequest, CallToolResult, ContentBlock, Request, Tool};
//!
//! let schema = serde_json::json!({"type": "object", "properties": {"city": {"type": "string"}}});
//! let tool = Tool::new("weather", schema.as_object().cloned().unwrap_or_default())
//!     .with_title("Weather report")
//!     .with_description("The weather in a city");
//! assert_eq!(tool.display_name(), "Weather report");
//!
//! let result: CallToolResult = serde_json::from_str(
//!     r#"{"content":[{"type":"text","text":"sunny"},{"type":"hologram","data":"…"}]}"#,
//! )?;
//! assert_eq!(result.content[0].as_text(), Some("sunny"));
//! assert!(matches!(result.content[1], ContentBlock::Unknown(_)));
//! assert!(!result.is_error());
//!
//! assert_eq!(CallToolRequest::METHOD, mcp_types::method::TOOLS_CALL);
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! [`Request`] and [`Notification`] connect a method with its types; [`method`] has the method names. [`Meta`] is the `_meta`
//! member. The crate has no transport and no behaviour: it only defines the messages.

mod constant;
mod elicit_value;
mod embedded;
mod ext;
mod generated;
mod meta;
pub mod method;
mod number;
mod one_or_many;
mod presence;
mod properties;
mod text;
mod token;
mod union;
pub mod v2026_07_28;

pub use elicit_value::ElicitValue;
pub use ext::UnknownLoggingLevel;
pub use generated::*;
pub use mcp_jsonrpc::RequestId;
pub use meta::{
    BAGGAGE_KEY, CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY,
    MODEL_IMMEDIATE_RESPONSE_KEY, Meta, MetaKey, MetaKeyError, MetaKeyKind, PROGRESS_TOKEN_KEY,
    PROTOCOL_VERSION_KEY, RELATED_TASK_KEY, SERVER_INFO_KEY, SUBSCRIPTION_ID_KEY, TRACEPARENT_KEY,
    TRACESTATE_KEY,
};
pub use method::{Direction, Notification, Request};
pub use number::OutOfRange;
pub use one_or_many::OneOrMany;
pub use properties::FormProperties;
pub use token::ProgressToken;

/// A JSON object with arbitrary members.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
