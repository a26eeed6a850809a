//! Change notifications: of resources by [`Subscription`], and of the lists of the server.

use std::fmt;
use std::sync::Arc;

use mcp_types::{
    Request as _, SubscribeRequest, SubscribeRequestParams, UnsubscribeRequest,
    UnsubscribeRequestParams, method,
};
use tokio::sync::mpsc;

use crate::Error;
use crate::call::Call;
use crate::changes::listener::ListenError;
use crate::changes::table::Subscriptions;
use crate::request::within_idle;
use crate::shared::Shared;

/// A subscription to a resource: a stream of its changes. Dropping it unsubscribes.
pub struct Subscription {
    shared: Arc<Shared>,
    uri: String,
    key: u64,
    updates: mpsc::Receiver<String>,
    table: Arc<Subscriptions>,
}

impl Subscription {
    /// Subscribes: with `resources/subscribe` in a session, with the common stream on the stateless
    /// revision.
    pub(crate) async fn open(shared: &Arc<Shared>, uri: String) -> Result<Self, Error> {
        shared.offers(SubscribeRequest::METHOD)?;
        // Registered first, because an update may follow the response immediately.
        let subscription = Self::register(shared, uri.clone());
        let agreed = if shared.rules().stateless {
            subscription.listen().await
        } else {
            let params = SubscribeRequestParams::new(uri);
            let subscribed = Call::<SubscribeRequest>::new(shared, &params).await;
            subscribed.map(|_| ())
        };
        match agreed {
            Ok(()) => Ok(subscription),
            Err(error) => {
                subscription.remove();
                Err(error)
            }
        }
    }

    /// Adds the resource to the common stream and waits until the server acknowledges it.
    async fn listen(&self) -> Result<(), Error> {
        let shared = &self.shared;
        let listener = &shared.inbound.listener;
        let number = listener.want_resource(&self.uri);
        listener.start(shared);
        let not_subscribed = |reason| Error::NotSubscribed {
            uri: self.uri.clone(),
            reason,
        };
        let settled = listener.wait_settled(number);
        let settled = within_idle(method::SUBSCRIPTIONS_LISTEN, shared.timeouts.idle, settled);
        let honoured = settled.await?.map_err(|error| match error {
            ListenError::Rejected(error) => Error::Rejected(error),
            ListenError::Ended(reason) => not_subscribed(reason),
        })?;
        let honoured = honoured.resource_subscriptions.unwrap_or_default();
        if honoured.contains(&self.uri) {
            return Ok(());
        }
        let reason = "the server does not send notifications for it";
        Err(not_subscribed(reason.to_owned()))
    }

    fn register(shared: &Arc<Shared>, uri: String) -> Self {
        let table = Arc::clone(shared.inbound.subscriptions());
        let (key, updates) = table.add(&uri);
        Self {
            shared: Arc::clone(shared),
            uri,
            key,
            updates,
            table,
        }
    }

    /// Returns the URI of the subscribed resource.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the URI of the next resource that changed: the subscribed resource or a part of it.
    /// Returns `None` once the connection has ended.
    ///
    /// # Cancel safety
    /// No update is lost.
    pub async fn next(&mut self) -> Option<String> {
        self.updates.recv().await
    }

    /// Ends the subscription and waits for the response of the server.
    ///
    /// # Errors
    /// The errors of any call.
    pub async fn unsubscribe(self) -> Result<(), Error> {
        if self.remove() {
            let params = UnsubscribeRequestParams::new(&self.uri);
            Call::<UnsubscribeRequest>::new(&self.shared, &params).await?;
        }
        Ok(())
    }

    /// Removes the subscription from the table. Returns whether `resources/unsubscribe` must be
    /// sent, because this was the last subscription to the resource. On the stateless revision the
    /// common stream is updated instead.
    fn remove(&self) -> bool {
        let shared = &self.shared;
        let Some(is_last) = self.table.remove(self.key, &self.uri) else {
            return false;
        };
        if shared.rules().stateless {
            shared.inbound.listener.drop_resource(&self.uri);
            return false;
        }
        is_last
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if !self.remove() {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else {
            return;
        };
        let params = UnsubscribeRequestParams::new(&self.uri);
        let call = Call::<UnsubscribeRequest>::new(&self.shared, &params);
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
