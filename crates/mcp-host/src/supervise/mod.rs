//! Keeps a client connected: starts the server, restarts it after failures, and closes it with the host.

mod builder;
mod catalog;
mod connector;
mod items;
pub(crate) mod nesting;
pub(crate) mod orphans;
mod permission;
mod restart;
mod state;
mod stderr;
mod task;

use std::fmt;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcp_client::types::{JsonObject, Tool};
use mcp_client::{
    CallToolResult, Client, ClientBuilder, ContentBlock, Progress, Timeouts, ToolCall, tool_hash,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;

pub use builder::SupervisedBuilder;
pub use catalog::{ItemList, ListCache};
pub use connector::Connector;
pub use items::subscription::{ResourceChange, ResourceSubscription};
use nesting::RunningCalls;
pub(crate) use permission::{Item, Permission};
pub use restart::RestartPolicy;
pub use state::ServerState;
pub use stderr::StderrLog;
use task::{Goal, Published};

use crate::action_kind::ActionKind;
use crate::error::HostError;

/// A client of one server. When its connection ends, the client connects again. Cloning returns another handle. When the last
/// handle is dropped, the connection is closed in the background.
///
/// ```no_run
/// # async fn run() -> Result<(), mcp_host::HostError> {
/// use mcp_client::Client;
/// use mcp_host::{ServerConfig, SupervisedClient};
///
/// let config = ServerConfig::stdio("uvx", ["mcp-server-git"]);
/// let git = SupervisedClient::builder("git", Client::builder("my-host", "1.0.0"), config).start();
/// let status = git.call_tool("git_status", serde_json::json!({ "repo_path": "." })).await?;
/// println!("{}", status.joined_text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SupervisedClient(Arc<Handle>);

struct Handle {
    name: Arc<str>,
    published: Arc<Published>,
    goal: watch::Sender<Goal>,
    wait_timeout: Duration,
    call_timeout: Option<Duration>,
    is_trusted: bool,
    permission: Option<Arc<dyn Permission>>,
    calls: Arc<RunningCalls>,
    on_progress: Option<ProgressHandler>,
}

/// A callback that receives the name of the server, the name of the tool and a progress notification.
pub(crate) type ProgressHandler = Arc<dyn Fn(&str, &str, &Progress) + Send + Sync>;

impl SupervisedClient {
    /// Creates the builder. `client` has the handlers and settings of each connection, except that `connect_timeout` and
    /// `max_list_bytes` are replaced.
    pub fn builder(
        name: impl Into<String>,
        client: ClientBuilder,
        connector: impl Connector,
    ) -> SupervisedBuilder {
        SupervisedBuilder::new(name.into(), client, Arc::new(connector))
    }

    /// Returns the name that the application gave the server.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the current state of the server.
    pub fn state(&self) -> ServerState {
        self.0.published.state.borrow().clone()
    }

    /// Waits until the state of the server fulfils a condition, and returns the state. A state that lasts only a short time can
    /// be missed.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn wait_for(&self, mut is_reached: impl FnMut(&ServerState) -> bool) -> ServerState {
        let mut states = self.0.published.state.subscribe();
        let reached = states.wait_for(|state| is_reached(state)).await;
        // The sender is part of this handle, so waiting does not fail.
        reached.map_or_else(|_| self.state(), |state| state.clone())
    }

    /// Records that the conversation contains text of this server, unless the server is trusted.
    pub(crate) fn mark_untrusted(&self) {
        if let Some(permission) = &self.0.permission {
            permission.received();
        }
    }

    /// Returns the currently known tools, without waiting.
    pub fn tools(&self) -> ItemList<Tool> {
        self.0.published.lists.tools.borrow().clone()
    }

    /// Completes when the list of tools was replaced or has become stale. Use it, for example, to update a menu.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn tools_changed(&self) -> ItemList<Tool> {
        let mut tools = self.0.published.lists.tools.subscribe();
        tools.borrow_and_update();
        // The sender is part of this handle, so waiting does not fail.
        let _ = tools.changed().await;
        self.tools()
    }

    /// Returns the last stderr lines of the server, including the lines before a restart.
    pub fn stderr(&self) -> Vec<String> {
        self.0.published.stderr.lines()
    }

    /// Returns the connected client. If the server is starting or waits for a restart, waits until it is connected. Calls through
    /// this client bypass consent, the policy and the audit log.
    ///
    /// # Errors
    /// [`HostError::Unavailable`] if the server is off, has failed, or is not connected within
    /// [`wait_timeout`](SupervisedBuilder::wait_timeout).
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn client(&self) -> Result<Client, HostError> {
        self.connected().await.map(|(client, _)| client)
    }

    /// Returns the client, and a receiver that changes when the supervisor has noticed the end of the client's connection.
    async fn connected(&self) -> Result<(Client, watch::Receiver<Option<Client>>), HostError> {
        let published = &self.0.published;
        let (mut clients, mut states) = (published.client.subscribe(), published.state.subscribe());
        let connected = async {
            loop {
                let client = clients.borrow_and_update().clone();
                if let Some(client) = client {
                    return Some(client);
                }
                let is_down = matches!(
                    *states.borrow_and_update(),
                    ServerState::Off | ServerState::Failed { .. }
                );
                if is_down {
                    return None;
                }
                let _ = tokio::select! {
                    changed = clients.changed() => changed,
                    changed = states.changed() => changed,
                };
            }
        };
        match timeout(self.0.wait_timeout, connected).await {
            Ok(Some(client)) => Ok((client, clients)),
            Ok(None) | Err(_) => {
                // The state in the error can contain text from the server.
                if let Some(permission) = &self.0.permission {
                    permission.received();
                }
                Err(HostError::Unavailable {
                    server: self.name().to_owned(),
                    state: self.state(),
                })
            }
        }
    }

    /// Calls a tool. Waits for the server in the same way as [`client`](Self::client).
    ///
    /// If the tool is no longer in the server's list, returns a result with `is_error` and this reason, because the model may
    /// have chosen the tool from an older list.
    ///
    /// # Errors
    /// The errors of [`client`](Self::client). [`HostError::MayHaveRun`] if the connection ended during the call. The call is
    /// repeated only if the server is [trusted](SupervisedBuilder::trusted) and the tool is read-only or idempotent.
    /// [`HostError::Denied`] if the call needs [consent](crate::HostBuilder::consent) and the user does not give it.
    /// [`HostError::Call`] for all other failures.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: impl Into<Value>,
    ) -> Result<CallToolResult, HostError> {
        let mut arguments = arguments.into();
        let (mut is_repeated, mut permitted) = (false, Permitted::default());
        loop {
            let (client, mut connection) = self.connected().await?;
            if self.0.permission.is_some() {
                self.listed().await;
            }
            let list = self.tools();
            let tool = list.find(name);
            if tool.is_none() && !list.is_stale && self.state() == ServerState::Ready {
                return Ok(removed(self.name(), name));
            }
            if let Some(permission) = &self.0.permission
                && permitted
                    .ask(self.name(), &**permission, name, tool, &arguments)
                    .await?
            {
                continue; // The server or its list may have changed while the person decided.
            }
            let started = Instant::now();
            let running = self.0.calls.start();
            let can_repeat =
                !is_repeated && self.0.is_trusted && tool.is_some_and(|tool| is_repeatable(tool));
            let sent = match can_repeat {
                true => arguments.clone(),
                false => mem::take(&mut arguments),
            };
            let called = self.prepared(&client, name, sent).await;
            drop(running);
            if let Some(permission) = &self.0.permission {
                permission.called(name, started, called.as_ref());
            }
            let source = match called {
                Ok(result) => return Ok(result),
                Err(source) if source.is_closed() => Box::new(source),
                Err(source) => return Err(self.failed(ActionKind::CallTool, name, source)),
            };
            // Waits until the supervisor has noticed the end of the connection, so that the next call is not sent over it.
            let _ = timeout(self.0.wait_timeout, connection.changed()).await;
            if !can_repeat {
                let (server, tool) = (self.name().to_owned(), name.to_owned());
                return Err(HostError::MayHaveRun {
                    server,
                    tool,
                    source,
                });
            }
            is_repeated = true;
        }
    }

    /// Returns the error of a request that failed.
    pub(crate) fn failed(
        &self,
        kind: ActionKind,
        name: &str,
        source: impl Into<Box<mcp_client::Error>>,
    ) -> HostError {
        HostError::Call {
            server: self.name().to_owned(),
            kind,
            name: name.to_owned(),
            source: source.into(),
        }
    }

    /// Returns a call with the timeouts and the progress handler of the host.
    fn prepared(&self, client: &Client, name: &str, arguments: Value) -> ToolCall {
        let mut call = client.call_tool(name, arguments);
        if let Some(timeouts) = self.timeouts() {
            call = call.timeouts(timeouts);
        }
        if let Some(handler) = self.0.on_progress.clone() {
            let (server, tool) = (Arc::clone(&self.0.name), name.to_owned());
            call = call.on_progress(move |progress| handler(&server, &tool, &progress));
        }
        call
    }

    /// Returns the timeouts of requests, if they differ from the timeouts of the client.
    fn timeouts(&self) -> Option<Timeouts> {
        let idle = self.0.call_timeout?;
        Some(Timeouts::new(idle, Timeouts::default().total.max(idle)))
    }

    /// Waits until the tools of a new connection are listed. Before that, the list from the cache may be out of date.
    async fn listed(&self) {
        let is_listed = |state: &ServerState| *state != ServerState::Starting;
        let _ = timeout(self.0.wait_timeout, self.wait_for(is_listed)).await;
    }

    /// Starts the server again, even if it is off or has failed. Closes an open connection first.
    pub fn restart(&self) {
        // Removes the client at once, so that the next call waits for the new connection.
        let published = &self.0.published;
        published.closing.send_if_modified(|closing| {
            let client = published.client.send_replace(None);
            let is_connected = client.is_some();
            if is_connected {
                *closing = client;
            }
            is_connected
        });
        published.state.send_replace(ServerState::Starting);
        self.0.goal.send_replace(Goal { is_running: true });
    }

    /// Closes the connection, and prevents further starts. Completes when the server is off.
    pub async fn stop(&self) {
        self.0.goal.send_replace(Goal { is_running: false });
        self.wait_for(|state| *state == ServerState::Off).await;
    }
}

