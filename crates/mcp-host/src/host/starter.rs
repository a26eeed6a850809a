//! Starts the servers of a host, at its start and later.

use std::collections::HashSet;
use std::sync::Arc;

use mcp_client::{ChangedList, ClientBuilder, Transport, TransportError};
use tokio::sync::Semaphore;

use crate::config::{ConfigError, ServerConfig, Variables};
use crate::consent::{Gate, ServerGate};
use crate::coordinate::{Handlers, Roots};
use crate::supervise::nesting::RunningCalls;
use crate::supervise::{
    Connector, ProgressHandler, RestartPolicy, StderrLog, SupervisedClient, ToolListCache,
};

/// A started server.
pub(super) struct Server {
    pub(super) client: SupervisedClient,
    pub(super) origin: Origin,
}

/// Where a server comes from.
pub(super) enum Origin {
    /// A connector of the application.
    Connector,
    Config(Box<ServerConfig>),
    /// A configuration with this error.
    Invalid(String),
}

pub(super) type OnChange = Arc<dyn Fn(&str, ChangedList) + Send + Sync>;

/// The settings that all servers of a host share.
pub(super) struct Starter {
    pub(super) client: ClientBuilder,
    pub(super) variables: Variables,
    pub(super) trusted: HashSet<String>,
    pub(super) cache: Option<ToolListCache>,
    pub(super) restart: RestartPolicy,
    pub(super) gate: Arc<Gate>,
    /// Whether connections and calls need permission of `gate`.
    pub(super) has_permission: bool,
    pub(super) handlers: Handlers,
    pub(super) changed: Vec<OnChange>,
    pub(super) progress: Option<ProgressHandler>,
    pub(super) roots: Option<Arc<Roots>>,
    pub(super) starts: Arc<Semaphore>,
}

impl Starter {
    /// Starts a server of the configuration. With an error, it is in state `Failed`.
    pub(super) fn start_configured(
        &self,
        name: &str,
        config: Result<ServerConfig, ConfigError>,
    ) -> Server {
        let resolved = config.and_then(|config| {
            let resolved = config.resolve(&self.variables)?;
            Ok((config, resolved))
        });
        match resolved {
            // The unresolved configuration has no secrets.
            Ok((config, resolved)) => {
                let connector = AnyConnector(Ok(Box::new(resolved.clone())));
                let client = self.start(name, connector, Some(&config), Some(resolved));
                Server {
                    client,
                    origin: Origin::Config(Box::new(config)),
                }
            }
            Err(error) => {
                let error = error.to_string();
                let connector = AnyConnector(Err(error.clone()));
                Server {
                    client: self.start(name, connector, None, None),
                    origin: Origin::Invalid(error),
                }
            }
        }
    }

    /// Starts a server with a transport of the application.
    pub(super) fn start_connector(&self, name: &str, connector: Box<dyn Connector>) -> Server {
        Server {
            client: self.start(name, AnyConnector(Ok(connector)), None, None),
            origin: Origin::Connector,
        }
    }

    fn start(
        &self,
        name: &str,
        connector: AnyConnector,
        config: Option<&ServerConfig>,
        resolved: Option<ServerConfig>,
    ) -> SupervisedClient {
        let is_trusted = self.trusted.contains(name);
        let gate = ServerGate::new(
            Arc::clone(&self.gate),
            name.to_owned(),
            is_trusted,
            resolved,
        );
        let (gate, calls) = (Arc::new(gate), Arc::<RunningCalls>::default());
        let mut client = self.handlers.add(self.client.clone(), &gate, &calls);
        for handler in &self.changed {
            let (handler, name) = (Arc::clone(handler), name.to_owned());
            client = client.on_change(move |list| handler(&name, list));
        }
        let mut builder = SupervisedClient::builder(name, client, connector)
            .restart(self.restart.clone())
            .trusted(is_trusted)
            .calls(calls)
            .starts(Arc::clone(&self.starts));
        if self.has_permission {
            builder = builder.permission(gate);
        }
        if let Some(handler) = self.progress.clone() {
            builder =
                builder.on_progress(move |server, tool, progress| handler(server, tool, progress));
        }
        if let Some(roots) = &self.roots {
            builder = builder.roots(roots.subscribe(name));
        }
        if let Some(cache) = &self.cache {
            let fingerprint = config.map(ServerConfig::fingerprint);
            builder = builder.tool_list_cache(cache.clone(), fingerprint.unwrap_or_default());
        }
        if let Some(config) = config {
            builder = builder.enabled(config.is_enabled);
            if let Some(timeout) = config.start_timeout {
                builder = builder.start_timeout(timeout);
            }
            if let Some(timeout) = config.call_timeout {
                builder = builder.call_timeout(timeout);
            }
        }
        builder.start()
    }
}

/// A connector, or why the configuration has no valid one.
struct AnyConnector(Result<Box<dyn Connector>, String>);

impl Connector for AnyConnector {
    fn transport(&self, stderr: &StderrLog) -> Result<Box<dyn Transport>, TransportError> {
        match &self.0 {
            Ok(connector) => connector.transport(stderr),
            Err(reason) => Err(TransportError::new(reason.clone())),
        }
    }
}
