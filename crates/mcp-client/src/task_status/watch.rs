//! Status notifications of tasks, which servers may send.

use std::future::pending;
use std::sync::Mutex;

use mcp_jsonrpc::RawJson;
use mcp_protocol::lock;
use tokio::sync::watch;

use super::state::Snapshot;

/// The latest status notification about a task; `None` before the first notification.
type Latest = Option<RawJson>;

/// The tasks whose status notifications are passed on, by task id.
#[derive(Default)]
pub(crate) struct StatusWatchers(Mutex<Vec<(String, watch::Sender<Latest>)>>);

/// A receiver of the status notifications of one task.
pub(crate) struct StatusWatch(watch::Receiver<Latest>);

impl StatusWatchers {
    pub(crate) fn open(&self, id: &str) -> StatusWatch {
        let (sender, receiver) = watch::channel(None);
        let mut all = lock(&self.0);
        all.retain(|(_, sender)| !sender.is_closed());
        all.push((id.to_owned(), sender));
        StatusWatch(receiver)
    }

    /// Passes a status notification to the callers that watch its task.
    pub(crate) fn notify(&self, method: &str, text: &str) {
        let text = RawJson::copy(text);
        match Snapshot::read(method, text.clone()) {
            Ok(snapshot) => {
                for (_, sender) in lock(&self.0).iter().filter(|(id, _)| *id == snapshot.id) {
                    sender.send_replace(Some(text.clone()));
                }
            }
            Err(error) => tracing::debug!(%error, "ignored a malformed task notification"),
        }
    }
}

impl StatusWatch {
    /// Waits for the next status notification and returns the task as JSON text. Cancel safe.
    pub(crate) async fn changed(&mut self) -> RawJson {
        while self.0.changed().await.is_ok() {
            if let Some(text) = self.0.borrow_and_update().clone() {
                return text;
            }
        }
        pending().await
    }
}
