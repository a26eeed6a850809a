//! The state of a gateway: its settings and mounts.

use std::collections::HashSet;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use mcp_client::ChangedList;
use mcp_protocol::middleware::Layers;
use mcp_protocol::{lock, read_lock, write_lock};
use mcp_types::Implementation;
use tokio::sync::watch;

use super::access::{AccessPolicy, Rules};
use super::limits::{ClientLimits, RequestCounter};
use super::mount::MountedServer;
use super::record::{DenialLog, Observer};
use crate::changes::Changes;
use crate::parked::Cluster;

/// The state of a gateway.
pub(super) struct State {
    pub(super) info: Implementation,
    /// The mounts, in the order in which they were added.
    pub(super) mounts: RwLock<Arc<[Arc<MountedServer>]>>,
    /// The servers that replace the mounts with the same names as soon as they are connected.
    pub(super) replacements: Mutex<Vec<Arc<MountedServer>>>,
    settings: RwLock<Arc<Settings>>,
    pub(super) cluster: Option<Cluster>,
    pub(super) counter: Arc<RequestCounter>,
    pub(super) changes: Arc<Changes>,
    /// Number of changes of the mounts.
    pub(super) edition: AtomicU64,
    pub(super) closing: watch::Sender<bool>,
    /// Hashes of the items for which a name clash was logged.
    pub(super) reported: Mutex<HashSet<u64>>,
    pub(super) denials: DenialLog,
    pub(super) layers: Option<Layers>,
    pub(super) observer: Option<Observer>,
}

/// The settings that can change while the gateway runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    pub(crate) instructions: Option<String>,
    /// Maximum time in which the servers must return the pages that the gateway needs for a list.
    pub(crate) list_timeout: Duration,
    /// The maximum number of tools in a list. If there are more tools, clients search for them.
    pub(crate) search_above: Option<usize>,
    pub(crate) access: Rules,
    pub(crate) limits: ClientLimits,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            instructions: None,
            list_timeout: Duration::from_secs(5),
            search_above: None,
            access: AccessPolicy::new().into(),
            limits: ClientLimits::new(),
        }
    }
}

impl State {
    pub(super) fn new(info: Implementation, settings: Settings, cluster: Option<Cluster>) -> Self {
        Self {
            info,
            mounts: RwLock::new(Arc::default()),
            replacements: Mutex::default(),
            settings: RwLock::new(Arc::new(settings)),
            cluster,
            counter: Arc::default(),
            changes: Arc::default(),
            edition: AtomicU64::new(0),
            closing: watch::Sender::new(false),
            reported: Mutex::default(),
            denials: DenialLog::default(),
            layers: None,
            observer: None,
        }
    }

    pub(super) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&read_lock(&self.settings))
    }

    /// Changes the settings, and notifies clients that the lists have changed.
    pub(super) fn configure(&self, change: impl FnOnce(&mut Settings)) {
        {
            let mut settings = write_lock(&self.settings);
            change(Arc::make_mut(&mut settings));
        }
        self.mounts_changed();
    }

    pub(super) fn mounts(&self) -> Arc<[Arc<MountedServer>]> {
        Arc::clone(&read_lock(&self.mounts))
    }

    /// Changes the mounts.
    pub(super) fn update<T>(&self, change: impl FnOnce(&mut Vec<Arc<MountedServer>>) -> T) -> T {
        let mut mounts = write_lock(&self.mounts);
        let mut changed = mounts.to_vec();
        let result = change(&mut changed);
        *mounts = changed.into();
        result
    }

    /// Replaces the mount of the same name with `server`, which is connected, and returns the replaced server. Returns `None` if
    /// `server` is not a replacement, or if the mount was removed.
    pub(super) fn replace(&self, server: &Arc<MountedServer>) -> Option<Arc<MountedServer>> {
        let server = {
            // `update` must not run under this lock: `Gateway::mount` takes this lock while it holds the lock of the mounts.
            let mut replacements = lock(&self.replacements);
            let mut all = replacements.iter();
            let at = all.position(|other| Arc::ptr_eq(other, server))?;
            replacements.remove(at)
        };
        self.update(|mounts| {
            let replaced = mounts.iter_mut().find(|mount| mount.name == server.name)?;
            Some(mem::replace(replaced, server))
        })
    }

    /// Closes the connections of all sessions to a server, and ends the subscriptions at this server. Each connection is closed
    /// after its last call has completed.
    pub(super) fn retire(&self, server: &MountedServer) {
        server.stop_connecting();
        if let Some(proxy) = server.proxy() {
            proxy.core.closing.send_replace(true);
            proxy.core.parked.clear();
            for session in self.changes.sessions() {
                proxy.core.close_session(&session);
            }
        }
    }

    /// Notifies clients that the mounts, or the known properties of a mount, have changed.
    pub(super) fn mounts_changed(&self) {
        self.edition.fetch_add(1, Ordering::Release);
        for list in [
            ChangedList::Tools,
            ChangedList::Prompts,
            ChangedList::Resources,
        ] {
            self.changes.deliver_list(list, None);
        }
    }
}
