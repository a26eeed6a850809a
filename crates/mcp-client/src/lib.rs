//! Clients of the Model Context Protocol: typed calls over any transport.
//!
//! ```no_run
//! # async fn run(transport: impl mcp_client::Transport) -> Result<(), mcp_client::Error> {
//! use mcp_client::Client;
//! use mcp_client::serde_json::json;
//!
//! let client = Client::builder("my-host", "1.0.0").connect(transport).await?;
//! let sum = client.call_tool("add", json!({ "a": 2, "b": 3 })).await?;
//! println!("{}", sum.joined_text());
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A call is sent when it is awaited. Dropping the call cancels it at the server. Every call has an idle timeout, which progress
//! extends, and a total timeout ([`Timeouts`]). When the connection ends, every pending call fails at once with the reason.
//!
//! The client negotiates the revision when it connects ([`Negotiation`]). All calls are the same on
//! every revision.
//!
//! A handler that is added to the [`ClientBuilder`] makes the client declare a capability (forms, URLs, sampling, roots).
//! Requests without a handler are rejected.
//!
//! # Features
//!
//! - `hash`: hashes of definitions, to notice changes after the user approved a tool.
//! - `tower`: tower layers as middleware.
//! - `validate`: all of JSON Schema 2020-12 instead of a subset, for the output of tools.
//!
//! The guides `clients.md` and `coming-from.md` in the folder `docs/guide` of the repository explain more.
//!
//! Specification: [client
//! features](https://modelcontextprotocol.io/specification/2025-11-25/client).

#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod cache;
mod call;
mod changes;
mod client;
mod connect;
#[cfg(feature = "hash")]
mod definition;
mod error;
mod exchange;
mod inbound;
mod lists;
mod request;
mod shared;
mod subscriptions;
mod sync;
mod task_status;
mod tasks;
mod tolerant;
mod tool_call;

pub use builder::{ClientBuilder, Extension};
pub use cache::CacheLimits;
pub use call::{Call, RawCall};
pub use client::Client;
pub use connect::keep_alive::KeepAlive;
pub use connect::negotiation::{KnownVersion, Negotiation};
#[cfg(feature = "hash")]
pub use definition::{json_hash, tool_hash};
pub use error::Error;
pub use inbound::handlers::{ChangedList, ElicitForm, ElicitUrl, Sample};
pub use inbound::roots::InvalidRoot;
pub use inbound::tasks::TaskLimits;
pub use lists::ListCall;
pub use mcp_jsonrpc::{DecodeError, ErrorCode, ErrorObject, ParseError, RawJson};
pub use mcp_protocol::gate::Unsupported;
pub use mcp_protocol::{
    Closed, Deviation, MethodName, Revision, Strictness, Timeouts, Tolerance, Transport,
    TransportError, middleware,
};
pub use mcp_schema::Violation;
/// The types of the protocol: crate `mcp-types`.
pub use mcp_types as types;
pub use mcp_types::{
    CallToolResult, ContentBlock, CreateMessageResult, ElicitResult, LoggingLevel, PromptMessage,
    ResourceContents, Root,
};
pub use request::progress::Progress;
pub use serde_json;
pub use subscriptions::Subscription;
pub use task_status::state::TaskState;
pub use tasks::{CallStart, TaskHandle, TaskRef};
pub use tool_call::{ToolCall, ToolRoundTrip};
