//! Several servers behind the gateway as one service.

mod access;
mod builder;
mod cursor;
mod facts;
mod forward;
mod limits;
mod lists;
mod mount;
mod search;
mod state;
mod subscriptions;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use mcp_jsonrpc::{Notification, Request};
use mcp_protocol::http_headers::HeaderParams;
use mcp_protocol::{InvalidServer, Reply, RequestContext, ServerFacts, Service, Session};

pub use self::access::{AccessPolicy, AccessRule, ItemKind};
pub use self::builder::GatewayBuilder;
pub(crate) use self::builder::check_count;
pub use self::limits::ClientLimits;
use self::mount::MountedServer;
pub(crate) use self::mount::check_mount;
pub use self::mount::{Mount, MountStatus};
use self::state::State;

/// Several servers behind the gateway, served like one server of this process, in all revisions.
///
/// - Names of tools and prompts get the name of the mount as a prefix, as [`model_name`](mcp_host::model_name) does it:
///   `git__status`. URIs of resources are unchanged. If two servers list the same URI, the first mount has it.
/// - A list has the items of all servers. A server that does not respond is left out, and named in
///   `_meta["mcp-gateway/unavailable"]`.
/// - Calls go to the server with the prefix of the name, or the server that listed the URI.
///
/// Cloning returns another handle.
#[derive(Clone)]
pub struct Gateway(Arc<State>);

impl Gateway {
    /// Creates a builder without mounts.
    pub fn builder() -> GatewayBuilder {
        GatewayBuilder::new()
    }

    /// Adds a server, or replaces the one with this name; calls of the replaced server that are running are completed. Returns when
    /// the server is connected or the first attempt has failed; further attempts follow.
    ///
    /// # Errors
    /// The name is not valid, or there are too many mounts.
    pub async fn mount(
        &self,
        name: impl Into<String>,
        mount: impl Into<Mount>,
    ) -> Result<(), InvalidServer> {
        let name = name.into();
        let server = MountedServer::new(&name, mount.into(), self.0.cluster.as_ref())?;
        let replaced = self.0.update(|mounts| {
            let at = mounts.iter().position(|mount| *mount.name == *name);
            match at {
                Some(at) => Ok(Some(std::mem::replace(
                    &mut mounts[at],
                    Arc::clone(&server),
                ))),
                None => {
                    check_count(mounts.len() + 1)?;
                    mounts.push(Arc::clone(&server));
                    Ok(None)
                }
            }
        })?;
        if let Some(replaced) = replaced {
            self.retire(&replaced);
        }
        server.connect(&self.0).await;
        self.0.mounts_changed();
        Ok(())
    }

    /// Removes a server. Returns whether there was one with this name. Its running calls are completed.
    pub fn unmount(&self, name: &str) -> bool {
        let removed = self.0.update(|mounts| {
            let at = mounts.iter().position(|mount| *mount.name == *name)?;
            Some(mounts.remove(at))
        });
        if let Some(removed) = &removed {
            self.retire(removed);
            self.0.mounts_changed();
        }
        removed.is_some()
    }

    /// Closes the connections of all sessions to a server. Each connection closes when its last call has completed.
    fn retire(&self, server: &MountedServer) {
        server.stop_connecting();
        if let Some(proxy) = server.proxy() {
            for session in self.0.changes.sessions() {
                proxy.0.close_session(&session);
            }
        }
    }

    /// Replaces the rules for what clients may use and the limits on their requests. Running requests are completed. Clients are notified that the
    /// lists have changed.
    ///
    /// # Errors
    /// A rule contradicts itself; nothing is changed.
    pub fn set_policy(
        &self,
        access: AccessPolicy,
        limits: ClientLimits,
    ) -> Result<(), InvalidServer> {
        access.check()?;
        self.0.set_policy(access, limits);
        self.0.mounts_changed();
        Ok(())
    }

    /// Returns the state of each mount, in their order.
    pub fn mounts(&self) -> Vec<MountStatus> {
        let mounts = self.0.mounts();
        mounts.iter().map(|mount| mount.status()).collect()
    }

    /// Returns whether all [required](Mount::required) servers are connected.
    pub fn is_ready(&self) -> bool {
        let mounts = self.0.mounts();
        mounts.iter().all(|mount| mount.is_ready())
    }

    /// Closes the connections that sessions share, and ends all subscriptions.
    pub async fn close(&self) {
        self.closing();
        for mount in self.0.mounts().iter() {
            mount.stop_connecting();
            if let Some(proxy) = mount.proxy() {
                proxy.close().await;
            }
        }
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
        self.0
            .serve(&request.method, request.params, context)
            .unwrap_or_else(Reply::error)
    }

    fn notification(&self, notification: &Notification<'_>, session: &Arc<Session>) {
        for mount in self.0.mounts().iter() {
            if let Some(proxy) = mount.proxy() {
                proxy.notification(notification, session);
            }
        }
    }

    fn header_params(&self, tool: &str) -> Option<Arc<HeaderParams>> {
        let (mount, name) = self.0.tool(tool)?;
        mount.proxy()?.header_params(&name)
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
