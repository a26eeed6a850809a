//! Creates and starts a host.

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
use crate::config::{Config, ConfigError, NetworkConfig, Variables};
use crate::consent::{ApprovalStore, AuditLog, Consent, Gate, Policy, UntrustedSources};
use crate::coordinate::{Coordination, ElicitationHandler, Model, Roots, ServerLimits};
use crate::supervise::{Connector, ListCache, ProgressHandler, RestartPolicy};

/// Maximum number of servers that start at the same time.
const MAX_STARTS: usize = 8;

/// The settings of a [`Host`].
#[must_use = "a builder does nothing before `start`"]
pub struct HostBuilder {
    client: ClientBuilder,
    config: Config,
    variables: Variables,
    network: NetworkConfig,
    connectors: BTreeMap<String, Box<dyn Connector>>,
    trusted: HashSet<String>,
    trusts_project: bool,
    cache: Option<ListCache>,
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
            network: NetworkConfig::new(),
            connectors: BTreeMap::new(),
            trusted: HashSet::new(),
            trusts_project: false,
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

    /// Adds the servers of a configuration. A server is skipped if an earlier configuration already has a server with the same
    /// name.
    pub fn servers(mut self, config: Config) -> Self {
        self.config.merge(config);
        self
    }

    /// Sets the values of variables in the configuration. Default: the environment of this process.
    pub fn variables(mut self, variables: Variables) -> Self {
        self.variables = variables;
        self
    }

    /// Sets the certificates and the proxy for servers with a URL. [`ServerConfig::network`](crate::ServerConfig::network)
    /// replaces them for one server. Default: the certificates of the operating system, and the proxy of the environment
    /// variables.
    pub fn network(mut self, network: NetworkConfig) -> Self {
        self.network = network;
        self
    }

    /// Adds a server with a custom transport, for example in this process or with OAuth. It replaces
    /// a server of the configuration with the same name.
    pub fn connector(mut self, name: impl Into<String>, connector: impl Connector) -> Self {
        self.connectors.insert(name.into(), Box::new(connector));
        self
    }

    /// Trusts the tool annotations of this server. Rules of the [policy](Self::policy) can then allow calls because of
    /// annotations. If a call may have run ([`HostError::MayHaveRun`](crate::HostError::MayHaveRun)) and its tool is annotated as
    /// read-only or idempotent, the call is repeated once. This setting has no effect on servers of the opened folder
    /// ([`Config::into_project`]). Default: no server is trusted.
    pub fn trust(mut self, server: impl Into<String>) -> Self {
        self.trusted.insert(server.into());
        self
    }

    /// Treats the servers of the opened folder ([`Config::into_project`]) like servers of the user: [`trust`](Self::trust), and
    /// rules of the [policy](Self::policy) with a server name, also apply to them. Call this method if the user has said that the
    /// folder is trusted. Default: trust and these rules do not apply to servers of the opened folder.
    pub fn trust_project(mut self) -> Self {
        self.trusts_project = true;
        self
    }

    /// Sets the cache of lists. Default: no cache.
    pub fn list_cache(mut self, cache: ListCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Sets the backoff of restarts. Default: [`RestartPolicy::default`].
    pub fn restart(mut self, policy: RestartPolicy) -> Self {
        self.restart = policy;
        self
    }

    /// Sets the handler that asks the user before the host connects to a configured server or calls a tool. The handler is not
    /// called if a rule of the [policy](Self::policy) or an earlier decision applies. Default: none. If no handler is set, a host
    /// with a policy, approvals or an audit log denies all actions that need consent. A host without any of these allows all
    /// actions.
    pub fn consent(mut self, consent: impl Consent) -> Self {
        self.gate.get_or_insert_default().consent(consent);
        self
    }

    /// Sets the rules that decide before the user is asked. Default: calls of read-only tools of [trusted](Self::trust) servers
    /// are allowed, and all other actions need consent.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.gate.get_or_insert_default().policy = policy;
        self
    }

    /// Sets the store of decisions with [`AllowAlways`](crate::Decision::AllowAlways). Default: no store; the decisions are valid
    /// until the host ends.
    pub fn approvals(mut self, store: impl ApprovalStore) -> Self {
        self.gate.get_or_insert_default().decisions.store = Some(Arc::new(store));
        self
    }

    /// Sets the log of all decisions and calls. Default: no log.
    pub fn audit(mut self, log: AuditLog) -> Self {
        self.gate.get_or_insert_default().audit = Some(log);
        self
    }

