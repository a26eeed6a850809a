//! Subscriptions to resources, as streams.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use mcp_types::{
    Request as _, SubscribeRequest, SubscribeRequestParams, UnsubscribeRequest,
    UnsubscribeRequestParams,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::listen::Failure;
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
pub(crate) fn covers(subscribed: &str, uri: &str) -> bool {
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
    /// Subscribes: by a request of its own, or by a stream for all subscriptions.
    pub(crate) async fn to(client: &Client, uri: String) -> Result<Self, Error> {
        client.shared().offers(SubscribeRequest::METHOD)?;
        // Registered first: an update may come right behind the answer.
        let subscription = Self::open(client, uri.clone());
        let agreed = if client.shared().rules().stateless {
            subscription.listen().await
        } else {
            let params = SubscribeRequestParams::new(uri);
            client
                .request::<SubscribeRequest>(&params)
                .await
                .map(|_| ())
        };
        match agreed {
            Ok(()) => Ok(subscription),
            Err(error) => {
                // The server refused it: there is nothing to end.
                subscription.forget();
                Err(error)
            }
        }
    }

    /// Has the stream ask for this resource too, and waits until the server says that it tells.
    async fn listen(&self) -> Result<(), Error> {
        let shared = self.client.shared();
        let listener = &shared.inbound.listener;
        let number = listener.want(&self.uri);
        listener.start(shared);
        let limit = shared.timeouts.idle;
        let settled = timeout(limit, listener.settled(number)).await;
        let honoured = match settled {
            Ok(Ok(honoured)) => honoured,
            Ok(Err(Failure::Refused(error))) => return Err(Error::Rejected(error)),
            Ok(Err(Failure::Ended(reason))) => {
                return Err(Error::NotHeard {
                    uri: self.uri.clone(),
                    reason,
                });
            }
            Err(_) => {
                return Err(Error::Timeout {
                    method: mcp_types::method::SUBSCRIPTIONS_LISTEN,
                    setting: "idle",
                    after: limit,
                });
            }
        };
        let told = honoured.resource_subscriptions.unwrap_or_default();
        if told.contains(&self.uri) {
            return Ok(());
        }
        Err(Error::NotHeard {
            uri: self.uri.clone(),
            reason: "the server does not tell of it".to_owned(),
        })
    }

    fn open(client: &Client, uri: String) -> Self {
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

    /// Takes it off the table; whether the server has to be told, because it was the last for its
    /// resource. Where there are no sessions, the stream follows by itself.
    fn forget(&self) -> bool {
        let shared = self.client.shared();
        let mut open = lock(&self.table.open);
        if open.remove(&self.key).is_none() {
            return false;
        }
        let is_last = !open.values().any(|(uri, _)| *uri == self.uri);
        drop(open);
        if shared.rules().stateless {
            shared.inbound.listener.unwant(&self.uri);
            return false;
        }
        is_last
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if !self.forget() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let params = UnsubscribeRequestParams::new(&self.uri);
        let call = self.client.request::<UnsubscribeRequest>(&params);
        runtime.spawn(async move {
            if let Err(error) = call.await {
                tracing::debug!(%error, "could not unsubscribe");
            }
        });
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.uri).finish()
    }
}
