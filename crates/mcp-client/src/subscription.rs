//! Subscriptions to resources, as streams.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use mcp_types::{UnsubscribeRequest, UnsubscribeRequestParams};
use tokio::sync::mpsc;

use crate::{Client, Error, lock};

/// Updates that wait for a reader; more are merged, as each says the same: read it again.
const QUEUE: usize = 64;

/// The open subscriptions of a client.
#[derive(Default)]
pub(crate) struct Subscriptions {
    open: Mutex<HashMap<u64, (String, mpsc::Sender<String>)>>,
    next: std::sync::atomic::AtomicU64,
}

impl Subscriptions {
    /// Hands an update to whoever subscribed to the resource, or to one it is a part of.
    pub(crate) fn updated(&self, uri: &str) {
        for (subscribed, sender) in lock(&self.open).values() {
            if covers(subscribed, uri) && sender.try_send(uri.to_owned()).is_err() {
                tracing::trace!(uri, "merged an update nobody has read yet");
            }
        }
    }

    pub(crate) fn close(&self) {
        lock(&self.open).clear();
    }
}

/// Whether a resource is the one subscribed to, or a part of it.
fn covers(subscribed: &str, uri: &str) -> bool {
    uri.strip_prefix(subscribed).is_some_and(|rest| {
        rest.is_empty() || subscribed.ends_with('/') || rest.starts_with(['/', '?', '#'])
    })
}

/// Tells when a resource changed. Dropping it unsubscribes.
pub struct Subscription {
    client: Client,
    uri: String,
    key: u64,
    updates: mpsc::Receiver<String>,
    table: Arc<Subscriptions>,
}

impl Subscription {
    pub(crate) fn open(client: &Client, uri: String) -> Self {
        let table = Arc::clone(client.shared().inbound.subscriptions());
        let (sender, updates) = mpsc::channel(QUEUE);
        let key = table
            .next
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        lock(&table.open).insert(key, (uri.clone(), sender));
        Self {
            client: client.clone(),
            uri,
            key,
            updates,
            table,
        }
    }

    /// What was subscribed to.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The URI of the next resource that changed: the one subscribed to or a part of it. `None`
    /// once the connection has ended.
    ///
    /// # Cancel safety
    /// No update is lost.
    pub async fn next(&mut self) -> Option<String> {
        self.updates.recv().await
    }

    /// Ends the subscription and waits until the server knows.
    ///
    /// # Errors
    /// As any call.
    pub async fn unsubscribe(self) -> Result<(), Error> {
        if self.forget() {
            let params = UnsubscribeRequestParams::new(&self.uri);
            self.client.request::<UnsubscribeRequest>(&params).await?;
        }
        Ok(())
    }

    /// Forgets a subscription that the server refused: there is nothing to end.
    pub(crate) fn abandon(self) {
        self.forget();
    }

    /// Takes it off the table; whether it was the last for its resource.
    fn forget(&self) -> bool {
        let mut open = lock(&self.table.open);
        open.remove(&self.key).is_some() && !open.values().any(|(uri, _)| *uri == self.uri)
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            self.forget();
            return;
        };
        if self.forget() {
            let params = UnsubscribeRequestParams::new(&self.uri);
            let call = self.client.request::<UnsubscribeRequest>(&params);
            runtime.spawn(async move {
                if let Err(error) = call.await {
                    tracing::debug!(%error, "could not unsubscribe");
                }
            });
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.uri).finish()
    }
}
