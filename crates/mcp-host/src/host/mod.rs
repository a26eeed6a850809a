//! Manages many supervised servers as one value.

mod builder;
mod items;
mod long_results;
mod mentions;
mod names;
mod reload;
mod starter;
mod tool_names;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use mcp_client::types::Tool;
use mcp_client::{CallToolResult, ClientBuilder};
use mcp_protocol::{read_lock, write_lock};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

pub use builder::HostBuilder;
pub use items::{HostPrompt, HostResource, HostResourceTemplate, HostSkill};
use long_results::LongResults;
pub(crate) use long_results::READ_RESULT;
pub use mentions::Mention;
pub use names::model_name;
pub(crate) use names::resource_name;
pub use reload::ConfigChanges;

use crate::coordinate::{LogStream, RootPaths};
use crate::error::HostError;
use crate::supervise::{ServerState, SupervisedClient};
use starter::{Server, Starter};

/// Maximum time that [`Host::settled`] waits for the lists of connected servers.
const MAX_LIST_WAIT: Duration = Duration::from_secs(5);
/// Maximum number of similar names in the error for an unknown tool.
const MAX_SIMILAR: usize = 5;
/// Minimum similarity of a name that an error suggests, from 0 to 1.
const MIN_LIKENESS: f64 = 0.8;

/// Many supervised servers. Cloning returns another handle. When the last handle is dropped, all connections are closed in the
/// background.
///
/// ```no_run
/// # async fn run() -> Result<(), mcp_host::HostError> {
/// use mcp_client::Client;
/// use mcp_host::{Config, Decision, Host, ServerConfig};
/// use serde_json::json;
///
/// let config = Config::new().with_server("git", ServerConfig::stdio("uvx", ["mcp-server-git"]));
/// let host = Host::builder(Client::builder("my-host", "1.0.0"))
///     .servers(config)
///     .consent(async |request| {
///         println!("{request}");
///         Decision::Deny
///     })
///     .start();
/// host.settled().await;
/// let result = host.call_tool("git__git_status", json!({ "repo_path": "." })).await?;
/// println!("{}", result.joined_text());
/// host.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Host(Arc<Servers>);

struct Servers {
    by_name: RwLock<BTreeMap<String, Server>>,
    logs: LogStream,
    starter: Starter,
    /// A lock that is held while a configuration is applied.
    applying: tokio::sync::Mutex<()>,
    long_results: Option<LongResults>,
}

impl Servers {
    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Server>> {
        read_lock(&self.by_name)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Server>> {
        write_lock(&self.by_name)
    }
}

/// A tool of one of the servers.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostTool {
    /// The name for the model, unique in the host: [`model_name`].
    pub name: String,
    /// The name of the server; empty for a tool of the host itself.
    pub server: String,
    /// The tool as the server describes it.
    pub tool: Arc<Tool>,
    /// Whether the list is from the cache or from a connection that has ended.
    pub is_stale: bool,
}

impl Host {
    /// Creates the builder. Each server gets a connection with the handlers and settings of `client`.
    pub fn builder(client: ClientBuilder) -> HostBuilder {
        HostBuilder::new(client)
    }

    /// Returns the servers in the order of their names.
    pub fn servers(&self) -> Vec<SupervisedClient> {
        let servers = self.0.read();
        servers
            .values()
            .map(|server| server.client.clone())
            .collect()
    }

    /// Returns the server with this name.
    pub fn server(&self, name: &str) -> Option<SupervisedClient> {
        self.0.read().get(name).map(|server| server.client.clone())
    }

    /// Returns the currently known tools of all servers, and the tools of the host itself, without waiting.
    pub fn tools(&self) -> Vec<HostTool> {
        let (mut tools, mut names) = (Vec::new(), HashSet::new());
        for (server_name, server) in &*self.0.read() {
            let (known, is_stale) = server.tool_names();
            for (name, tool) in known.iter() {
                if !names.insert(name.to_owned()) {
                    tracing::warn!(tool = name, "a second tool with this name is left out");
                    continue;
                }
                tools.push(HostTool {
                    name: name.to_owned(),
                    server: server_name.clone(),
                    tool: Arc::clone(tool),
                    is_stale,
                });
            }
        }
        if self.long_results().is_some() {
            tools.push(HostTool {
                name: READ_RESULT.to_owned(),
                server: String::new(),
                tool: Arc::new(LongResults::tool()),
                is_stale: false,
            });
        }
        tools
    }

    pub(crate) fn long_results(&self) -> Option<&LongResults> {
        self.0.long_results.as_ref()
    }

    /// Clears the record of untrusted servers ([`HostBuilder::track_untrusted_results`]), and removes the truncated results
    /// ([`HostBuilder::max_result_bytes`]). Call it when the model starts a conversation that contains none of the earlier
    /// results.
    pub fn begin_conversation(&self) {
        if let Some(results) = self.long_results() {
            results.clear();
        }
        if let Some(labels) = &self.0.starter.gate.labels {
            labels.clear();
        }
    }

