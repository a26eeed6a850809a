//! Subscriptions that outlive the connection of their server.

use std::fmt;
use std::time::Duration;

use mcp_client::{Client, Subscription};
use tokio::sync::watch;
use tokio::time::timeout;

use super::SupervisedClient;
use super::state::ServerState;
use crate::error::HostError;

/// A change of a resource that a [`ResourceSubscription`] watches.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceChange {
    /// The server says that the resource with this URI has changed: the watched resource or a part of it.
    Updated(String),
    /// The server was connected again. The resource can have changed meanwhile, so read it again.
    Reconnected,
}

/// How long the end of a connection may follow the end of a subscription.
const MAX_CLOSING_WAIT: Duration = Duration::from_secs(1);

/// A stream of the changes of a resource, over all restarts of its server. Dropping it unsubscribes.
pub struct ResourceSubscription {
    server: SupervisedClient,
    uri: String,
    /// Changes when the connection of the server has ended or a new one is there.
    connection: watch::Receiver<Option<Client>>,
    /// The subscription and its client; `None` after the end.
    current: Option<(Subscription, Client)>,
}

impl SupervisedClient {
    /// Subscribes to a resource, after waiting for the server as [`client`](Self::client) does.
    ///
    /// # Errors
    /// As [`read_resource`](Self::read_resource). [`HostError::Call`] if the server refuses the subscription.
    pub async fn subscribe(
        &self,
        uri: impl Into<String>,
    ) -> Result<ResourceSubscription, HostError> {
        let uri = uri.into();
        let connection = self.0.published.client.subscribe();
        let item = self.resource_item(&uri);
        let subscribed = self.fetch(&item, async |client, _| {
            let subscription = client.subscribe(uri.as_str()).await?;
            Ok((subscription, client.clone()))
        });
        let subscribed = subscribed.await?;
        Ok(ResourceSubscription {
            current: Some(subscribed),
            server: self.clone(),
            uri,
            connection,
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

    /// Returns the next change. If the connection of the server ends, subscribes again on the next connection, and returns
    /// [`ResourceChange::Reconnected`]. Returns `None` when the server is off or has failed, or sends no more notifications for the
    /// resource.
    ///
    /// The host subscribes again only while this method waits, so call it until it returns `None`.
    ///
    /// # Cancel safety
    /// No change is lost.
    pub async fn next(&mut self) -> Option<ResourceChange> {
        let (subscription, client) = self.current.as_mut()?;
        if let Some(uri) = subscription.next().await {
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

    /// Subscribes on the next connection. The connection that has ended can still be the current one for a moment.
    async fn subscribe_again(&mut self) -> Option<(Subscription, Client)> {
        loop {
            self.connection.changed().await.ok()?;
            self.connection.borrow_and_update();
            let client = match self.server.client().await {
                Ok(client) => client,
                Err(HostError::Unavailable {
                    state: ServerState::Off | ServerState::Failed { .. },
                    ..
                }) => return None,
                Err(_) => {
                    // It is still starting, and is waited for again.
                    self.connection.mark_changed();
                    continue;
                }
            };
            match client.subscribe(self.uri.as_str()).await {
                Ok(subscription) => return Some((subscription, client)),
                Err(error) if error.is_closed() => {}
                Err(error) => {
                    tracing::warn!(%error, server = self.server(), uri = ?self.uri, "a resource cannot be watched again");
                    return None;
                }
            }
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
