//! Subscriptions that continue after the connection of their server has ended.

use std::fmt;
use std::time::Duration;

use mcp_client::{Client, Subscription};
use tokio::time::{sleep, timeout};

use crate::error::HostError;
use crate::supervise::{ServerState, SupervisedClient};

/// A change of a resource that a [`ResourceSubscription`] watches.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceChange {
    /// The server has sent an update for this URI: the watched resource, or a part of it, has changed.
    Updated(String),
    /// The server was connected again. The resource can have changed in the meantime, so read it again.
    Reconnected,
}

/// Maximum time between the end of a subscription and the end of its connection.
const MAX_CLOSING_WAIT: Duration = Duration::from_secs(1);

/// Maximum number of retries after the server refuses a subscription on a new connection.
const MAX_REFUSALS: u32 = 5;
/// Delay before each retry after a refused subscription.
const REFUSAL_PAUSE: Duration = Duration::from_secs(1);

/// A stream of the changes of a resource. It continues over restarts of the server. Dropping the stream unsubscribes.
pub struct ResourceSubscription {
    server: SupervisedClient,
    uri: String,
    /// The current subscription and its client; `None` after its connection has ended.
    current: Option<(Subscription, Client)>,
}

impl SupervisedClient {
    /// Subscribes to a resource. Waits for the server in the same way as [`client`](Self::client).
    ///
    /// # Errors
    /// The errors of [`read_resource`](Self::read_resource), and [`HostError::Call`] if the server refuses the subscription.
    pub async fn subscribe(
        &self,
        uri: impl Into<String>,
    ) -> Result<ResourceSubscription, HostError> {
        let uri = uri.into();
        let item = self.resource_item(&uri).await?;
        let subscribed = self.fetch(&item, |client, _| {
            let uri = uri.clone();
            async move {
                let subscription = client.subscribe(uri.as_str()).await?;
                Ok::<_, mcp_client::Error>((subscription, client))
            }
        });
        let subscribed = subscribed.await?;
        Ok(ResourceSubscription {
            current: Some(subscribed),
            server: self.clone(),
            uri,
        })
    }
}

impl ResourceSubscription {
    /// Returns the URI of the watched resource.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the name of the server.
    pub fn server(&self) -> &str {
        self.server.name()
    }

    /// Returns the next change. If the connection to the server ends, subscribes again on the next connection, and returns
    /// [`ResourceChange::Reconnected`]. Returns `None` if the server is off or has failed, or if it sends no more notifications
    /// for the resource.
    ///
    /// The host subscribes again only while this method waits, so call it until it returns `None`.
    ///
    /// # Cancel safety
    /// No change is lost.
    pub async fn next(&mut self) -> Option<ResourceChange> {
        let (subscription, client) = self.current.as_mut()?;
        if let Some(uri) = subscription.next().await {
            if let Some(permission) = &self.server.0.permission {
                permission.received();
            }
            return Some(ResourceChange::Updated(uri));
        }
        let subscribed = match timeout(MAX_CLOSING_WAIT, client.closed()).await {
            Ok(_) => self.subscribe_again().await,
            Err(_) => None,
        };
        if subscribed.is_none() {
            tracing::debug!(server = self.server(), uri = ?self.uri, "a resource is not watched any more");
        }
        self.current = subscribed;
        self.current
            .is_some()
            .then_some(ResourceChange::Reconnected)
    }

    /// Subscribes on the next connection. If the future is dropped, a later call continues.
    async fn subscribe_again(&self) -> Option<(Subscription, Client)> {
        let is_down =
            |state: &ServerState| matches!(state, ServerState::Off | ServerState::Failed { .. });
        let mut refusals = 0;
        loop {
            let mut connection = self.server.0.published.client.subscribe();
            let state = self
                .server
                .wait_for(|state| state.is_connected() || is_down(state));
            if is_down(&state.await) {
                return None;
            }
            if let Ok(client) = self.server.client().await {
                match client.subscribe(self.uri.as_str()).await {
                    Ok(subscription) => return Some((subscription, client)),
                    Err(error) if error.is_closed() => {}
                    Err(_) if refusals < MAX_REFUSALS => {
                        // A server that has just started may not know the resource yet.
                        refusals += 1;
                        sleep(REFUSAL_PAUSE).await;
                        continue;
                    }
                    Err(error) => {
                        tracing::warn!(%error, server = self.server(), uri = ?self.uri, "a resource cannot be watched again");
                        return None;
                    }
                }
            }
            // The connection that has ended can still be the current one for a moment.
            connection.changed().await.ok()?;
        }
    }
}

impl fmt::Debug for ResourceSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceSubscription")
            .field("server", &self.server.name())
            .field("uri", &self.uri)
            .finish_non_exhaustive()
    }
}
