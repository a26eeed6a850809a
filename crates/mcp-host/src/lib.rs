//! Hosts of the Model Context Protocol: many servers behind one value.
//!
//! ```no_run
//! use mcp_client::Client;
//! use mcp_host::{ListCache, Config, Host};
//!
//! #[tokio::main(flavor = "current_thread")]
//! async fn main() -> Result<(), mcp_host::HostError> {
//!     let config = Config::discover(".");
//!     for warning in config.warnings() {
//!         eprintln!("{warning}");
//!     }
//!     let host = Host::builder(Client::builder("my-host", "1.0.0"))
//!         .servers(config)
//!         .list_cache(ListCache::dir(".my-host/tools"))
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
//! - [`SupervisedClient`] keeps one server connected: parallel start, restarts with backoff, a tool list from a cache, and the
//!   last stderr lines. Programs with only one server can use it without a [`Host`].
//! - [`Host`] combines many supervised clients, and gives each tool a unique name that model APIs accept.
//! - [`HostContext`] has the resources, prompts and skills that a person attaches to a conversation.
//! - [`ModelApi`] converts tools, calls, results and attachments to and from the formats of model APIs.
//!
//! Child processes end with the host, even if the host is killed. On Unix, the other processes in their
//! process groups end too. A process that leaves its group with `setsid` continues to run.
//!
//! With [`HostBuilder::consent`], the host asks the user before it connects to a server and before it calls a tool, unless a
//! rule of the [`Policy`] decides. Caution: with a policy, an [`ApprovalStore`] or an [`AuditLog`] but without `consent`, the
//! host denies every action that no rule or stored approval allows. With none of them, the host allows everything.
//!
//! [`HostBuilder::model`], [`elicitation`](HostBuilder::elicitation), [`roots`](HostBuilder::roots) and
//! [`logs`](HostBuilder::logs) set how the host handles requests and log messages of servers, within [`ServerLimits`]. The
//! [`ClientBuilder`](mcp_client::ClientBuilder) has the handlers for everything else.
//!
//! The guide `host.md` in the folder `docs/guide` of the repository explains more.
//!
//! Specification:
//! [architecture](https://modelcontextprotocol.io/specification/2025-11-25/architecture).

#![cfg_attr(docsrs, feature(doc_cfg))]

mod action_kind;
mod config;
mod consent;
mod coordinate;
mod error;
mod host;
mod model;
mod name_index;
mod replace_file;
mod secret_names;
mod setting_names;
mod suggestions;
mod supervise;
mod text;
mod text_file;
mod type_names;

pub use config::{
    Config, ConfigError, ConfigErrorKind, ConfigFormat, ConfigInput, HeadersHelper, Launch,
    NetworkConfig, ServerConfig, Variables, without_comments,
};
pub use consent::{
    ActionKind, Approval, ApprovalFile, ApprovalKey, ApprovalStore, AuditLog, Consent,
    ConsentAction, ConsentRequest, Decision, Effect, Policy, PolicyRule,
};
#[doc(hidden)]
pub use consent::{LaunchPlan, matches as matches_pattern, open_private_file};
pub use coordinate::{
    ElicitationContent, ElicitationHandler, ElicitationRequest, LogMessage, LogStream, Model,
    SamplingRequest, ServerLimits,
};
pub use error::HostError;
pub use host::{
    ConfigChanges, Host, HostBuilder, HostPrompt, HostResource, HostResourceTemplate, HostSkill,
    HostTool, Mention, model_name,
};
#[doc(hidden)]
pub use model::rank as rank_tools;
pub use model::{
    ContextItem, DroppedKeyword, HostContext, HostItem, LeftOut, ModelApi, ModelContext,
    ModelTools, ReplacedMedia, ToolBudget, ToolSearch, ToolUse,
};
pub use replace_file::replace_file;
#[doc(hidden)]
pub use secret_names::is_secret_name;
#[doc(hidden)]
pub use setting_names::without_setting_names;
#[doc(hidden)]
pub use suggestions::{argument_names, nearest_name};
pub use supervise::{
    Connector, ItemList, ListCache, ResourceChange, ResourceSubscription, RestartPolicy,
    ServerState, StderrLog, SupervisedBuilder, SupervisedClient,
};
#[doc(hidden)]
pub use text::is_hidden as is_hidden_character;
pub use text::printable;
pub use text_file::read_text;
#[doc(hidden)]
pub use type_names::without_type_names;
