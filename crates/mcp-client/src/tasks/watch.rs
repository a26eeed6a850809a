//! Tasks whose servers may say how they stand, unasked.

use std::sync::{Arc, Mutex};

use mcp_jsonrpc::RawJson;
use tokio::sync::Notify;

use super::state::Snapshot;
use crate::lock;

/// The tasks that somebody waits for.
#[derive(Default)]
pub(crate) struct Watches(Mutex<Vec<Arc<Watch>>>);

struct Watch {
    id: String,
    latest: Mutex<Option<RawJson>>,
    told: Notify,
}

/// One of them; off the table when it is dropped.
pub(super) struct Watching {
    table: Arc<Watches>,
    watch: Arc<Watch>,
}

impl Watches {
    pub(super) fn open(self: &Arc<Self>, id: &str) -> Watching {
        let watch = Arc::new(Watch {
            id: id.to_owned(),
            latest: Mutex::default(),
            told: Notify::new(),
        });
        lock(&self.0).push(Arc::clone(&watch));
        Watching {
            table: Arc::clone(self),
            watch,
        }
    }

    /// A notification says how a task stands. Of one that nobody waits for it is dropped.
    pub(crate) fn tell(&self, method: &'static str, text: &str) {
        let text = RawJson::copy(text);
        let snapshot = match Snapshot::read(method, text.clone()) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                tracing::debug!(%error, "ignored what is said of a task");
                return;
            }
        };
        for watch in lock(&self.0).iter().filter(|it| it.id == snapshot.id) {
            *lock(&watch.latest) = Some(text.clone());
            watch.told.notify_one();
        }
    }
}

impl Watching {
    /// Completes with the latest that was said.
    pub(super) async fn told(&self) -> RawJson {
        loop {
            if let Some(text) = lock(&self.watch.latest).take() {
                return text;
            }
            self.watch.told.notified().await;
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        lock(&self.table.0).retain(|it| !Arc::ptr_eq(it, &self.watch));
    }
}
