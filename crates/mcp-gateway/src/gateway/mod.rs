//! Serves several servers behind the gateway as one service.

mod access;
mod builder;
mod completion;
mod decisions;
mod facts;
mod forward;
mod limits;
mod lists;
mod mount;
mod readiness;
mod record;
mod state;
mod subscriptions;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use mcp_host::matches_pattern;
use mcp_jsonrpc::{ErrorObject, Notification, Request};
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::middleware::Layers;
use mcp_protocol::{
    BoxFuture, InvalidServer, Reply, RequestContext, ServerFacts, Service, Session, lock,
};
use tokio::task::JoinSet;

pub use self::access::{AccessPolicy, AccessRule, ItemKind};
pub use self::builder::GatewayBuilder;
pub(crate) use self::builder::check_count;
pub use self::limits::ClientLimits;
use self::mount::MountedServer;
pub(crate) use self::mount::check_mount;
pub use self::mount::{Mount, MountStatus};
use self::record::{ClientRequest, recorded};
pub use self::record::{ListCounts, RequestOutcome, ServedRequest};
pub(crate) use self::state::Settings;
use self::state::State;
use crate::catalog::Transform;
use crate::text::check_members;

/// Several servers behind the gateway, served like one server of this process, in all revisions.
///
/// - Names of tools and prompts get the name of the mount as a prefix, in the form of [`model_name`](mcp_host::model_name):
///   `git__status`. URIs of resources are unchanged. If two servers list the same URI, the first mount serves the resource.
/// - A list has the items of all servers. A server that does not respond is left out, and named in
///   `_meta["mcp-gateway/unavailable"]`.
/// - A call is sent to the server whose mount name is the prefix of the tool or prompt, or to the server that listed the URI.
///
/// Cloning returns another handle.
#[derive(Clone)]
pub struct Gateway(Arc<State>);

impl Gateway {
    /// Creates a builder without mounts.
    pub fn builder() -> GatewayBuilder {
        GatewayBuilder::new()
    }

    /// Completes when each server is connected or its first attempt to connect has failed. This includes servers that replace
    /// other servers.
    pub async fn settled(&self) {
        let replacements = lock(&self.0.replacements).clone();
        for mount in self.0.mounts().iter().chain(&replacements) {
            mount.settled().await;
        }
    }

    /// Adds a server, or replaces the server with this name. The old server is used until the new server is connected, and its
    /// running calls are completed. Completes when the new server is connected or the first attempt to connect has failed. After
    /// a failure, the gateway tries again in the background.
    ///
    /// # Errors
    /// The name is not valid, or there are too many mounts.
    pub async fn mount(
        &self,
        name: impl Into<String>,
        mount: impl Into<Mount>,
    ) -> Result<(), InvalidServer> {
        let server = self.start_mount(&name.into(), mount.into())?;
        server.settled().await;
        self.0.mounts_changed();
        Ok(())
    }

    /// Adds or replaces a server, which connects in the background.
    pub(crate) fn start_mount(
        &self,
        name: &str,
        mount: Mount,
    ) -> Result<Arc<MountedServer>, InvalidServer> {
        let server = MountedServer::new(name, mount, self.0.cluster.as_ref())?;
        let replaced = self.0.update(|mounts| {
            let Some(at) = mounts.iter().position(|mount| *mount.name == *name) else {
                check_count(mounts.len() + 1)?;
                mounts.push(Arc::clone(&server));
                return Ok(None);
            };
            // This replacement cancels an earlier one that is not connected yet.
            let mut replacements = lock(&self.0.replacements);
            replacements.retain(|other| other.name != server.name);
            if mounts[at].status().is_connected {
                replacements.push(Arc::clone(&server));
                return Ok(None);
            }
            Ok(Some(std::mem::replace(
                &mut mounts[at],
                Arc::clone(&server),
            )))
        })?;
        if let Some(replaced) = replaced {
            self.0.retire(&replaced);
        }
        server.connect(&self.0);
        self.0.mounts_changed();
        Ok(server)
    }

