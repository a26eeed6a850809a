//! Write Model Context Protocol servers: plain functions become tools, prompts and resources.
//!
//! ```
//! use mcp_server::{Args, Ctx, Json, Server, Tool};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Order {
//!     /// Number of the order.
//!     number: u32,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Status {
//!     shipped: bool,
//! }
//!
//! let status = Tool::new("status", async |Args(order): Args<Order>, cx: Ctx| {
//!     cx.progress(1.0, 1.0);
//!     Json(Status { shipped: order.number < 1_000 })
//! });
//! let server = Server::builder("orders", "1.0.0").tool(status);
//! # let _ = server;
//! ```
//!
//! A handler is any function or closure, sync or async. Its parameters are *extractors* ([`Args`], [`State`], [`Ctx`], your own
//! [`FromCall`] types). Its return type is text, numbers, [`Json`], content, `CallToolResult`, or a `Result` of these. The
//! attributes `#[tool]`, `#[prompt]` and `#[resource]` turn functions with plain parameters into handlers. `#[tools]`,
//! `#[prompts]` and `#[resources]` do so for methods.
//!
//! The crate contains no transport: pass the [`ServerBuilder`] or the [`Server`] to
//! `mcp_transport_stdio::serve`, `mcp_transport_http::serve`, or another transport.
//!
//! # Features
//!
//! - `macros` (default): `#[tool]`, `#[prompt]`, `#[resource]`, and their forms for methods.
//! - `state-keys` (default): [`StateKeys`], which encrypt the state that a client carries between the round trips of a call.
//! - `tasks` (default): tool calls that continue after their request was answered.
//! - `files`: [`Folder`], the files of one folder. A client cannot reach other files, whatever name it sends.
//! - `log`: [`LogLayer`], which sends the `tracing` events of handlers to clients.
//! - `testing`: [`testing::TestClient`], a client for tests in the same process.
//! - `tower`: tower layers as middleware.
//! - `validate`: all of JSON Schema 2020-12 instead of a subset, for input and output.
//!
//! The guides `servers.md`, `resources.md`, `testing.md` and `coming-from.md` in the folder `docs/guide` of the repository explain more.
//!
//! Specification: [server
//! features](https://modelcontextprotocol.io/specification/2025-11-25/server).

#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
#[cfg(feature = "files")]
mod folder;
mod handler;
mod random;
mod registry;
mod round_trip;
mod router;
mod schema;
mod server;
#[cfg(feature = "log")]
mod span;
mod subscriptions;
mod sync;
#[cfg(feature = "tasks")]
mod task_table;
#[cfg(feature = "tasks")]
mod tasks;
mod template;
#[cfg(feature = "testing")]
pub mod testing;

pub use error::{BuildError, HandlerError, IntoHandlerError, RegistrationError};
#[cfg(feature = "files")]
pub use folder::Folder;
pub use handler::ask::{Ask, Elicitation};
pub use handler::ctx::Ctx;
pub use handler::elicit::UrlElicitation;
pub use handler::media::{audio, image};
pub use handler::output::{
    Finish, ForPrompt, ForResource, ForTool, IntoOutput, Json, Kind, ResourceBody,
};
pub use handler::spec::Spec;
pub use handler::{Args, Call, Extraction, FromCall, FromState, Handler, State};
pub use mcp_jsonrpc::{ErrorCode, ErrorObject};
#[cfg(feature = "macros")]
pub use mcp_macros::{prompt, prompts, resource, resources, tool, tools};
pub use mcp_protocol::middleware;
#[cfg(feature = "tasks")]
pub use mcp_protocol::task::{MemoryTaskStore, TaskStore, TaskStoreError};
pub use mcp_protocol::{AskError, Cancelled, Grant, Principal, RequestContext, Revision, Session};
pub use mcp_protocol::{CacheHint, CacheScope, Deviation, Strictness, Tolerance};
/// The types of the protocol: crate `mcp-types`.
pub use mcp_types as types;
pub use mcp_types::{CallToolResult, ContentBlock, LoggingLevel, PromptMessage, ResourceContents};
pub use registry::access::ForAccess;
pub use registry::completion::{CompletionRequest, Completions, ForCompletion};
pub use registry::extension::Requirement;
pub use registry::into::{IntoPrompts, IntoResources, IntoTools};
pub use registry::lister::{Cursor, ForResourceList, ResourcePage};
pub use registry::method::{ForMethod, ForNotification};
pub use registry::prompt::Prompt;
pub use registry::resource::Resource;
pub use registry::tool::Tool;
#[cfg(feature = "state-keys")]
pub use round_trip::StateKeys;
pub use server::builder::ServerBuilder;
pub use server::extension::Extension;
pub use server::lists::{Prompts, Resources, Tools};
#[cfg(feature = "log")]
pub use server::log::LogLayer;
pub use server::settings::GuardedRequest;
pub use server::{Server, WeakServer};
pub use subscriptions::{Change, ChangeBus};
#[cfg(feature = "tasks")]
pub use task_table::{TaskMode, TaskOptions};
pub use template::{TemplateError, UriTemplate};
pub use {schemars, serde_json};

/// Support for the expansion of the attributes; not part of the public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::handler::text::{parsed, parsed_option};
    pub use crate::handler::{Argument, Awaits, Returns};
    pub use mcp_types::Icon;
    pub use {schemars, serde, serde_json};
}
