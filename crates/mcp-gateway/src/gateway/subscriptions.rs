//! Subscriptions to changes of all servers.

use std::sync::Arc;

use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{BoxFuture, RequestContext};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::access::ItemKind;
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
        uri: String,
        context: &RequestContext,
        deliver: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<BoxFuture<'static, ()>, ErrorObject> {
        // The servers may have changed since the request was checked.
        let mount = self.resource(&uri)?;
        self.check_scope(&mount.item(ItemKind::Resource, &uri), context)?;
        let core = mount.connected()?.0;
        let watch = Core::watch(&core, uri, context.principal().cloned(), deliver).await?;
        Ok(Box::pin(watch))
    }

    async fn closed(&self) {
        let mut closing = self.closing.subscribe();
        // The sender is part of the gateway, which the caller keeps.
        let _ = closing.wait_for(|is_closing| *is_closing).await;
    }
}
