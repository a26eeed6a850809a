//! Hosts of the Model Context Protocol: many servers behind one value.
//!
//! ```no_run
//! use mcp_client::Client;
//! use mcp_host::{CatalogCache, Config, Host};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), mcp_host::HostError> {
//!     let config = Config::discover(".");
//!     for warning in config.warnings() {
//!         eprintln!("{warning}");
//!     }
//!     let host = Host::builder(Client::builder("my-host", "1.0.0"))
//!         .servers(config)
//!         .catalog(CatalogCache::dir(".my-host/tools"))
//!         .start(); // returns at once; the tools of the last run are there, marked as stale
//!     host.settled().await;
//!     for server in host.servers() {
//!         eprintln!("{}: {}", server.name(), server.state());
//!     }
//!     for tool in host.tools() {
//!         println!("{}: {:?}", tool.name, tool.tool.description);
//!     }
//!     let result = host.call_tool("git__git_status", serde_json::json!({ "repo_path": "." })).await?;
//!     println!("{}", result.joined_text());
//!     host.close().await;
//!     Ok(())
//! }
//! ```
//!
//! - [`Config`] reads `mcp.json` and the files of VS Code, Claude, Codex, Cursor and Gemini. An error
//!   in one server leaves the others usable.
//! - [`SupervisedClient`] keeps one server connected: parallel start, restarts with backoff, a
//!   catalogue from a cache, and the last stderr lines. It also serves programs with one server.
//! - [`Host`] combines many of them, and gives each tool a unique name that model APIs accept.
//! - [`Format`] has the tools, calls and results in the formats of model APIs.
//!
//! Child processes end with the host, also if the host is killed, on Unix with the processes that
//! they have started in their process group.
//!
//! With [`HostBuilder::consent`], a person is asked before the host connects and before it calls a tool;
//! a [`Policy`] answers before the person. Otherwise the crate asks nothing, and the application decides
//! which servers of a configuration it starts and which calls it sends.
//!
//! [`HostBuilder::model`], [`forms`](HostBuilder::forms), [`roots`](HostBuilder::roots) and
//! [`logs`](HostBuilder::logs) answer the requests of servers, within [`CoordinationLimits`]. Other handlers are those of the
//! [`ClientBuilder`](mcp_client::ClientBuilder).
//!
//! Specification:
//! [architecture](https://modelcontextprotocol.io/specification/2025-11-25/architecture).

mod config;
mod consent;
mod coordinate;
mod error;
mod host;
mod model;
mod supervise;

pub use config::{
    Config, ConfigError, ConfigErrorKind, ConfigFormat, Launch, ServerConfig, Variables,
};
pub use consent::{
    ActionKind, Approval, ApprovalFile, ApprovalKey, ApprovalStore, AuditLog, Consent, Decision,
    Effect, Policy, PolicyRule, Question, Subject, printable,
};
pub use coordinate::{
    CoordinationLimits, ElicitationContent, ElicitationRequest, Forms, LogMessage, LogStream,
    Model, SamplingRequest,
};
pub use error::HostError;
pub use host::{ConfigChanges, Host, HostBuilder, HostTool, model_name};
pub use model::{DroppedKeyword, Format, ModelTools, ToolBudget, ToolUse};
pub use supervise::{
    CatalogCache, Connector, RestartPolicy, ServerState, StderrLog, SupervisedBuilder,
    SupervisedClient, ToolList,
};
