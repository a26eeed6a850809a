//! Roots: the folders and files that servers may use.
//!
//! Specification: [roots](https://modelcontextprotocol.io/specification/2025-11-25/client/roots).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use mcp_client::Root;
use mcp_protocol::lock;
use tokio::sync::watch;
use tokio::time::sleep;
use url::Url;

/// Interval at which the host checks whether the roots exist.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The paths that the application has chosen as roots.
#[derive(Debug, Default, Clone)]
pub(crate) struct RootPaths {
    pub(crate) all: Vec<PathBuf>,
    /// The paths for the servers that have separate paths, by the name of the server.
    pub(crate) by_server: BTreeMap<String, Vec<PathBuf>>,
}

/// The roots of a host, and the list of roots for each server.
#[derive(Debug)]
pub(crate) struct Roots {
    /// The chosen paths. The lock is held while the lists are updated, so that older paths do not replace newer paths.
    paths: Mutex<RootPaths>,
    lists: Mutex<BTreeMap<String, watch::Sender<Vec<Root>>>>,
}

impl Roots {
    pub(crate) fn new(paths: RootPaths) -> Arc<Self> {
        Arc::new(Self {
            paths: Mutex::new(paths),
            lists: Mutex::default(),
        })
    }

    /// Returns the list of roots of a server, and its later changes. Reads the file system.
    pub(crate) fn subscribe(&self, server: &str) -> watch::Receiver<Vec<Root>> {
        let paths = lock(&self.paths);
        let roots = paths.of(server);
        let mut lists = lock(&self.lists);
        // Lists of servers that were removed are not needed.
        lists.retain(|_, list| !list.is_closed());
        let list = lists.entry(server.to_owned()).or_default();
        list.send_replace(roots);
        list.subscribe()
    }

    /// Changes the chosen paths, and updates the lists.
    pub(crate) fn change(&self, change: impl FnOnce(&mut RootPaths)) {
        let mut paths = lock(&self.paths);
        change(&mut paths);
        self.update(&paths);
    }

    /// Checks which paths exist, and updates the lists.
    fn check(&self) {
        self.update(&lock(&self.paths));
    }

    fn update(&self, paths: &RootPaths) {
        for (server, list) in &*lock(&self.lists) {
            let roots = paths.of(server);
            list.send_if_modified(|current| {
                let is_changed = *current != roots;
                *current = roots;
                is_changed
            });
        }
    }

    /// Checks the paths at an interval until the host is dropped.
    pub(crate) async fn watch(roots: Weak<Self>) {
        loop {
            sleep(CHECK_INTERVAL).await;
            let Some(roots) = roots.upgrade() else { return };
            // A check that panics is reported by the runtime.
            let _ = tokio::task::spawn_blocking(move || roots.check()).await;
        }
    }
}

impl RootPaths {
    /// Returns the roots of a server: its chosen paths that exist.
    fn of(&self, server: &str) -> Vec<Root> {
        let chosen = self.by_server.get(server).unwrap_or(&self.all);
        chosen.iter().filter_map(|path| root(path)).collect()
    }
}

/// Returns the root for a path; `None` if the path does not exist.
fn root(path: &Path) -> Option<Root> {
    let Ok(path) = path.canonicalize() else {
        tracing::debug!(path = %path.display(), "a root does not exist and is left out");
        return None;
    };
    let uri = Url::from_file_path(&path).ok()?;
    let root = Root::new(uri);
    Some(match path.file_name() {
        Some(name) => root.with_name(name.to_string_lossy()),
        None => root,
    })
}