    /// Sets the model that answers sampling requests of servers. Each request, and each result before it is sent, needs consent
    /// or a rule of the [policy](Self::policy). Requests whose `includeContext` is neither `none` nor `thisServer` are always
    /// denied. The model replaces `on_sample` of the client. If the model supports tools, declare this with
    /// [`sampling_tools`](ClientBuilder::sampling_tools). Default: the handler of the client.
    pub fn model(mut self, model: impl Model) -> Self {
        self.coordination.set_model(model);
        self
    }

    /// Sets the handler of elicitation requests. It replaces `on_elicit` and `on_elicit_url` of the client. Default: the handlers
    /// of the client.
    pub fn elicitation(mut self, handler: impl ElicitationHandler) -> Self {
        self.coordination.set_elicitation(handler);
        self
    }

    /// Sets the roots: the folders and files that servers may use. [`server_roots`](Self::server_roots) overrides them for one
    /// server. Every 5 s, the host checks the paths, omits paths that do not exist, and notifies servers of changes. This setting
    /// replaces `roots` of the client. Default: the roots of the client.
    pub fn roots(mut self, paths: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let roots = self.coordination.roots.get_or_insert_default();
        roots.all = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the folders and files that one server may use, instead of [`roots`](Self::roots).
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

    /// Collects the log messages of all servers, so that [`Host::logs`] returns them.
    pub fn logs(mut self) -> Self {
        self.coordination.has_logs = true;
        self
    }

    /// Adds a callback for changes of the lists of all servers. It receives the name of the server. The callback must not block.
    pub fn on_change(
        mut self,
        handler: impl Fn(&str, ChangedList) + Send + Sync + 'static,
    ) -> Self {
        self.changed.push(Arc::new(handler));
        self
    }

    /// Calls `handler` with the name of the server, the name of the tool and each progress notification of a call. `handler`
    /// must not block. Default: progress is not requested.
    pub fn on_progress(
        mut self,
        handler: impl Fn(&str, &str, &Progress) + Send + Sync + 'static,
    ) -> Self {
        self.progress = Some(Arc::new(handler));
        self
    }

    /// Truncates results of [`Host::call`] to this many bytes of text in total. If the value is below 1,024, the limit is 1,024.
    /// With a limit, [`Host::tools`] includes the tool `read_result`, with which the model reads the rest of a truncated result.
    /// The host keeps the last 32 truncated results, up to 32 MiB. Default: no limit.
    pub fn max_result_bytes(mut self, bytes: usize) -> Self {
        self.max_result_bytes = Some(bytes);
        self
    }

    /// Records which servers have returned results to the conversation, except [trusted](Self::trust) servers. Text from a
    /// recorded server could cause later calls. A later call of a tool of another server therefore needs consent, even if a rule
    /// or an earlier decision allows the call. This does not apply to tools that belong to a trusted server and are annotated as
    /// not destructive. A server that sends a sampling request is recorded before the [model](Self::model) receives the request.
    /// [`Host::begin_conversation`] clears the record. Default: off.
    pub fn track_untrusted_results(mut self) -> Self {
        self.gate.get_or_insert_default().labels = Some(UntrustedSources::default());
        self
    }

    /// Reloads the files of the [configuration](Self::servers) when they change, and [applies](Host::apply) the changes. The host
    /// checks the files once per second. It reloads a changed file when the next check finds no further change. Calls `handler`
    /// with the changed servers. If a file cannot be read, calls `handler` with the error and does not change the running
    /// servers. `handler` must not block. Default: files are read once.
    pub fn watch_config(
        mut self,
        handler: impl Fn(Result<&ConfigChanges, &ConfigError>) + Send + Sync + 'static,
    ) -> Self {
        self.on_reload = Some(Arc::new(handler));
        self
    }

    /// Sets the limits on sampling requests, elicitation requests and log messages of each server. Default:
    /// [`ServerLimits::default`].
    pub fn server_limits(mut self, limits: ServerLimits) -> Self {
        self.coordination.limits = limits;
        self
    }

    /// Starts all enabled servers in the background, eight at a time, and returns at once. A server with an invalid configuration
    /// is in state `Failed`; the other servers are not affected. Must be called within a tokio runtime.
    pub fn start(mut self) -> Host {
        let has_permission = self.gate.is_some();
        let gate = Arc::new(self.gate.unwrap_or_default());
        let roots = self.coordination.roots.take().map(Roots::new);
        let logs = self.coordination.log_stream();
        let starter = Starter {
            client: self.client,
            variables: self.variables,
            network: self.network,
            trusted: self.trusted,
            trusts_project: self.trusts_project,
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
        for (name, configured) in self.config.into_servers() {
            if !self.connectors.contains_key(&name) {
                let server = starter.start_configured(&name, configured);
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
