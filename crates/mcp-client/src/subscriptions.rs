//! Change notifications: of resources, through [`Subscription`], and of the server's lists.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_types::{
    Request as _, SubscribeRequest, SubscribeRequestParams, UnsubscribeRequest,
    UnsubscribeRequestParams, method,
};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use crate::Error;
use crate::call::Call;
use crate::changes::streams::StreamResource;
use crate::changes::table::{MAX_ENDING_WAIT, Subscriptions, TableEntry, Unsubscribing};
use crate::changes::wanted::ListenError;
use crate::request::within_idle;
use crate::shared::Shared;

/// Maximum number of attempts to send `resources/unsubscribe`.
const MAX_ATTEMPTS: u32 = 120;
/// Delay between two attempts to send `resources/unsubscribe`.
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// A subscription to a resource: a stream of its changes. Dropping it unsubscribes.
pub struct Subscription {
    shared: Arc<Shared>,
    uri: Arc<str>,
    key: u64,
    updates: mpsc::Receiver<Arc<str>>,
    table: Arc<Subscriptions>,
    /// The resource's entry on a change notification stream; only on the stateless revision.
    on_stream: Option<StreamResource>,
    /// Whether the client has sent `resources/subscribe`, so that it must unsubscribe when the subscription is dropped.
    is_requested: bool,
}

impl Subscription {
    /// Subscribes to a resource. In a session, sends `resources/subscribe`. On the stateless revision, adds the resource to a
    /// stream that several resources share.
    pub(crate) async fn open(shared: &Arc<Shared>, uri: Arc<str>) -> Result<Self, Error> {
        shared.offers(SubscribeRequest::METHOD)?;
        // Registered first, because an update may follow the response immediately.
        let mut subscription = Self::register(shared, uri);
        let agreed = match shared.rules().stateless {
            true => subscription.listen().await,
            false => subscription.request().await,
        };
        if agreed.is_err() {
            subscription.is_requested = false;
        }
        agreed.map(|()| subscription)
    }

    async fn request(&mut self) -> Result<(), Error> {
        self.table.may_subscribe(&self.uri).await;
        self.is_requested = true;
        let params = SubscribeRequestParams::new(&*self.uri);
        let subscribed = Call::<SubscribeRequest>::new(&self.shared, &params).await;
        subscribed.map(|_| ())
    }

    /// Adds the resource to a stream and waits until the server acknowledges it.
    async fn listen(&mut self) -> Result<(), Error> {
        let shared = &self.shared;
        let failed = |error| match error {
            ListenError::Rejected(error) => Error::Rejected(error),
            ListenError::Ended(reason) => Error::NotSubscribed {
                uri: self.uri.to_string(),
                reason,
            },
        };
        let wanted = shared.inbound.listener.want_resource(&self.uri, shared);
        let resource = wanted.map_err(failed)?;
        let watched = resource.wait_watched();
        let watched = within_idle(method::SUBSCRIPTIONS_LISTEN, shared.timeouts.idle, watched);
        watched.await?.map_err(failed)?;
        self.on_stream = Some(resource);
        Ok(())
    }

    fn register(shared: &Arc<Shared>, uri: Arc<str>) -> Self {
        let table = Arc::clone(shared.inbound.subscriptions());
        let TableEntry { key, uri, updates } = table.add(uri);
        Self {
            shared: Arc::clone(shared),
            uri,
            key,
            updates,
            table,
            on_stream: None,
            is_requested: false,
        }
    }

    /// Returns the URI of the subscribed resource.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the URI of the next resource that changed: the subscribed resource or a part of it.
    /// Returns `None` once the connection has ended, or the server sends no more notifications for the
    /// resource.
    ///
    /// # Cancel safety
    /// No update is lost.
    pub async fn next(&mut self) -> Option<String> {
        Some(self.updates.recv().await?.to_string())
    }

    /// Ends the subscription and waits for the response of the server.
    ///
    /// # Errors
    /// The errors of any call.
    pub async fn unsubscribe(mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.is_requested)
            && let Some(resource) = self.table.unsubscribe(self.key, &self.uri)
        {
            unsubscribe(&self.shared, &resource).await?;
        }
        Ok(())
    }
}

/// Sends `resources/unsubscribe`.
async fn unsubscribe(shared: &Arc<Shared>, resource: &Unsubscribing) -> Result<(), Error> {
    let params = UnsubscribeRequestParams::new(&*resource.uri);
    Call::<UnsubscribeRequest>::new(shared, &params).await?;
    Ok(())
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Handle::try_current();
        let (true, Ok(runtime)) = (self.is_requested, runtime) else {
            self.table.remove(self.key, &self.uri);
            return;
        };
        if self.table.leave(self.key, &self.uri) {
            let shared = Arc::downgrade(&self.shared);
            runtime.spawn(unsubscribe_queued(shared, Arc::clone(&self.table)));
        }
    }
}

/// Unsubscribes from the resources in the queue, one after another. These resources have no subscriptions.
async fn unsubscribe_queued(shared: Weak<Shared>, table: Arc<Subscriptions>) {
    while let Some(resource) = table.next_leaving() {
        for _ in 0..MAX_ATTEMPTS {
            let Some(shared) = shared.upgrade() else {
                // The connection ends with the last handle.
                break;
            };
            let ended = timeout(MAX_ENDING_WAIT, unsubscribe(&shared, &resource)).await;
            drop(shared);
            match ended {
                Ok(Ok(())) => break,
                Ok(Err(error)) if is_unsent(&error) => sleep(RETRY_DELAY).await,
                Ok(Err(error)) => {
                    tracing::debug!(%error, uri = ?resource.uri, "could not unsubscribe");
                    break;
                }
                Err(_) => {
                    tracing::debug!(uri = ?resource.uri, "could not unsubscribe in time");
                    break;
                }
            }
            // Another attempt would end a new subscription.
            if table.is_used(&resource.uri) {
                break;
            }
        }
    }
}

/// Returns whether the error means that a request was not sent, because too many requests are in flight or the server could not
/// be reached. Here, [`Error::Invalid`] means that too many requests are in flight, because the params are always valid.
fn is_unsent(error: &Error) -> bool {
    match error {
        Error::Transport(error) => error.is_temporary(),
        Error::Invalid { .. } => true,
        _ => false,
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Subscription").field(&self.uri).finish()
    }
}
