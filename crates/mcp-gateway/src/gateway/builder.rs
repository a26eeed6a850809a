//! The settings of a gateway.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::InvalidServer;
use mcp_protocol::middleware::{Layers, Middleware, SharedMiddleware};
use mcp_types::Implementation;

use super::Gateway;
use super::access::AccessPolicy;
use super::limits::ClientLimits;
use super::mount::{Mount, MountedServer};
use super::record::{Observer, OnRequest, ServedRequest};
use super::state::{Settings, State};
use crate::parked::Cluster;

/// Maximum number of servers.
const MAX_MOUNTS: usize = 64;

/// A builder of a [`Gateway`].
pub struct GatewayBuilder {
    info: Implementation,
    settings: Settings,
    mounts: Vec<(String, Mount)>,
    cluster: Option<Cluster>,
    layers: Vec<SharedMiddleware>,
    on_request: Option<OnRequest>,
    keeps_arguments: bool,
}

impl GatewayBuilder {
    pub(super) fn new() -> Self {
        Self {
            info: Implementation::new("mcp-gateway", env!("CARGO_PKG_VERSION")),
            settings: Settings::default(),
            mounts: Vec::new(),
            cluster: None,
            layers: Vec::new(),
            on_request: None,
            keeps_arguments: false,
        }
    }

    /// Sets the name and version that clients see. Default: the name and version of this crate.
    #[must_use]
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Sets instructions for the model, which precede the instructions of the servers.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.settings.instructions = Some(text.into());
        self
    }

    /// Sets the maximum time for the lists of the servers. The gateway requests one page from each server or, if clients search
    /// for tools, all pages. It omits a slower server from the list. If clients search for tools, it omits only the missing
    /// pages. Default: 5 s.
    #[must_use]
    pub fn list_timeout(mut self, timeout: Duration) -> Self {
        self.settings.list_timeout = timeout;
        self
    }

    /// Replaces the list of tools if there are more tools than this number, because models choose badly from long lists. Clients
    /// then see only two tools: `search_tools` finds tools by words in their names and descriptions, and `call_tool` calls a
    /// tool. Clients can also call each tool by its name. Default: the list is never replaced.
    #[must_use]
    pub fn search_above(mut self, tools: usize) -> Self {
        self.settings.search_above = Some(tools);
        self
    }

    /// Sets the rules for the tools, prompts and resources that clients may use. Default: clients may use everything.
    #[must_use]
    pub fn access(mut self, policy: AccessPolicy) -> Self {
        self.settings.access = policy.into();
        self
    }

    /// Sets the limits on the requests of each client. Default: no limits.
    #[must_use]
    pub fn client_limits(mut self, limits: ClientLimits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Sets the cluster of this process, so that a client can continue a parked call at any process of the gateway. Default: no
    /// cluster; a parked call can be continued only at the process that runs it.
    #[must_use]
    pub fn cluster(mut self, cluster: Cluster) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Adds middleware around all messages of clients, such as telemetry. The first middleware is the outermost. Default: none.
    #[must_use]
    pub fn layer(mut self, middleware: impl Middleware) -> Self {
        self.layers.push(SharedMiddleware::new(middleware));
        self
    }

    /// Sets a function that is called at the end of each request of a client, for metrics and audit logs. It must not block.
    /// `subscriptions/listen` ends with its stream. Default: nothing is recorded.
    #[must_use]
    pub fn on_request(
        mut self,
        record: impl Fn(&ServedRequest<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.on_request = Some(Arc::new(record));
        self
    }

    /// Keeps a copy of the arguments of each running request for [`on_request`](Self::on_request). Arguments may be secret.
    #[must_use]
    pub fn record_arguments(mut self) -> Self {
        self.keeps_arguments = true;
        self
    }

    /// Adds a server: an [`Upstream`](crate::Upstream), or a [`Mount`] with further settings. `name` becomes the prefix of the
    /// names of the server's tools and prompts. It has 1 to 32 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`, without `__` and
    /// without `_` at the end. At most 64 servers.
    #[must_use]
    pub fn mount(mut self, name: impl Into<String>, mount: impl Into<Mount>) -> Self {
        self.mounts.push((name.into(), mount.into()));
        self
    }

    /// Replaces all settings that can be changed while the gateway runs.
    pub(crate) fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Connects to all servers concurrently, and returns when each server has connected or its first attempt has failed. If a
    /// server failed, the gateway omits it from lists and tries again, with a backoff from 0.1 s to 30 s.
    ///
    /// # Errors
    /// A mount name, a transform or an access rule is invalid, or the gateway would have more than 64 servers.
    pub async fn build(self) -> Result<Gateway, InvalidServer> {
        let gateway = self.start()?;
        gateway.settled().await;
        Ok(gateway)
    }

    /// Returns the gateway at once, and connects to all servers concurrently in the background. If the first attempt to connect
    /// to a server is running, a request for this server waits up to 2 s. [`Gateway::settled`] completes when all first attempts
    /// have ended. `start` must be called within a tokio runtime.
    ///
    /// # Errors
    /// The same as for [`build`](Self::build).
    pub fn start(self) -> Result<Gateway, InvalidServer> {
        check_count(self.mounts.len())?;
        self.settings.access.policy().check()?;
        let mut mounts: Vec<Arc<MountedServer>> = Vec::new();
        for (name, mount) in self.mounts {
            if mounts.iter().any(|mount| *mount.name == *name) {
                return Err(InvalidServer::new(format!(
                    "two servers are mounted as {name:?}; choose another name for one of them"
                )));
            }
            mounts.push(MountedServer::new(&name, mount, self.cluster.as_ref())?);
        }
        let keeps_arguments = self.keeps_arguments;
        let observer = self.on_request.map(|on_request| Observer {
            on_request,
            keeps_arguments,
        });
        let mut state = State::new(self.info, self.settings, self.cluster);
        (state.layers, state.observer) = (Layers::of_async(self.layers), observer);
        let state = Arc::new(state);
        state.filter_updates();
        state.update(|all| all.clone_from(&mounts));
        for mount in &mounts {
            mount.connect(&state);
        }
        Ok(Gateway(state))
    }
}

impl fmt::Debug for GatewayBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mounts: Vec<&str> = self.mounts.iter().map(|(name, _)| &**name).collect();
        f.debug_struct("GatewayBuilder")
            .field("settings", &self.settings)
            .field("mounts", &mounts)
            .finish_non_exhaustive()
    }
}

pub(crate) fn check_count(mounts: usize) -> Result<(), InvalidServer> {
    match mounts > MAX_MOUNTS {
        true => Err(InvalidServer::new(format!(
            "the gateway would have {mounts} servers; the limit is {MAX_MOUNTS}"
        ))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_servers_is_limited() {
        assert!(check_count(MAX_MOUNTS).is_ok());
        let error = check_count(MAX_MOUNTS + 1).unwrap_err().to_string();
        assert!(
            error.contains("would have 65 servers; the limit is 64"),
            "{error}"
        );
    }
}
