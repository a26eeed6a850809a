//! The table of resource subscriptions: the open subscriptions, and the subscriptions that the client is ending.

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_protocol::lock;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

/// Maximum number of updates that are queued for one subscription. Further updates are dropped. This loses nothing, because every
/// update only says that the resource must be read again.
const MAX_QUEUED: usize = 64;
/// Maximum number of `resources/unsubscribe` requests in flight, so that the connection has capacity for other requests.
const MAX_ENDING: usize = 8;
/// Maximum size of the queue of resources to unsubscribe from, in bytes. Above this size, the oldest entries are dropped, so the
/// server keeps the subscriptions to these resources.
const MAX_UNSUBSCRIBE_QUEUE_BYTES: usize = 4 << 20;
/// Estimated memory of a queued resource in addition to its URI, in bytes.
const OVERHEAD_BYTES: usize = 256;
/// Maximum time that the client waits for the response to `resources/unsubscribe`. Afterwards the client subscribes to the
/// resource again, or unsubscribes from the next resource.
pub(crate) const MAX_ENDING_WAIT: Duration = Duration::from_secs(3);

/// The resource subscriptions of a client.
#[derive(Default)]
pub(crate) struct Subscriptions {
    table: Mutex<Table>,
    /// Wakes subscriptions that wait until earlier subscriptions have ended.
    ended: Notify,
}

#[derive(Default)]
struct Table {
    last: u64,
    resources: HashMap<Arc<str>, SubscribedResource>,
    /// The resources from which the client must unsubscribe, because they have no subscriptions. If a resource has a subscription
    /// again, it stays in the queue and is skipped later.
    unsubscribe_queue: VecDeque<Arc<str>>,
    unsubscribe_queue_bytes: usize,
    /// Whether the queue has dropped a resource since the queue was last empty.
    has_forgotten: bool,
    /// Number of running background tasks that unsubscribe from resources.
    workers: usize,
}

/// The subscriptions to one resource.
#[derive(Default)]
struct SubscribedResource {
    readers: Vec<(u64, mpsc::Sender<Arc<str>>)>,
    is_leaving: bool,
    /// Number of `resources/unsubscribe` requests in flight for this resource.
    ending: usize,
}

impl SubscribedResource {
    fn is_unused(&self) -> bool {
        self.readers.is_empty() && !self.is_leaving && self.ending == 0
    }
}

/// A subscription in the table.
pub(crate) struct TableEntry {
    pub(crate) key: u64,
    /// The URI. All subscriptions to the resource share its text.
    pub(crate) uri: Arc<str>,
    pub(crate) updates: mpsc::Receiver<Arc<str>>,
}

/// A guard for a resource from which the client is unsubscribing. Until the guard is dropped, new subscriptions to the resource
/// wait.
pub(crate) struct Unsubscribing {
    subscriptions: Arc<Subscriptions>,
    pub(crate) uri: Arc<str>,
}

impl Drop for Unsubscribing {
    fn drop(&mut self) {
        let mut table = lock(&self.subscriptions.table);
        if let Some(resource) = table.resources.get_mut(&self.uri) {
            resource.ending = resource.ending.saturating_sub(1);
            table.remove_unused(&self.uri);
        }
        drop(table);
        self.subscriptions.ended.notify_waiters();
    }
}

impl Table {
    fn remove_unused(&mut self, uri: &str) {
        let resource = self.resources.get(uri);
        if resource.is_some_and(SubscribedResource::is_unused) {
            self.resources.remove(uri);
        }
    }

    /// Removes and returns the oldest resource in the queue of resources to unsubscribe from.
    fn pop_unsubscribe(&mut self) -> Option<Arc<str>> {
        let uri = self.unsubscribe_queue.pop_front()?;
        self.unsubscribe_queue_bytes -= uri.len() + OVERHEAD_BYTES;
        if let Some(resource) = self.resources.get_mut(&uri) {
            resource.is_leaving = false;
            self.remove_unused(&uri);
        }
        Some(uri)
    }

    /// Drops the oldest entries until the queue is within its limit. The server keeps the subscriptions to these resources, which
    /// is harmless.
    fn forget(&mut self) {
        while self.unsubscribe_queue_bytes > MAX_UNSUBSCRIBE_QUEUE_BYTES
            && self.pop_unsubscribe().is_some()
        {
            if !std::mem::replace(&mut self.has_forgotten, true) {
                tracing::warn!(
                    "the server does not end subscriptions fast enough; it keeps some that the client no longer uses"
                );
            }
        }
    }

    /// Removes a subscription. Returns whether it was the last subscription of its resource.
    fn remove(&mut self, key: u64, uri: &str) -> bool {
        let Some(resource) = self.resources.get_mut(uri) else {
            return false;
        };
        let before = resource.readers.len();
        resource.readers.retain(|(other, _)| *other != key);
        let is_last = resource.readers.is_empty() && before > 0;
        self.remove_unused(uri);
        is_last
    }
}

impl Subscriptions {
    /// Adds a subscription to a resource, and returns its entry.
    pub(crate) fn add(&self, uri: Arc<str>) -> TableEntry {
        let (sender, updates) = mpsc::channel(MAX_QUEUED);
        let mut table = lock(&self.table);
        table.last += 1;
        let key = table.last;
        let known = table.resources.get_key_value(&uri);
        let uri = known.map_or(uri, |(known, _)| Arc::clone(known));
        let resource = table.resources.entry(Arc::clone(&uri)).or_default();
        resource.readers.push((key, sender));
        TableEntry { key, uri, updates }
    }

