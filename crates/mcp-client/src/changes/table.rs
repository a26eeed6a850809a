//! The table of open resource subscriptions.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;

use crate::sync::lock;

/// Updates that are queued for a reader. Further updates are dropped, because each update means the
/// same: the resource has to be read again.
const MAX_QUEUED: usize = 64;

/// The open resource subscriptions of a client.
#[derive(Default)]
pub(crate) struct Subscriptions {
    open: Mutex<HashMap<u64, (String, mpsc::Sender<String>)>>,
    next: AtomicU64,
}

impl Subscriptions {
    /// Adds a subscription to `uri`. Returns its key and the receiver of its updates.
    pub(crate) fn add(&self, uri: &str) -> (u64, mpsc::Receiver<String>) {
        let (sender, updates) = mpsc::channel(MAX_QUEUED);
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.open).insert(key, (uri.to_owned(), sender));
        (key, updates)
    }

    /// Removes a subscription. Returns whether it was the last one of its resource, or `None` if it
    /// was already removed.
    pub(crate) fn remove(&self, key: u64, uri: &str) -> Option<bool> {
        let mut open = lock(&self.open);
        open.remove(&key)?;
        Some(!open.values().any(|(other, _)| other == uri))
    }

    /// Delivers an update to the subscriptions of the resource and of the resources that contain it.
    pub(crate) fn updated(&self, uri: &str) {
        for (subscribed, sender) in lock(&self.open).values() {
            if covers(subscribed, uri) && sender.try_send(uri.to_owned()).is_err() {
                tracing::trace!(uri, "merged an update with unread updates");
            }
        }
    }

    /// Ends all subscriptions.
    pub(crate) fn close(&self) {
        lock(&self.open).clear();
    }
}

/// Returns whether `uri` is the subscribed resource or a part of it.
pub(crate) fn covers(subscribed: &str, uri: &str) -> bool {
    uri.strip_prefix(subscribed).is_some_and(|rest| {
        rest.is_empty() || subscribed.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}
