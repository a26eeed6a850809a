//! The connection that requests of several clients share, and the properties of the server as far as they are known.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_client::{Client, Revision};
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::{ServerFacts, lock};
use mcp_types::v2026_07_28::TASKS_EXTENSION;
use tokio::time::Instant;

use crate::catalog::Catalog;
use crate::connection::{InUse, KnownParams, UpstreamConnection};

/// The shared connection. If it has ended, the next request opens a new connection.
pub(crate) struct SharedConnection {
    current: Mutex<Option<Arc<UpstreamConnection>>>,
    /// A lock that is held while the connection is opened.
    pub(crate) connecting: Arc<tokio::sync::Mutex<Failures>>,
    known: Mutex<Arc<KnownServer>>,
    /// Number of changes of the known properties.
    edition: AtomicU64,
    /// Whether the last attempt to connect failed.
    pub(crate) is_failing: AtomicBool,
    /// The error of the last attempt to connect.
    last_error: Mutex<Option<String>>,
}

/// Maximum time that a request waits for the next attempt to connect. If the next attempt is later, the request fails at once.
pub(crate) const MAX_RECONNECT_WAIT: Duration = Duration::from_secs(2);

/// The failed attempts to connect.
#[derive(Default)]
pub(crate) struct Failures {
    pub(crate) in_row: u32,
    pub(crate) not_before: Option<Instant>,
}

/// The properties of the server, from the last connection.
pub(crate) struct KnownServer {
    pub(crate) facts: ServerFacts,
    pub(crate) revision: Revision,
    /// Whether the server is a program. Each connection then has a separate process, which can keep state. Every server whose
    /// transport has no HTTP headers counts as a program.
    pub(crate) is_program: bool,
    /// The parameters of the tools that are echoed in HTTP headers.
    pub(crate) header_params: KnownParams,
}

impl KnownServer {
    pub(crate) async fn of(client: &Client, catalog: Option<&Catalog>) -> Self {
        let mut capabilities = client.capabilities().clone();
        // Tasks belong to one connection, so they are not passed on.
        capabilities.tasks = None;
        if let Some(extensions) = &mut capabilities.extensions {
            extensions.remove(TASKS_EXTENSION);
        }
        let mut facts = ServerFacts::new(client.server_info().clone(), capabilities);
        facts.instructions = client.instructions().map(str::to_owned);
        if let Some(catalog) = catalog {
            catalog.learn_prompts(client).await;
            catalog.learn_resources(client).await;
        }
        Self {
            facts,
            revision: client.revision(),
            is_program: !client.connection().has_headers(),
            header_params: header_params(client, catalog).await,
        }
    }
}

/// Lists the parameters that are echoed in HTTP headers. Only the stateless revision has such parameters, but tools of
/// session-based servers can have the annotation too.
pub(crate) async fn header_params(client: &Client, catalog: Option<&Catalog>) -> KnownParams {
    let mut all = HashMap::new();
    if client.capabilities().tools.is_none() {
        return all;
    }
    match client.list_tools().await {
        Ok(tools) => {
            if let Some(catalog) = catalog {
                catalog.learn_tools(&tools);
            }
            for tool in tools {
                if let Ok(params) = HeaderParams::of(&tool.input_schema)
                    && !params.is_empty()
                {
                    all.insert(tool.name, Arc::new(params));
                }
            }
        }
        Err(error) => tracing::warn!(%error, "the tools of the server cannot be listed"),
    }
    all
}

impl SharedConnection {
    /// Creates the shared connection from the first connection.
    pub(crate) async fn new(
        connection: Arc<UpstreamConnection>,
        catalog: Option<&Catalog>,
    ) -> Self {
        let known = KnownServer::of(&connection.client, catalog).await;
        Self {
            current: Mutex::new(Some(connection)),
            connecting: Arc::default(),
            known: Mutex::new(Arc::new(known)),
            edition: AtomicU64::new(0),
            is_failing: AtomicBool::new(false),
            last_error: Mutex::default(),
        }
    }

    /// Records the result of an attempt to reach the server. Returns whether the previous attempt succeeded.
    pub(crate) fn attempted(&self, error: Option<String>) -> bool {
        let is_failing = error.is_some();
        *lock(&self.last_error) = error;
        !self.is_failing.swap(is_failing, Ordering::AcqRel)
    }

    /// Records that the server has responded.
    pub(crate) fn responded(&self) {
        if self.is_failing.load(Ordering::Acquire) {
            self.attempted(None);
        }
    }

    /// Returns the error of the last attempt to connect, if it failed.
    pub(crate) fn last_error(&self) -> Option<String> {
        lock(&self.last_error).clone()
    }

    pub(crate) fn known(&self) -> Arc<KnownServer> {
        Arc::clone(&lock(&self.known))
    }

    pub(crate) fn edition(&self) -> u64 {
        self.edition.load(Ordering::Acquire)
    }

    /// Returns the connection; `None` if it is not open.
    pub(crate) fn current(&self) -> Option<Arc<UpstreamConnection>> {
        lock(&self.current)
            .clone()
            .filter(|connection| connection.is_open())
    }

    /// Marks the connection as in use; `None` if it is not open.
    pub(crate) fn in_use(&self) -> Option<InUse> {
        lock(&self.current).as_ref()?.in_use()
    }

    pub(crate) fn learn(&self, known: KnownServer) {
        *lock(&self.known) = Arc::new(known);
        self.edition.fetch_add(1, Ordering::Release);
    }

    /// Replaces the connection.
    pub(crate) fn set(&self, connection: &Arc<UpstreamConnection>) {
        *lock(&self.current) = Some(Arc::clone(connection));
    }

    /// Returns whether the gateway has closed the connection because it was unused.
    pub(crate) fn is_released(&self) -> bool {
        lock(&self.current).is_none()
    }

    /// Removes the connection and returns it, if `is_wanted` returns `true` for the connection.
    pub(crate) fn take_if(
        &self,
        is_wanted: impl FnOnce(&UpstreamConnection) -> bool,
    ) -> Option<Arc<UpstreamConnection>> {
        lock(&self.current).take_if(|connection| is_wanted(connection))
    }
}