    /// Waits until no `resources/unsubscribe` for the resource is in flight, for at most [`MAX_ENDING_WAIT`]. Without this wait,
    /// the server could process `resources/unsubscribe` after a new `resources/subscribe`.
    pub(crate) async fn may_subscribe(&self, uri: &str) {
        let ended = async {
            loop {
                let mut ended = pin!(self.ended.notified());
                ended.as_mut().enable();
                if !self.is_ending(uri) {
                    return;
                }
                ended.await;
            }
        };
        // After this time, the earlier subscription counts as ended.
        let _ = timeout(MAX_ENDING_WAIT, ended).await;
    }

    fn is_ending(&self, uri: &str) -> bool {
        let table = lock(&self.table);
        let resource = table.resources.get(uri);
        resource.is_some_and(|resource| resource.ending > 0)
    }

    /// Returns whether the resource has subscriptions.
    pub(crate) fn is_used(&self, uri: &str) -> bool {
        let table = lock(&self.table);
        let resource = table.resources.get(uri);
        resource.is_some_and(|resource| !resource.readers.is_empty())
    }

    /// Removes a subscription.
    pub(crate) fn remove(&self, key: u64, uri: &str) {
        lock(&self.table).remove(key, uri);
    }

    /// Removes a subscription. If it was the last subscription of its resource, the caller must unsubscribe.
    pub(crate) fn unsubscribe(self: &Arc<Self>, key: u64, uri: &Arc<str>) -> Option<Unsubscribing> {
        let mut table = lock(&self.table);
        if !table.remove(key, uri) {
            return None;
        }
        Some(self.start_ending(&mut table, uri))
    }

    /// Removes a subscription. If it was the last subscription of its resource, adds the resource to the queue. Returns whether
    /// the caller must start another background task that unsubscribes from the resources in the queue.
    pub(crate) fn leave(&self, key: u64, uri: &Arc<str>) -> bool {
        let mut table = lock(&self.table);
        if !table.remove(key, uri) {
            return false;
        }
        let resource = table.resources.entry(Arc::clone(uri)).or_default();
        if std::mem::replace(&mut resource.is_leaving, true) {
            return false;
        }
        table.unsubscribe_queue_bytes += uri.len() + OVERHEAD_BYTES;
        table.unsubscribe_queue.push_back(Arc::clone(uri));
        table.forget();
        let needs_worker = table.workers < MAX_ENDING;
        table.workers += usize::from(needs_worker);
        needs_worker
    }

    /// Returns the next resource from which the calling background task must unsubscribe. Returns `None` if the background task
    /// must end.
    pub(crate) fn next_leaving(self: &Arc<Self>) -> Option<Unsubscribing> {
        let mut table = lock(&self.table);
        while let Some(uri) = table.pop_unsubscribe() {
            let resource = table.resources.get(&uri);
            if resource.is_none_or(|resource| resource.readers.is_empty()) {
                return Some(self.start_ending(&mut table, &uri));
            }
        }
        table.has_forgotten = false;
        table.workers = table.workers.saturating_sub(1);
        None
    }

    fn start_ending(self: &Arc<Self>, table: &mut Table, uri: &Arc<str>) -> Unsubscribing {
        let resource = table.resources.entry(Arc::clone(uri)).or_default();
        resource.ending += 1;
        Unsubscribing {
            subscriptions: Arc::clone(self),
            uri: Arc::clone(uri),
        }
    }

    /// Delivers an update of `uri` to the subscriptions of this resource and of the resources that contain it.
    pub(crate) fn updated(&self, uri: &str) {
        let uri: Arc<str> = uri.into();
        for (subscribed, resource) in &lock(&self.table).resources {
            if !covers(subscribed, &uri) {
                continue;
            }
            for (_, reader) in &resource.readers {
                if reader.try_send(Arc::clone(&uri)).is_err() {
                    tracing::trace!(?uri, "merged an update with unread updates");
                }
            }
        }
    }

    /// Ends all subscriptions to a resource.
    pub(crate) fn end(&self, uri: &str) {
        let mut table = lock(&self.table);
        if let Some(resource) = table.resources.get_mut(uri) {
            resource.readers.clear();
            table.remove_unused(uri);
        }
    }

    /// Ends all subscriptions, because the connection has ended.
    pub(crate) fn close(&self) {
        {
            let mut table = lock(&self.table);
            table.resources.clear();
            table.unsubscribe_queue.clear();
            table.unsubscribe_queue_bytes = 0;
        }
        self.ended.notify_waiters();
    }
}

/// Returns whether `uri` is the subscribed resource or a sub-resource of it.
pub(crate) fn covers(subscribed: &str, uri: &str) -> bool {
    uri.strip_prefix(subscribed).is_some_and(|rest| {
        rest.is_empty() || subscribed.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_queued_unsubscriptions_are_dropped_at_the_limit() {
        let subscriptions = Arc::<Subscriptions>::default();
        let mut left = Vec::new();
        for number in 0..5_000 {
            let uri: Arc<str> = format!("a:/{number}/{}", "x".repeat(1_024)).into();
            let entry = subscriptions.add(uri);
            subscriptions.leave(entry.key, &entry.uri);
            left.push(entry.uri);
        }
        {
            let table = lock(&subscriptions.table);
            assert!(table.unsubscribe_queue_bytes <= MAX_UNSUBSCRIBE_QUEUE_BYTES);
            assert_eq!(table.unsubscribe_queue.len(), table.resources.len());
            assert!(table.resources.contains_key(&left[4_999]));
            assert!(!table.resources.contains_key(&left[0]));
        }
        while subscriptions.next_leaving().is_some() {}
        let table = lock(&subscriptions.table);
        assert_eq!(
            (table.unsubscribe_queue_bytes, table.resources.len()),
            (0, 0)
        );
    }
}
