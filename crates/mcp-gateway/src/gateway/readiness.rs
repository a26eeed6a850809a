//! Checks whether the required servers respond, for `/readyz`.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::mount::MountedServer;
use super::state::State;

impl State {
    /// Pings all required servers. Returns the names of those that do not respond, each with the reason.
    pub(super) async fn unready(&self) -> Vec<(String, String)> {
        let mut checks = JoinSet::new();
        for (index, mount) in self.mounts().iter().enumerate() {
            if mount.is_required() {
                let mount = Arc::clone(mount);
                checks.spawn(async move { (index, mount.unready().await) });
            }
        }
        let mut unready = checks.join_all().await;
        unready.sort_unstable();
        unready
            .into_iter()
            .filter_map(|(_, reason)| reason)
            .collect()
    }
}

impl MountedServer {
    /// Returns the name of the server and the reason if the server does not respond.
    async fn unready(&self) -> Option<(String, String)> {
        let reason = match self.proxy() {
            None => Some("it is not connected".to_owned()),
            Some(proxy) => proxy.0.unready().await,
        };
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
