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
//! let server = Server::new("orders", "1.0.0").tool(status);
//! # let _ = server;
//! ```
//!
//! A handler is any function or closure, sync or async, whose parameters are *extractors*
//! ([`Args`], [`State`], [`Ctx`], your own [`FromCall`] types) and whose return type fits: text,
//! numbers, [`Json`], content, `CallToolResult`, or a `Result` of these. The attributes
//! `#[tool]`, `#[prompt]` and `#[resource]` put the same behind plain parameters.
//!
//! The crate knows no transport: hand the [`Server`] to `mcp_transport_stdio::serve` or any
//! other driver of a [`mcp_protocol::Service`].
//!
//! Specification: [server features](https://modelcontextprotocol.io/specification/2025-11-25/server).

mod call;
mod change;
mod completion;
mod ctx;
mod elicit;
mod error;
mod extension;
mod handler;
mod icons;
#[cfg(feature = "log")]
mod log;
mod macros;
mod output;
mod page;
mod prompt;
mod registry;
mod resource;
mod rounds;
mod router;
mod schema;
#[cfg(feature = "seal")]
mod seal;
mod server;
mod settings;
mod spec;
#[cfg(feature = "tasks")]
mod tasks;
mod template;
#[cfg(feature = "testing")]
pub mod testing;
mod tool;
mod unique;
#[cfg(not(feature = "seal"))]
mod unsealed;

pub use call::{Args, Call, Extracted, FromCall, FromState, State};
pub use change::{Change, ChangeBus};
pub use completion::{Completing, Completions};
pub use ctx::{Ctx, UrlElicitation};
pub use elicit::{Ask, Elicited};
pub use error::{HandlerError, IntoHandlerError, RegistrationError};
pub use handler::Handler;
#[cfg(feature = "log")]
pub use log::LogLayer;
#[cfg(feature = "macros")]
pub use mcp_macros::{prompt, resource, tool};
pub use mcp_protocol::modern::{CacheHint, CacheScope};
#[cfg(feature = "tasks")]
pub use mcp_protocol::task::{MemoryStore, StoreError, TaskStore};
pub use output::{Finish, ForPrompt, ForResource, ForTool, IntoOutput, Json, Kind, ResourceBody};
pub use prompt::Prompt;
pub use resource::Resource;
#[cfg(feature = "seal")]
pub use seal::StateKeys;
pub use server::{Server, WeakServer};
pub use settings::Guarded;
pub use spec::Spec;
#[cfg(feature = "tasks")]
pub use tasks::{TaskMode, TaskOptions};
pub use template::{TemplateError, UriTemplate};
pub use tool::Tool;

/// What the attributes expand to; not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use crate::handler::{Awaits, Returns};
    pub use mcp_types::Icon;
    pub use {schemars, serde, serde_json};
}