    /// Changes the settings of a mount that do not need a new connection. If a replacement for the mount is being connected,
    /// changes its settings too. Returns whether there is a mount with this name.
    pub(crate) fn adjust(
        &self,
        name: &str,
        transform: &Transform,
        is_required: bool,
        call_timeout: Duration,
    ) -> bool {
        let replacements = lock(&self.0.replacements).clone();
        let mounts = self.0.mounts();
        let mut found = false;
        for mount in mounts.iter().chain(&replacements) {
            if *mount.name == *name {
                mount.adjust(transform.clone(), is_required, call_timeout);
                found = true;
            }
        }
        if found {
            self.0.mounts_changed();
        }
        found
    }

    /// Logs the settings of a mount that do not match the list of its server. The gateway also does this after each connection.
    pub(crate) fn report_settings(&self, name: &str) {
        if let Some(mount) = self.0.mounts().iter().find(|mount| *mount.name == *name) {
            mount.catalog.report();
        }
    }

    pub(crate) fn configure(&self, settings: Settings) {
        self.0.configure(|current| *current = settings);
    }

    /// Removes a server. Its running calls are completed. Returns whether there was a server with this name.
    pub fn unmount(&self, name: &str) -> bool {
        let removed = self.0.update(|mounts| {
            let at = mounts.iter().position(|mount| *mount.name == *name)?;
            Some(mounts.remove(at))
        });
        lock(&self.0.replacements).retain(|other| *other.name != *name);
        if let Some(removed) = &removed {
            self.0.retire(removed);
            self.0.mounts_changed();
        }
        removed.is_some()
    }

    /// Replaces the access rules for clients and the limits on their requests. Running requests are completed. Clients are
    /// notified that the lists have changed.
    ///
    /// # Errors
    /// A rule contradicts itself. In this case, nothing is changed.
    pub fn set_policy(
        &self,
        access: AccessPolicy,
        limits: ClientLimits,
    ) -> Result<(), InvalidServer> {
        access.check()?;
        self.0
            .configure(|settings| (settings.access, settings.limits) = (access.into(), limits));
        Ok(())
    }

    /// Returns a text for each rule of the [access policy](AccessPolicy) that is for tools or prompts and matches no listed tool
    /// or prompt. Usually, the name in such a rule is misspelled. Each text begins with the JSON pointer of the rule in the
    /// policy, such as `/3`. Rules for servers that are not connected are left out. Call this method after
    /// [`settled`](Self::settled).
    pub fn unmatched_rules(&self) -> Vec<String> {
        let mounts = self.0.mounts();
        let lists = |pattern: &str, prompts: bool, name: &str| {
            let mut mounts = mounts.iter();
            mounts.any(|mount| {
                let is_listed =
                    || (mount.catalog).lists_name(prompts, |listed| matches_pattern(name, listed));
                matches_pattern(pattern, &mount.name) && (mount.proxy().is_none() || is_listed())
            })
        };
        self.0.settings().access.policy().unmatched(lists)
    }

    /// Returns the state of each mount, in the order of the mounts.
    pub fn mounts(&self) -> Vec<MountStatus> {
        let mounts = self.0.mounts();
        let mut all: Vec<_> = mounts.iter().map(|mount| mount.status()).collect();
        for replacement in lock(&self.0.replacements).iter() {
            let replacement = replacement.status();
            if let Some(mount) = all.iter_mut().find(|mount| mount.name == replacement.name) {
                mount.replacement_error = replacement.error;
            }
        }
        all
    }

    /// Returns the number of open sessions of clients. Stateless clients have none.
    pub fn sessions(&self) -> usize {
        self.0.changes.sessions().len()
    }

    /// Returns whether all [required](Mount::required) servers are connected, as far as the gateway knows.
    pub fn is_ready(&self) -> bool {
        let mounts = self.0.mounts();
        mounts.iter().all(|mount| mount.is_ready())
    }

    /// Pings all [required](Mount::required) servers. Returns the names of the servers that do not respond within 2 s, each with
    /// the reason. The reasons contain no text from a server. The result of a check is reused for one second.
    pub async fn unready(&self) -> Vec<(String, String)> {
        self.0.unready().await
    }

    /// Closes the connections that clients share, and ends all subscriptions.
    pub async fn close(&self) {
        self.closing();
        lock(&self.0.replacements).clear();
        let mut closing = JoinSet::new();
        for mount in self.0.mounts().iter() {
            mount.stop_connecting();
            if let Some(proxy) = mount.proxy() {
                // A program can take seconds to end.
                closing.spawn(async move { proxy.close().await });
            }
        }
        closing.join_all().await;
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gateway").field(&self.mounts()).finish()
    }
}

