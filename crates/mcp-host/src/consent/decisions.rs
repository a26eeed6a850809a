//! Decisions that stay valid until the host ends, or that are stored.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use mcp_protocol::lock;

use super::Decision;
use super::approvals::{Approval, ApprovalKey, ApprovalStore};

/// The decisions that stay valid, for one host.
#[derive(Default)]
pub(crate) struct Decisions {
    pub(crate) store: Option<Arc<dyn ApprovalStore>>,
    until_exit: Mutex<HashMap<ApprovalKey, Approval>>,
}

impl Decisions {
    /// Returns a decision that was made in this process.
    pub(super) fn until_exit(&self, key: &ApprovalKey) -> Option<Approval> {
        self.lock().get(key).cloned()
    }

    /// Returns a decision from the store. Logs an error of the store.
    pub(super) async fn stored(&self, key: &ApprovalKey) -> Option<Approval> {
        let (store, key) = (self.store.clone()?, key.clone());
        let loaded = tokio::task::spawn_blocking(move || store.load(&key)).await;
        loaded
            .map_err(io::Error::other)
            .and_then(|done| done)
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "the stored approvals cannot be read, so the user is asked");
                None
            })
    }

    /// Keeps an approval for as long as the decision says.
    pub(super) async fn keep(&self, decision: Decision, key: ApprovalKey, approval: Approval) {
        if decision == Decision::AllowAlways {
            self.save(&key, &approval).await;
        }
        if matches!(decision, Decision::AllowUntilExit | Decision::AllowAlways) {
            self.lock().insert(key, approval);
        }
    }

    async fn save(&self, key: &ApprovalKey, approval: &Approval) {
        let Some(store) = self.store.clone() else {
            return;
        };
        let (key, approval) = (key.clone(), approval.clone());
        let saved = tokio::task::spawn_blocking(move || store.save(&key, &approval)).await;
        if let Err(error) = saved.map_err(io::Error::other).and_then(|done| done) {
            tracing::warn!(%error, "an approval cannot be stored, so it is valid only until the host ends");
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ApprovalKey, Approval>> {
        lock(&self.until_exit)
    }
}
