//! The settings of a host, and its start.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use mcp_client::{ChangedList, ClientBuilder, Progress};
use tokio::sync::Semaphore;

use super::long_results::LongResults;
use super::reload::{self, ConfigChanges, OnReload};
use super::starter::{OnChange, Starter};
use super::{Host, Servers};
use crate::config::{Config, ConfigError, Variables};
use crate::consent::{ApprovalStore, AuditLog, Consent, FlowLabels, Gate, Policy};
use crate::coordinate::{Coordination, CoordinationLimits, Forms, Model, Roots};
use crate::supervise::{CatalogCache, Connector, ProgressHandler, RestartPolicy};

/// Number of servers that start at the same time.
const MAX_STARTS: usize = 8;

/// The settings of a [`Host`].
#[must_use = "a builder does nothing before `start`"]
pub struct HostBuilder {
    client: ClientBuilder,
    config: Config,
    variables: Variables,
    connectors: BTreeMap<String, Box<dyn Connector>>,
    trusted: HashSet<String>,
    cache: Option<CatalogCache>,
    restart: RestartPolicy,
    gate: Option<Gate>,
    coordination: Coordination,
    changed: Vec<OnChange>,
    progress: Option<ProgressHandler>,
    max_result_bytes: Option<usize>,
    on_reload: Option<OnReload>,
}

impl HostBuilder {
    pub(super) fn new(client: ClientBuilder) -> Self {
        Self {
            client,
            config: Config::new(),
            variables: Variables::new(),
            connectors: BTreeMap::new(),
            trusted: HashSet::new(),
            cache: None,
            restart: RestartPolicy::default(),
            gate: None,
            coordination: Coordination::default(),
            changed: Vec::new(),
            progress: None,
            max_result_bytes: None,
            on_reload: None,
        }
    }

    /// Adds the servers of a configuration. A server whose name exists is left out.
    pub fn servers(mut self, config: Config) -> Self {
        self.config.merge(config);
        self
    }

    /// Sets the values of variables in the configuration. Default: the environment of this process.
    pub fn variables(mut self, variables: Variables) -> Self {
        self.variables = variables;
        self
    }

    /// Adds a server with a custom transport, for example in this process or with OAuth. It replaces
    /// a server of the configuration with the same name.
    pub fn connector(mut self, name: impl Into<String>, connector: impl Connector) -> Self {
        self.connectors.insert(name.into(), Box::new(connector));
        self
    }

    /// Believes the annotations of the tools of this server: for the [policy](Self::policy), and for the
    /// repetition of calls that may have run.
    pub fn trust(mut self, server: impl Into<String>) -> Self {
        self.trusted.insert(server.into());
        self
    }

    /// Sets the cache of tool lists. Default: none.
    pub fn catalog(mut self, cache: CatalogCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Sets when servers are started again.
    pub fn restart(mut self, policy: RestartPolicy) -> Self {
        self.restart = policy;
        self
    }

    /// Asks a person before the host connects to a server of the configuration and before it calls
    /// a tool, unless a rule of the [policy](Self::policy) or an earlier answer decides. Without this setting, a
    /// host with a policy, approvals or an audit log denies what needs a question; a host without
    /// any of them allows everything, and the application decides which calls it sends.
    pub fn consent(mut self, consent: impl Consent) -> Self {
        self.gate.get_or_insert_default().consent(consent);
        self
    }

    /// Sets the rules that decide before a person is asked. Default: calls of read-only tools of
    /// [trusted](Self::trust) servers are allowed, and everything else is asked.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.gate.get_or_insert_default().policy = policy;
        self
    }

    /// Sets where answers with [`Decision::Always`](crate::Decision::Always) are stored. Default: they end with the host.
    pub fn approvals(mut self, store: impl ApprovalStore) -> Self {
        self.gate.get_or_insert_default().store = Some(Arc::new(store));
        self
    }

    /// Sets the log of all decisions and calls. Default: none.
    pub fn audit(mut self, log: AuditLog) -> Self {
        self.gate.get_or_insert_default().audit = Some(log);
        self
    }

    /// Answers the sampling requests of servers with this model. A person, a rule of the [policy](Self::policy) or an
    /// earlier answer approves each request and each result; without [`consent`](Self::consent), requests
    /// that no rule allows are denied. A request for the context of other servers is always denied. It replaces
    /// `on_sample` of the client, which declares support of tools with
    /// [`sampling_tools`](ClientBuilder::sampling_tools).
    pub fn model(mut self, model: impl Model) -> Self {
        self.coordination.set_model(model);
        self
    }

    /// Shows the forms and URLs of servers to the user. It replaces `on_elicit` and `on_elicit_url` of the client.
    pub fn forms(mut self, forms: impl Forms) -> Self {
        self.coordination.set_forms(forms);
        self
    }

