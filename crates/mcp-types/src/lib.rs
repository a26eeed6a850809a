//! Model Context Protocol types, generated from the official schema
#![allow(missing_docs)]

mod elicit_value;
mod ext;
mod generated;
mod meta;
pub mod method;
mod number;
mod one_or_many;
mod properties;
mod text;
mod token;
mod union;

pub use elicit_value::ElicitValue;
pub use ext::UnknownLoggingLevel;
pub use generated::*;
pub use mcp_jsonrpc::RequestId;
pub use meta::{Meta, MetaKey, MetaKeyError, MetaKeyKind, PROGRESS_TOKEN_KEY, RELATED_TASK_KEY};
pub use method::{Direction, Notification, Request};
pub use one_or_many::OneOrMany;
pub use properties::FormProperties;
pub use token::ProgressToken;

/// A JSON object whose members the protocol leaves open.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
