//! Whether the required servers respond.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::mount::MountedServer;
use super::state::State;
use crate::core::Core;

/// How long a server has to respond.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the result of a check is used again, so that frequent checks are not a load for the servers.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The last check.
#[derive(Debug, Default)]
pub(super) struct Readiness(Mutex<Option<(Instant, Vec<(String, String)>)>>);

impl State {
    /// Asks all required servers for a response. Returns those that do not respond, each with the reason.
    pub(super) async fn unready(&self) -> Vec<(String, String)> {
        let mut last = self.readiness.0.lock().await;
        if let Some((checked, unready)) = &*last
            && checked.elapsed() < MAX_AGE
        {
            return unready.clone();
        }
        let mut checks = JoinSet::new();
        for (index, mount) in self.mounts().iter().enumerate() {
            if mount.is_required() {
                let mount = Arc::clone(mount);
                checks.spawn(async move { (index, mount.unready().await) });
            }
        }
        let mut unready: Vec<_> = checks.join_all().await;
        unready.sort_unstable();
        let unready: Vec<_> = unready
            .into_iter()
            .filter_map(|(_, reason)| reason)
            .collect();
        *last = Some((Instant::now(), unready.clone()));
        unready
    }
}

impl MountedServer {
    /// Returns the name and the reason if the server does not respond.
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

impl Core {
    /// Asks the server for a response. Returns the reason if there is no response. The reason has no text of the server, because it is shown to clients without
    /// authentication.
    pub(crate) async fn unready(self: &Arc<Self>) -> Option<String> {
        // The gateway has closed the connection itself because it was not in use; sessions have others.
        if self.shared.is_released() {
            return None;
        }
        let responds = timeout(RESPONSE_TIMEOUT, async {
            let connection = self.shared().await.map_err(|_| "it is not connected")?;
            let response = connection.client.ping().await;
            response.map_err(|_| "it does not respond")
        });
        match responds.await {
            Ok(Ok(_)) => None,
            Ok(Err(reason)) => Some(reason.to_owned()),
            Err(_) => Some(format!("it does not respond within {RESPONSE_TIMEOUT:?}")),
        }
    }
}
