//! Roots: the folders and files that servers may use.
//!
//! Specification: [roots](https://modelcontextprotocol.io/specification/2025-11-25/client/roots).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_client::Root;
use tokio::sync::watch;
use tokio::time::sleep;
use url::Url;

/// How often the roots are checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// The paths that the application has chosen.
#[derive(Debug, Default, Clone)]
pub(crate) struct RootPaths {
    pub(crate) all: Vec<PathBuf>,
    /// For servers with their own choice.
    pub(crate) by_server: BTreeMap<String, Vec<PathBuf>>,
}

/// The roots of a host, and the list of each server.
#[derive(Debug)]
pub(crate) struct Roots {
    /// Locked while the lists are updated, so that an older choice does not replace a newer one.
    paths: Mutex<RootPaths>,
    lists: BTreeMap<String, watch::Sender<Vec<Root>>>,
}

impl Roots {
    /// Creates the lists of these servers. Reads the file system.
    pub(crate) fn new(paths: RootPaths, servers: impl IntoIterator<Item = String>) -> Arc<Self> {
        let lists = servers
            .into_iter()
            .map(|server| (server, watch::Sender::default()));
        let roots = Self {
            paths: Mutex::new(paths),
            lists: lists.collect(),
        };
        roots.check();
        Arc::new(roots)
    }

    /// Returns the list of a server.
    pub(crate) fn subscribe(&self, server: &str) -> Option<watch::Receiver<Vec<Root>>> {
        self.lists.get(server).map(watch::Sender::subscribe)
    }

    /// Changes the choice, and the lists.
    pub(crate) fn change(&self, change: impl FnOnce(&mut RootPaths)) {
        let mut paths = self.lock();
        change(&mut paths);
        self.update(&paths);
    }

    /// Checks which paths exist, and updates the lists.
    fn check(&self) {
        self.update(&self.lock());
    }

    fn update(&self, paths: &RootPaths) {
        for (server, list) in &self.lists {
            let chosen = paths.by_server.get(server).unwrap_or(&paths.all);
            let roots: Vec<Root> = chosen.iter().filter_map(|path| root(path)).collect();
            list.send_if_modified(|current| {
                let is_changed = *current != roots;
                *current = roots;
                is_changed
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, RootPaths> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks the roots until no server needs them.
    pub(crate) async fn watch(self: Arc<Self>) {
        let ended = async {
            for list in self.lists.values() {
                list.closed().await;
            }
        };
        let checks = async {
            loop {
                sleep(CHECK_INTERVAL).await;
                let roots = Arc::clone(&self);
                // A check that panics is reported by the runtime.
                let _ = tokio::task::spawn_blocking(move || roots.check()).await;
            }
        };
        tokio::select! {
            () = ended => {}
            () = checks => {}
        }
    }
}

/// Returns the root of a path; `None` if it does not exist.
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
