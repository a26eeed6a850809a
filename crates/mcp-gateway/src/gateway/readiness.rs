//! Checks for `/readyz` whether the required servers respond.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::mount::MountedServer;
use super::state::State;

/// Maximum number of times that a check starts again with a new server because the server was replaced during the check.
const MAX_REPLACED: usize = 3;

impl State {
    /// Pings all required servers. Returns the name of each server that does not respond, and the reason.
    pub(super) async fn unready(self: &Arc<Self>) -> Vec<(String, String)> {
        let mut checks = JoinSet::new();
        for (index, mount) in self.mounts().iter().enumerate() {
            if mount.is_required() {
                let (state, mount) = (Arc::clone(self), Arc::clone(mount));
                checks.spawn(async move { (index, state.unready_mount(mount).await) });
            }
        }
        let mut unready = checks.join_all().await;
        unready.sort_unstable();
        unready
            .into_iter()
            .filter_map(|(_, reason)| reason)
            .collect()
    }

    /// Returns the name of a server and the reason if the server does not respond. If the server is replaced during the check,
    /// the new server is checked instead, because the connection of the old server may have ended.
    async fn unready_mount(&self, mut mount: Arc<MountedServer>) -> Option<(String, String)> {
        for _ in 0..MAX_REPLACED {
            let reason = mount.unready_reason().await;
            let mounts = self.mounts();
            // A server that was removed is not required.
            let used = mounts.iter().find(|other| other.name == mount.name)?;
            if Arc::ptr_eq(used, &mount) {
                return mount.report(reason);
            }
            mount = Arc::clone(used);
        }
        let reason = mount.unready_reason().await;
        mount.report(reason)
    }
}

impl MountedServer {
    /// Returns the reason if the server does not respond.
    async fn unready_reason(&self) -> Option<String> {
        match self.proxy() {
            None => Some("it is not connected".to_owned()),
            Some(proxy) => proxy.core.unready().await,
        }
    }

    /// Logs a change of the result of a check. Returns the name of the server and the reason if the server does not respond.
    fn report(&self, reason: Option<String>) -> Option<(String, String)> {
        if self.responds.replace(reason.is_none()) {
            match &reason {
                None => tracing::info!(mount = %self.name, "the server responds again"),
                Some(reason) => {
                    tracing::warn!(mount = %self.name, reason, "the server is not ready")
                }
            }
        }
        Some((self.name.to_string(), reason?))
    }
}
