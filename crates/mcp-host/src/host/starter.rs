//! Starts the servers of a host, when the host starts and later.

use std::collections::HashSet;
use std::sync::Arc;

use mcp_client::{ChangedList, ClientBuilder, Transport, TransportError};
use tokio::sync::Semaphore;

use super::tool_names::KnownNames;
use crate::config::{Configured, NetworkConfig, ServerConfig, Variables};
use crate::consent::{Gate, LaunchPlan, ServerGate};
use crate::coordinate::{Handlers, Roots};
use crate::supervise::nesting::RunningCalls;
use crate::supervise::{
    Connector, ListCache, ProgressHandler, RestartPolicy, StderrLog, SupervisedClient,
};

/// A server that the host has started.
pub(super) struct Server {
    pub(super) client: SupervisedClient,
    pub(super) origin: Origin,
    pub(super) names: KnownNames,
}

/// The source of a server's settings.
pub(super) enum Origin {
    /// A connector that the application has set.
    Connector,
    Config {
        config: Box<ServerConfig>,
        is_project: bool,
    },
    /// A configuration with this error.
    Invalid(String),
}

pub(super) type OnChange = Arc<dyn Fn(&str, ChangedList) + Send + Sync>;

/// The settings that all servers of a host share.
pub(super) struct Starter {
    pub(super) client: ClientBuilder,
    pub(super) variables: Variables,
    pub(super) network: NetworkConfig,
    pub(super) trusted: HashSet<String>,
    /// Whether servers of the opened folder are trusted like servers of the user.
    pub(super) trusts_project: bool,
    pub(super) cache: Option<ListCache>,
    pub(super) restart: RestartPolicy,
    pub(super) gate: Arc<Gate>,
    /// Whether `gate` decides about connections and calls. If not, everything is allowed.
    pub(super) has_permission: bool,
    pub(super) handlers: Handlers,
    pub(super) changed: Vec<OnChange>,
    pub(super) progress: Option<ProgressHandler>,
    pub(super) roots: Option<Arc<Roots>>,
    pub(super) starts: Arc<Semaphore>,
}

impl Starter {
    /// Starts a server of the configuration. If the configuration has an error, the server is in state `Failed`.
    pub(super) fn start_configured(&self, name: &str, configured: Configured) -> Server {
        let is_project = configured.is_project;
        let planned = configured.server.and_then(|mut config| {
            config.network = config.network.or(&self.network);
            LaunchPlan::new(config, is_project, &self.variables)
        });
        match planned {
            Ok(plan) => {
                // Kept with the references to variables, not with their values, which may be secrets.
                let config = Box::new(plan.written().clone());
                Server {
                    client: self.start(name, Source::Plan(Arc::new(plan)), is_project),
                    origin: Origin::Config { config, is_project },
                    names: KnownNames::default(),
                }
            }
            Err(error) => {
                let error = error.to_string();
                Server {
                    client: self.start(name, Source::Invalid(error.clone()), is_project),
                    origin: Origin::Invalid(error),
                    names: KnownNames::default(),
                }
            }
        }
    }

    /// Starts a server with a connector of the application.
    pub(super) fn start_connector(&self, name: &str, connector: Box<dyn Connector>) -> Server {
        Server {
            client: self.start(name, Source::Connector(connector), false),
            origin: Origin::Connector,
            names: KnownNames::default(),
        }
    }

    fn start(&self, name: &str, source: Source, is_project: bool) -> SupervisedClient {
        let is_project = is_project && !self.trusts_project;
        let is_trusted = self.trusted.contains(name) && !is_project;
        let (plan, connector) = match source {
            Source::Plan(plan) => (Some(plan), None),
            Source::Connector(connector) => (None, Some(Ok(connector))),
            Source::Invalid(reason) => (None, Some(Err(reason))),
        };
        let gate = ServerGate::new(
            Arc::clone(&self.gate),
            name.to_owned(),
            is_trusted,
            is_project,
            plan.clone(),
        );
        let (gate, calls) = (Arc::new(gate), Arc::<RunningCalls>::default());
        let connector = match connector {
            Some(connector) => AnyConnector::Given(connector),
            None => AnyConnector::Planned(Arc::clone(&gate)),
        };
        let mut client = self.handlers.add(self.client.clone(), &gate, &calls);
        for handler in &self.changed {
            let (handler, name) = (Arc::clone(handler), name.to_owned());
            client = client.on_change(move |list| handler(&name, list));
        }
        let mut builder = SupervisedClient::builder(name, client, connector)
            .restart(self.restart.clone())
            .calls(calls)
            .starts(Arc::clone(&self.starts));
        if is_trusted {
            builder = builder.trusted();
        }
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
            let key = plan.as_ref().map(|plan| plan.cache_key());
            builder = builder.list_cache(cache.clone(), key.unwrap_or_default());
        }
        if let Some(config) = plan.as_ref().map(|plan| plan.written()) {
            if !config.is_enabled {
                builder = builder.disabled();
            }
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

/// The source of a server's transport.
enum Source {
    Plan(Arc<LaunchPlan>),
    Connector(Box<dyn Connector>),
    /// The configuration has this error.
    Invalid(String),
}

enum AnyConnector {
    /// A connector of the application, or the reason why the configuration is invalid.
    Given(Result<Box<dyn Connector>, String>),
    /// The plan of the gate, after it was approved.
    Planned(Arc<ServerGate>),
}

impl Connector for AnyConnector {
    fn transport(&self, stderr: &StderrLog) -> Result<Box<dyn Transport>, TransportError> {
        match self {
            Self::Given(Ok(connector)) => connector.transport(stderr),
            Self::Given(Err(reason)) => Err(TransportError::new(reason.clone())),
            Self::Planned(gate) => gate.transport(stderr),
        }
    }
}
