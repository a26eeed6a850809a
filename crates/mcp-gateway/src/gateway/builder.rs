//! The settings of a gateway.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use mcp_protocol::InvalidServer;
use mcp_types::Implementation;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Gateway;
use super::access::AccessPolicy;
use super::limits::ClientLimits;
use super::mount::{Mount, MountedServer};
use super::state::{Policy, State};
use crate::parked::Cluster;

/// Maximum number of servers.
const MAX_MOUNTS: usize = 64;

/// A builder of a [`Gateway`].
#[derive(Debug)]
pub struct GatewayBuilder {
    info: Implementation,
    instructions: Option<String>,
    list_timeout: Duration,
    search_above: Option<usize>,
    mounts: Vec<(String, Mount)>,
    policy: Policy,
    cluster: Option<Cluster>,
}

impl GatewayBuilder {
    pub(super) fn new() -> Self {
        Self {
            info: Implementation::new("mcp-gateway", env!("CARGO_PKG_VERSION")),
            instructions: None,
            list_timeout: Duration::from_secs(5),
            search_above: None,
            mounts: Vec::new(),
            policy: Policy::default(),
            cluster: None,
        }
    }

    /// Sets the name and version that clients see. Default: those of this crate.
    #[must_use]
    pub fn info(mut self, info: Implementation) -> Self {
        self.info = info;
        self
    }

    /// Sets instructions for the model, before those of the servers.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Sets the timeout for one page of a server's list. A slower server is omitted from the list. Default: 5 s.
    #[must_use]
    pub fn list_timeout(mut self, timeout: Duration) -> Self {
        self.list_timeout = timeout;
        self
    }

    /// Replaces the list of tools if there are more than this number, because models choose badly from long lists: clients see only
    /// `search_tools`, which finds tools by words of their names and descriptions, and `call_tool`, which calls them. Tools can also be called
    /// by their names. Default: the list is never replaced.
    #[must_use]
    pub fn search_above(mut self, tools: usize) -> Self {
        self.search_above = Some(tools);
        self
    }

    /// Sets the rules for the tools, prompts and resources that clients may use. Default: everything.
    #[must_use]
    pub fn access(mut self, policy: AccessPolicy) -> Self {
        self.policy.access = policy;
        self
    }

    /// Sets the limits on the requests of each client. Default: none.
    #[must_use]
    pub fn client_limits(mut self, limits: ClientLimits) -> Self {
        self.policy.limits = limits;
        self
    }

    /// Sets the cluster of this process, so that a client can continue a parked call at any process of the gateway. Default: none; a parked call continues
    /// only at its process.
    #[must_use]
    pub fn cluster(mut self, cluster: Cluster) -> Self {
        self.cluster = Some(cluster);
        self
    }

    /// Adds a server: an [`Upstream`](crate::Upstream), or a [`Mount`] with further settings. `name` is the prefix of its
    /// names: 1 to 32 of `A-Z`, `a-z`, `0-9`, `_` and `-`, without `__` and without `_` at the end. At most 64 servers.
    #[must_use]
    pub fn mount(mut self, name: impl Into<String>, mount: impl Into<Mount>) -> Self {
        self.mounts.push((name.into(), mount.into()));
        self
    }

    /// Connects to all servers concurrently, and returns when each has connected or its first attempt has failed. A failed server
    /// is omitted from lists; the gateway retries with a backoff from 0.1 s to 30 s.
    ///
    /// # Errors
    /// A mount name, a transform or an access rule is invalid, or the gateway would have more than 64 servers.
    pub async fn build(self) -> Result<Gateway, InvalidServer> {
        check_count(self.mounts.len())?;
        self.policy.access.check()?;
        let mut mounts: Vec<Arc<MountedServer>> = Vec::new();
        for (name, mount) in self.mounts {
            if mounts.iter().any(|mount| *mount.name == *name) {
                return Err(InvalidServer::new(format!(
                    "two servers are mounted as {name:?}; choose another name for one of them"
                )));
            }
            mounts.push(MountedServer::new(&name, mount, self.cluster.as_ref())?);
        }
        let gateway = Gateway(Arc::new(State {
            info: self.info,
            instructions: self.instructions,
            list_timeout: self.list_timeout,
            search_above: self.search_above,
            mounts: RwLock::new(mounts.clone().into()),
            policy: RwLock::new(Arc::new(self.policy)),
            cluster: self.cluster,
            counter: Arc::default(),
            changes: Arc::default(),
            edition: AtomicU64::new(0),
            closing: watch::Sender::new(false),
            reported: Default::default(),
        }));
        let mut connecting = JoinSet::new();
        for mount in mounts {
            let state = Arc::clone(&gateway.0);
            connecting.spawn(async move { mount.connect(&state).await });
        }
        connecting.join_all().await;
        Ok(gateway)
    }
}

pub(crate) fn check_count(mounts: usize) -> Result<(), InvalidServer> {
    match mounts > MAX_MOUNTS {
        true => Err(InvalidServer::new(format!(
            "a gateway has at most {MAX_MOUNTS} servers, not {mounts}"
        ))),
        false => Ok(()),
    }
}
