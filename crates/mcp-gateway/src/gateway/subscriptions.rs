//! Subscriptions to changes of all servers.

use std::sync::{Arc, Weak};

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{BoxFuture, Owner, RequestContext};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::access::ItemKind;
use super::record::ClientRequest;
use super::state::State;
use crate::catalog::UriSource;
use crate::changes::Changes;
use crate::core::{ChangeSource, Core, SubscribeLocks};

impl ChangeSource for Arc<State> {
    fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Connects to all servers at the same time. A server that cannot be reached does not affect the other servers.
    async fn prepare(&self, client: &Owner) -> Result<Vec<BoxFuture<'static, ()>>, ErrorObject> {
        let mut connecting = JoinSet::new();
        for mount in self.mounts().iter() {
            let Some(proxy) = mount.proxy() else { continue };
            let (limit, client) = (self.settings().list_timeout, client.clone());
            connecting.spawn(async move {
                let connected = async {
                    if proxy.core.upstream.has_accounts() {
                        // A user without an account receives nothing from this server.
                        return proxy.core.prepare(&client).await.unwrap_or_default();
                    }
                    proxy.core.keep_shared().await;
                    Vec::new()
                };
                timeout(limit, connected).await.unwrap_or_default()
            });
        }
        Ok(connecting.join_all().await.into_iter().flatten().collect())
    }

    async fn watch(
        &self,
        uri: Arc<str>,
        context: &RequestContext,
        locks: &Arc<SubscribeLocks>,
        deliver: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<BoxFuture<'static, ()>, ErrorObject> {
        let resource = WatchedResource {
            uri,
            context: context.clone(),
            locks: Arc::clone(locks),
            deliver: Arc::new(deliver),
        };
        let watch = resource.watch(self).await?;
        let state = Self::downgrade(self);
        Ok(Box::pin(resource.follow(watch, state)))
    }

    async fn settled(&self) {
        for mount in self.mounts().iter() {
            mount.settled().await;
        }
    }

    async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // The wait cannot fail, because `self` contains the sender.
        let _ = closing.wait_for(|is_closing| *is_closing).await;
    }
}

/// A resource that a client watches at the server that has the resource.
struct WatchedResource {
    uri: Arc<str>,
    context: RequestContext,
    locks: Arc<SubscribeLocks>,
    deliver: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A running subscription at one server.
struct ServerWatch {
    changes: BoxFuture<'static, ()>,
    /// Whether the server has been removed from the gateway.
    is_removed: watch::Receiver<bool>,
}

impl WatchedResource {
    /// Subscribes at the server that currently has the resource.
    async fn watch(&self, state: &Arc<State>) -> Result<ServerWatch, ErrorObject> {
        // The servers may have changed since the request was checked.
        let request = ClientRequest::new(self.context.clone(), false);
        let mount = state.resource(&self.uri, &request)?;
        let core = mount.connected()?.core;
        let is_removed = core.closing.subscribe();
        let (principal, client) = (self.context.principal().cloned(), self.context.owner());
        let deliver = Arc::clone(&self.deliver);
        let deliver = move |changed: &str| deliver(changed);
        let uri = Arc::clone(&self.uri);
        let changes = Core::watch(&core, uri, principal, client, &self.locks, deliver).await?;
        let changes = Box::pin(changes);
        Ok(ServerWatch {
            changes,
            is_removed,
        })
    }

    /// Notifies the client of changes of the resource. If the server is removed or replaced, subscribes at the server that has
    /// the resource afterwards.
    async fn follow(self, mut watch: ServerWatch, state: Weak<State>) {
        loop {
            watch.changes.await;
            if !*watch.is_removed.borrow() {
                // The server rejects the subscription.
                return;
            }
            let Some(state) = state.upgrade() else { return };
            state.settled().await;
            let again = self.watch(&state).await;
            // The resource may be different at the new server. If no server has it, the client learns this when reading it.
            (self.deliver)(&self.uri);
            match again {
                Ok(again) => watch = again,
                Err(error) => {
                    let uri = &self.uri;
                    tracing::debug!(%error, ?uri, "a resource of a removed server is not watched");
                    return;
                }
            }
        }
    }
}

impl State {
    /// Applies the rules to notifications of changed resources.
    pub(super) fn filter_updates(self: &Arc<Self>) {
        let state = Arc::downgrade(self);
        let filter = move |mount: &str, subscribed: &str, changed: &str| {
            let state = state.upgrade();
            state.is_some_and(|state| state.may_notify(mount, subscribed, changed))
        };
        self.changes.set_update_filter(Box::new(filter));
    }

    /// Returns whether a client that has subscribed to a resource may be notified that the resource, or a part of it, has
    /// changed. The spelling and the scope of the subscribed resource were checked with the request. If a part needs a scope, the
    /// client is not notified of its changes, because the client may not have this scope.
    fn may_notify(&self, mount: &str, subscribed: &str, changed: &str) -> bool {
        let mounts = self.mounts();
        let Some(mount) = mounts.iter().find(|other| *other.name == *mount) else {
            return false;
        };
        let item = mount.item(ItemKind::Resource, changed);
        match changed == subscribed {
            true => self.decide_as(mount, &item, UriSource::List).is_shown(),
            false => self.decide(mount, &item).is_for_all(),
        }
    }
}
