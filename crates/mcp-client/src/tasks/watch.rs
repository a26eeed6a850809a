//! Status notifications of tasks, which servers may send.

use std::sync::{Arc, Mutex};

use mcp_jsonrpc::RawJson;
use tokio::sync::Notify;

use super::state::Snapshot;
use crate::sync::lock;

/// The tasks that callers wait for.
#[derive(Default)]
pub(crate) struct StatusWatchers(Mutex<Vec<Arc<Watcher>>>);

struct Watcher {
    id: String,
    latest: Mutex<Option<RawJson>>,
    changed: Notify,
}

/// One watched task, removed from the table on drop.
pub(super) struct StatusWatch {
    table: Arc<StatusWatchers>,
    watcher: Arc<Watcher>,
}

impl StatusWatchers {
    pub(super) fn open(self: &Arc<Self>, id: &str) -> StatusWatch {
        let watcher = Arc::new(Watcher {
            id: id.to_owned(),
            latest: Mutex::default(),
            changed: Notify::new(),
        });
        lock(&self.0).push(Arc::clone(&watcher));
        StatusWatch {
            table: Arc::clone(self),
            watcher,
        }
    }

    /// Passes a status notification to the callers that wait for its task.
    pub(crate) fn notify(&self, method: &'static str, text: &str) {
        let text = RawJson::copy(text);
        let snapshot = match Snapshot::read(method, text.clone()) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                tracing::debug!(%error, "ignored a malformed task notification");
                return;
            }
        };
        for watcher in lock(&self.0)
            .iter()
            .filter(|watcher| watcher.id == snapshot.id)
        {
            *lock(&watcher.latest) = Some(text.clone());
            watcher.changed.notify_one();
        }
    }
}

impl StatusWatch {
    /// Completes with the latest state.
    pub(super) async fn changed(&self) -> RawJson {
        loop {
            if let Some(text) = lock(&self.watcher.latest).take() {
                return text;
            }
            self.watcher.changed.notified().await;
        }
    }
}

impl Drop for StatusWatch {
    fn drop(&mut self) {
        lock(&self.table.0).retain(|watcher| !Arc::ptr_eq(watcher, &self.watcher));
    }
}
