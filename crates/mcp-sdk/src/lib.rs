//! The Model Context Protocol in one dependency.
//!
//! Each module is one of the crates of this workspace; a program can also depend on single crates. The features have the names of the
//! modules. `server` and `stdio` are enabled by default.
//!
//! | Module | Crate | Contents |
//! | --- | --- | --- |
//! | `server` | `mcp-server` | [`Server`](server::Server), and the attributes `#[tool]`, `#[prompt]` and `#[resource]` |
//! | `client` | `mcp-client` | `Client` |
//! | `stdio` | `mcp-transport-stdio` | [`serve`](stdio::serve) on stdin and stdout, and `ChildProcess` |
//! | `http` | `mcp-transport-http` | `serve` over HTTP, `Endpoint` for axum and tower, and `HttpTransport` |
//! | `auth` | `mcp-auth` | OAuth for clients, and bearer tokens for servers |
//! | `host` | `mcp-host` | many supervised servers, consent, and the tools of models |
//! | `gateway` | `mcp-gateway` | many servers behind one endpoint |
//! | [`types`] | `mcp-types` | the types of the protocol |
//!
//! More features, for the enabled modules: `files`, `hash`, `legacy`, `log`, `testing`, `tls` (`https` for clients), `tower` and `validate`,
//! with the same meaning as in the crates.
//!
//! ```no_run
//! use mcp_sdk::server::{Server, tool};
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(/** left */ a: i64, /** right */ b: i64) -> i64 {
//!     a + b
//! }
//!
//! # async fn run() -> Result<(), mcp_sdk::stdio::Error> {
//! mcp_sdk::stdio::serve(Server::builder("calc", "1.0.0").tool(add::tool())).await
//! # }
//! ```
//!
//! A `main` that uses several modules can return [`Error`], to which their errors convert.

mod error;

pub use error::Error;
pub use mcp_types as types;

/// Servers: the crate `mcp-server`.
#[cfg(feature = "server")]
pub mod server {
    pub use mcp_macros::{
        sdk_prompt as prompt, sdk_prompts as prompts, sdk_resource as resource,
        sdk_resources as resources, sdk_tool as tool, sdk_tools as tools,
    };
    pub use mcp_server::*;

    /// Support for the expansion of the attributes; not part of the public API.
    #[doc(hidden)]
    pub mod __private {
        pub use mcp_server::__private::*;
    }
}

#[cfg(feature = "auth")]
pub use mcp_auth as auth;
#[cfg(feature = "client")]
pub use mcp_client as client;
#[cfg(feature = "gateway")]
pub use mcp_gateway as gateway;
#[cfg(feature = "host")]
pub use mcp_host as host;
#[cfg(feature = "http")]
pub use mcp_transport_http as http;
#[cfg(feature = "stdio")]
pub use mcp_transport_stdio as stdio;