/// The tool definition for which a call was permitted.
#[derive(Default)]
struct Permitted {
    hash: Option<String>,
    changes: usize,
}

impl Permitted {
    /// Maximum number of times that the definition can change between the permission and the call.
    const MAX_CHANGES: usize = 3;

    /// Asks for permission if the tool definition differs from the permitted definition. Returns whether it differs.
    async fn ask(
        &mut self,
        server: &str,
        permission: &dyn Permission,
        name: &str,
        tool: Option<&Arc<Tool>>,
        arguments: &Value,
    ) -> Result<bool, HostError> {
        // Without a list the definition is not known.
        let unknown = || Arc::new(Tool::new(name, JsonObject::new()));
        let tool = tool.map_or_else(unknown, Arc::clone);
        let hash = tool_hash(&tool);
        if self.hash.as_ref() == Some(&hash) {
            return Ok(false);
        }
        let denied = |reason| HostError::Denied {
            server: server.to_owned(),
            kind: ActionKind::CallTool,
            name: name.to_owned(),
            reason,
        };
        if self.changes > Self::MAX_CHANGES {
            return Err(denied(format!(
                "its definition has changed {} times while the host asked for permission",
                Self::MAX_CHANGES
            )));
        }
        permission.call(&tool, arguments).await.map_err(denied)?;
        self.hash = Some(hash);
        self.changes += 1;
        Ok(true)
    }
}

/// Returns whether the server declares that a second call of the tool has no further effect.
fn is_repeatable(tool: &Tool) -> bool {
    tool.annotations.as_ref().is_some_and(|annotations| {
        annotations.read_only_hint == Some(true) || annotations.idempotent_hint == Some(true)
    })
}

fn removed(server: &str, tool: &str) -> CallToolResult {
    let text = format!(
        "The server {server:?} no longer offers the tool {tool:?}: its list of tools has changed. \
         Choose a tool of the current list."
    );
    let mut result = CallToolResult::new(vec![ContentBlock::text(text)]);
    result.is_error = Some(true);
    result
}

impl fmt::Debug for SupervisedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SupervisedClient")
            .field("name", &self.name())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}
