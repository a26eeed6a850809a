//! Subscriptions to changes of all servers.

use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{BoxFuture, RequestContext};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::access::{Item, ItemKind};
use super::state::State;
use crate::changes::Changes;
use crate::core::{ChangeSource, Core};

impl ChangeSource for Arc<State> {
    fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Connects to all servers at the same time; one that cannot be reached does not matter to the others.
    async fn prepare(&self) -> Result<(), ErrorObject> {
        let mut connecting = JoinSet::new();
        for mount in self.mounts().iter() {
            let Some(proxy) = mount.proxy() else { continue };
            let limit = self.settings().list_timeout;
            connecting.spawn(async move { timeout(limit, proxy.0.keep_shared()).await.is_ok() });
        }
        connecting.join_all().await;
        Ok(())
    }

    async fn watch(
        &self,
        uri: Arc<str>,
        context: &RequestContext,
        turns: &Mutex<()>,
        deliver: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<BoxFuture<'static, ()>, ErrorObject> {
        // The servers may have changed since the request was checked.
        let mount = self.resource(&uri)?;
        self.check_scope(&mount.item(ItemKind::Resource, &uri), context)?;
        let core = mount.connected()?.0;
        let (principal, client) = (context.principal().cloned(), context.owner());
        let watch = Core::watch(&core, uri, principal, client, turns, deliver).await?;
        Ok(Box::pin(watch))
    }

    async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // The sender is part of the gateway, which the caller keeps.
        let _ = closing.wait_for(|is_closing| *is_closing).await;
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

    /// Returns whether a client that has subscribed to a resource may be notified that the resource, or a part of it, has changed. The spelling and the
    /// scope of the subscribed resource were checked with the request. A part that needs a scope is left out, because the client may not have it.
    fn may_notify(&self, mount: &str, subscribed: &str, changed: &str) -> bool {
        let kind = ItemKind::Resource;
        let name = changed;
        let item = Item { kind, mount, name };
        let access = &self.settings().access;
        let is_usable = || {
            let mounts = self.mounts();
            let mount = mounts.iter().find(|other| *other.name == *mount);
            mount.is_some_and(|mount| self.check_uri(mount, &item).is_ok())
                && !access.needs_scope(&item)
        };
        access.shows(&item) && (changed == subscribed || is_usable())
    }
}
