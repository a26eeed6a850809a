//! The state of a gateway: its settings and mounts.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use mcp_client::ChangedList;
use mcp_types::Implementation;
use tokio::sync::watch;

use super::access::{AccessPolicy, Item, ItemKind};
use super::limits::{ClientLimits, RequestCounter};
use super::mount::MountedServer;
use crate::changes::Changes;
use crate::parked::Cluster;

/// The state of a gateway.
pub(super) struct State {
    pub(super) info: Implementation,
    pub(super) instructions: Option<String>,
    pub(super) list_timeout: Duration,
    /// The number of tools above which clients search for them.
    pub(super) search_above: Option<usize>,
    /// In the order in which they were mounted.
    pub(super) mounts: RwLock<Arc<[Arc<MountedServer>]>>,
    pub(super) policy: RwLock<Arc<Policy>>,
    pub(super) cluster: Option<Cluster>,
    pub(super) counter: Arc<RequestCounter>,
    pub(super) changes: Arc<Changes>,
    /// Number of changes of the mounts.
    pub(super) edition: AtomicU64,
    pub(super) closing: watch::Sender<bool>,
    /// The items whose clash was logged.
    pub(super) reported: Mutex<HashSet<String>>,
}

/// What clients may use, and how often.
#[derive(Debug, Default)]
pub(super) struct Policy {
    pub(super) access: AccessPolicy,
    pub(super) limits: ClientLimits,
}

impl State {
    pub(super) fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn set_policy(&self, access: AccessPolicy, limits: ClientLimits) {
        let mut policy = self.policy.write().unwrap_or_else(PoisonError::into_inner);
        *policy = Arc::new(Policy { access, limits });
    }

    /// Returns whether clients see an item of a mount.
    pub(super) fn shows(&self, kind: ItemKind, mount: &str, name: &str) -> bool {
        self.policy().access.shows(&Item { kind, mount, name })
    }

    pub(super) fn mounts(&self) -> Arc<[Arc<MountedServer>]> {
        Arc::clone(&self.mounts.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the mounts.
    pub(super) fn update<T>(&self, change: impl FnOnce(&mut Vec<Arc<MountedServer>>) -> T) -> T {
        let mut mounts = self.mounts.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = mounts.to_vec();
        let result = change(&mut changed);
        *mounts = changed.into();
        result
    }

    /// Notifies clients that the mounts or what is known about them changed.
    pub(super) fn mounts_changed(&self) {
        self.edition.fetch_add(1, Ordering::Release);
        for list in [
            ChangedList::Tools,
            ChangedList::Prompts,
            ChangedList::Resources,
        ] {
            self.changes.deliver_list(list);
        }
    }
}