impl Service for Gateway {
    fn facts(&self) -> ServerFacts {
        self.0.facts()
    }

    fn edition(&self) -> u64 {
        let mounts = self.0.mounts();
        let proxies = mounts.iter().filter_map(|mount| mount.proxy());
        let editions = proxies.map(|proxy| proxy.edition());
        // The number of mount changes is in the upper half, so that the sum never repeats after a server was removed.
        let changes = self.0.edition.load(Ordering::Acquire) << 32;
        editions.fold(changes, u64::wrapping_add)
    }

    fn request(&self, request: &Request<'_>, context: RequestContext) -> Reply {
        let serve = |context| {
            check_members(request.params.unwrap_or("{}"))?;
            self.0.serve(&request.method, request.params, context)
        };
        match &self.0.observer {
            None => serve(ClientRequest::new(context, false)).unwrap_or_else(Reply::error),
            Some(observer) => recorded(observer, &request.method, request.params, context, serve),
        }
    }

    fn notification(&self, notification: &Notification<'_>, session: &Arc<Session>) {
        for mount in self.0.mounts().iter() {
            if let Some(proxy) = mount.proxy() {
                proxy.notification(notification, session);
            }
        }
    }

    fn readiness(&self) -> Option<BoxFuture<'static, Result<(), ErrorObject>>> {
        let state = Arc::clone(&self.0);
        Some(Box::pin(async move {
            // Some clients must not know all servers, so the error does not name the servers.
            match state.unready().await.is_empty() {
                true => Ok(()),
                false => Err(ErrorObject::internal(
                    "a required server behind this gateway cannot serve requests",
                )),
            }
        }))
    }

    fn sign(&self, parts: &[&[u8]]) -> Option<String> {
        Some(self.0.cluster.as_ref()?.keys().mac(parts))
    }

    fn has_shared_key(&self) -> bool {
        let cluster = self.0.cluster.as_ref();
        cluster.is_some_and(|cluster| cluster.keys().is_shared())
    }

    fn has_signed(&self, parts: &[&[u8]], code: &str) -> bool {
        let cluster = self.0.cluster.as_ref();
        cluster.is_some_and(|cluster| cluster.keys().has_signed(parts, code))
    }

    fn header_params(&self, tool: &str) -> Option<Arc<HeaderParams>> {
        let (mount, name) = self.0.tool(tool)?;
        let item = mount.item(ItemKind::Tool, &name);
        if !self.0.decide(&mount, &item).is_shown() {
            return None;
        }
        mount.proxy()?.header_params(&name)
    }

    fn layers(&self) -> Option<Layers> {
        self.0.layers.clone()
    }

    fn closing(&self) {
        self.0.closing.send_replace(true);
    }

    fn opened(&self, session: &Arc<Session>) {
        self.0.changes.add_session(session);
    }

    fn closed(&self, session: &Arc<Session>) {
        for mount in self.0.mounts().iter() {
            if let Some(proxy) = mount.proxy() {
                proxy.closed(session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mcp_server::StateKeys;

    use super::*;
    use crate::parked::Cluster;

    #[test]
    fn processes_with_the_same_key_accept_a_code_that_a_gateway_has_signed() {
        let gateway = |key| {
            let address = "http://10.0.0.1:8000/mcp".parse().unwrap();
            let cluster = Cluster::new(address, StateKeys::new([key; 32])).unwrap();
            Gateway::builder().cluster(cluster).start().unwrap()
        };
        let (first, second, other) = (gateway(1), gateway(1), gateway(2));
        let code = first.sign(&[b"a", b"b"]).unwrap();
        assert!(second.has_signed(&[b"a", b"b"], &code));
        assert!(!second.has_signed(&[b"ab"], &code));
        assert!(second.has_shared_key());
        assert!(!other.has_signed(&[b"a", b"b"], &code));
        let alone = Gateway::builder().start().unwrap();
        assert_eq!(alone.sign(&[b"a", b"b"]), None);
        assert!(!alone.has_shared_key());
        assert!(!alone.has_signed(&[b"a", b"b"], &code));
    }
}