    /// Calls the tool with this name for the model, in the same way as [`SupervisedClient::call_tool`].
    ///
    /// # Errors
    /// [`HostError::UnknownTool`] if no tool has this name, and the errors of [`SupervisedClient::call_tool`].
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: impl Into<Value>,
    ) -> Result<CallToolResult, HostError> {
        let Some((server, tool)) = self.find_tool(name) else {
            return Err(self.unknown_tool(name));
        };
        server.call_tool(&tool.name, arguments).await
    }

    /// Returns the tool with this name, and its server.
    pub(crate) fn find_tool(&self, name: &str) -> Option<(SupervisedClient, Arc<Tool>)> {
        let servers = self.0.read();
        // Nearly all tool names begin with the name of their server. This server is searched first, and the other servers only
        // if it does not have the tool.
        let ends = name.match_indices("__").map(|(end, _)| end);
        let named = ends.filter_map(|end| servers.get(&name[..end]));
        named.chain(servers.values()).find_map(|server| {
            let tool = server.tool(name)?;
            Some((server.client.clone(), tool))
        })
    }

    /// Returns the error for a tool name that does not exist. If the name has the prefix of a server that is not connected, the
    /// error says that this server is unavailable.
    fn unknown_tool(&self, name: &str) -> HostError {
        self.unavailable(name).unwrap_or_else(|| {
            let tools = self.tools();
            HostError::UnknownTool {
                name: name.to_owned(),
                similar: most_similar(name, tools.iter().map(|tool| tool.name.as_str())),
            }
        })
    }

    /// Returns the error that a server is unavailable, if the name has the prefix of a server that is not connected.
    fn unavailable(&self, name: &str) -> Option<HostError> {
        let is_of = |server: &SupervisedClient| {
            let rest = name.strip_prefix(&*names::allowed(server.name()));
            rest.is_some_and(|rest| rest.starts_with("__")) && server.state() != ServerState::Ready
        };
        let server = self.servers().into_iter().find(is_of)?;
        Some(HostError::Unavailable {
            server: server.name().to_owned(),
            state: server.state(),
        })
    }

    /// Returns the log messages of all servers. The host collects them only with [`HostBuilder::logs`].
    pub fn logs(&self) -> LogStream {
        self.0.logs.clone()
    }

    /// Replaces the roots of all servers that have no separate roots ([`set_server_roots`](Self::set_server_roots)), and notifies
    /// these servers. Reads the file system. Returns `false` and changes nothing if the host was started without
    /// [`HostBuilder::roots`]. A host that was started with an empty list of roots can get roots later.
    pub fn set_roots(&self, paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> bool {
        let paths = paths.into_iter().map(Into::into).collect();
        self.change_roots(|roots| roots.all = paths)
    }

    /// Replaces the roots of one server, in the same way as [`set_roots`](Self::set_roots).
    pub fn set_server_roots(
        &self,
        server: &str,
        paths: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> bool {
        let paths = paths.into_iter().map(Into::into).collect();
        self.change_roots(|roots| {
            roots.by_server.insert(server.to_owned(), paths);
        })
    }

    fn change_roots(&self, change: impl FnOnce(&mut RootPaths)) -> bool {
        let roots = self.0.starter.roots.as_ref();
        roots.map(|roots| roots.change(change)).is_some()
    }

    /// Completes when no server is starting or needs consent: each server is connected, is off, has failed or waits for a
    /// restart. Then waits up to 5 s for lists that connected servers have not returned.
    pub async fn settled(&self) {
        for server in self.servers() {
            server
                .wait_for(|state| {
                    !matches!(state, ServerState::Starting | ServerState::NeedsConsent)
                })
                .await;
        }
        // Servers that do not return their lists delay this method by at most `MAX_LIST_WAIT` in total.
        let end = Instant::now() + MAX_LIST_WAIT;
        for server in self.servers() {
            let _ = timeout_at(end, server.listed_once()).await;
        }
    }

    /// Closes all connections at the same time. Completes when all servers are off.
    pub async fn close(&self) {
        stop_all(self.servers()).await;
    }
}

/// Returns the names that are most similar to `name`.
fn most_similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    let likeness = |known: &'a str| (strsim::jaro_winkler(name, known), known);
    let mut similar: Vec<_> = known.map(likeness).collect();
    similar.retain(|(likeness, _)| *likeness >= MIN_LIKENESS);
    similar.sort_by(|one, other| other.0.total_cmp(&one.0));
    let similar = similar.into_iter().take(MAX_SIMILAR);
    similar.map(|(_, name)| name.to_owned()).collect()
}

/// Closes the connections of several servers at the same time.
async fn stop_all(servers: Vec<SupervisedClient>) {
    let stop = |server: SupervisedClient| tokio::spawn(async move { server.stop().await });
    let stops: Vec<_> = servers.into_iter().map(stop).collect();
    for stop in stops {
        // A stop that panics is reported by the runtime.
        let _ = stop.await;
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.servers()).finish()
    }
}