    /// Sets the folders and files that servers may use, for all servers without a choice of
    /// [their own](Self::server_roots). A path that does not exist is left out while that is so: the paths are checked
    /// every 5 s, and servers are notified of changes. It replaces `roots` of the client.
    pub fn roots(mut self, paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let roots = self.coordination.roots.get_or_insert_default();
        roots.all = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the folders and files that one server may use. See [`roots`](Self::roots).
    pub fn server_roots(
        mut self,
        server: impl Into<String>,
        paths: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> Self {
        let roots = self.coordination.roots.get_or_insert_default();
        let paths = paths.into_iter().map(Into::into).collect();
        roots.by_server.insert(server.into(), paths);
        self
    }

    /// Collects the log messages of all servers for [`Host::logs`].
    pub fn logs(mut self) -> Self {
        self.coordination.has_logs = true;
        self
    }

    /// Adds a callback for list changes of all servers, with the name of the server. It must not block.
    pub fn on_change(
        mut self,
        handler: impl Fn(&str, ChangedList) + Send + Sync + 'static,
    ) -> Self {
        self.changed.push(Arc::new(handler));
        self
    }

    /// Calls `handler` with the name of the server, the name of the tool and each progress notification of a call. It must not
    /// block. Default: progress is not requested.
    pub fn on_progress(
        mut self,
        handler: impl Fn(&str, &str, &Progress) + Send + Sync + 'static,
    ) -> Self {
        self.progress = Some(Arc::new(handler));
        self
    }

    /// Cuts the text of results for the model ([`Host::call`]) to this size, at least 1,024 bytes. The model reads the rest in
    /// parts with the tool `read_result`, which [`Host::tools`] then has. The last 32 long results are kept, up to 32 MiB.
    /// Default: no limit.
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.max_result_bytes = Some(bytes);
        self
    }

    /// Marks the conversation with the servers whose results it has, except [trusted](Self::trust) ones. While it is marked,
    /// a call of a tool of another server is asked about even if a rule or an earlier answer allows it, unless the other server is
    /// trusted and its annotations say that the tool is not destructive: the text of an untrusted server could have caused the call. Default:
    /// no marks.
    pub fn flow_labels(mut self) -> Self {
        self.gate.get_or_insert_default().labels = Some(FlowLabels::default());
        self
    }

    /// Reads the files of the [configuration](Self::servers) again when they change, and [applies](Host::apply) them. A file
    /// counts as changed when it was written and then left alone for a second. `handler` gets what has changed, or why the files
    /// were not read, in which case the servers stay as they are. It must not block. Default: the files are read once.
    pub fn watch(
        mut self,
        handler: impl Fn(Result<&ConfigChanges, &ConfigError>) + Send + Sync + 'static,
    ) -> Self {
        self.on_reload = Some(Arc::new(handler));
        self
    }

    /// Sets the limits of what each server may request.
    pub fn limits(mut self, limits: CoordinationLimits) -> Self {
        self.coordination.limits = limits;
        self
    }

    /// Starts all enabled servers in the background, eight at a time, and returns at once. A server
    /// with an invalid configuration is in state `Failed`, and the others are not affected. Must be
    /// called within a tokio runtime.
    pub fn start(mut self) -> Host {
        let has_permission = self.gate.is_some();
        let gate = Arc::new(self.gate.unwrap_or_default());
        let roots = self.coordination.roots.take().map(Roots::new);
        let logs = self.coordination.log_stream();
        let starter = Starter {
            client: self.client,
            variables: self.variables,
            trusted: self.trusted,
            cache: self.cache,
            restart: self.restart,
            gate,
            has_permission,
            handlers: self.coordination.into_handlers(&logs),
            changed: self.changed,
            progress: self.progress,
            roots,
            starts: Arc::new(Semaphore::new(MAX_STARTS)),
        };
        let watched = self.on_reload.map(|handler| (self.config.clone(), handler));
        let mut by_name = BTreeMap::new();
        for (name, config) in self.config.into_servers() {
            if !self.connectors.contains_key(&name) {
                let server = starter.start_configured(&name, config);
                by_name.insert(name, server);
            }
        }
        for (name, connector) in self.connectors {
            let server = starter.start_connector(&name, connector);
            by_name.insert(name, server);
        }
        if let Some(roots) = &starter.roots {
            tokio::spawn(Roots::watch(Arc::downgrade(roots)));
        }
        let host = Host(Arc::new(Servers {
            by_name: RwLock::new(by_name),
            logs,
            starter,
            applying: tokio::sync::Mutex::new(()),
            long_results: self.max_result_bytes.map(LongResults::new),
        }));
        if let Some((config, handler)) = watched {
            tokio::spawn(reload::watch(Arc::downgrade(&host.0), config, handler));
        }
        host
    }
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder")
            .field("config", &self.config)
            .field("connectors", &self.connectors.keys())
            .finish_non_exhaustive()
    }
}
