//! The connection that the stores share.

use std::fmt;
use std::sync::Arc;

use redis::RedisError;

use crate::connection::{Connection, Connector, connect};
use crate::{RedisEventStore, RedisOptions, RedisSessionStore, RedisTaskStore};

/// A connection to Redis. The stores of a server are created from it. Cloning returns another handle to the same connection.
///
/// All operations use one connection; in a cluster, one connection for each node. A lost connection is opened again. Until then,
/// and if Redis does not respond in time, operations fail. Only events are queued, and the queue has a limit.
#[derive(Clone)]
pub struct RedisStore {
    connection: Connection,
    #[cfg_attr(
        not(feature = "changes"),
        expect(dead_code, reason = "opens the connection of the bus")
    )]
    connector: Connector,
    prefix: Arc<str>,
}

impl RedisStore {
    /// Connects with the default options. The URL is `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`,
    /// `rediss://` for TLS (feature `tls`), or `redis+unix:///PATH`.
    ///
    /// # Errors
    /// The errors of [`connect_with`](Self::connect_with).
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        Self::connect_with(url, RedisOptions::new()).await
    }

    /// Connects with these options.
    ///
    /// # Errors
    /// The URL is malformed or Redis cannot be reached.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn connect_with(url: &str, options: RedisOptions) -> Result<Self, ConnectError> {
        let connected = connect(url, &options).await;
        let (connection, connector) = connected.map_err(ConnectError)?;
        Ok(Self {
            connection,
            connector,
            prefix: options.prefix.into(),
        })
    }

    /// Returns a store of HTTP sessions, for
    /// [`ServerOptions::with_session_store`](mcp_transport_http::ServerOptions::with_session_store).
    pub fn session_store(&self) -> RedisSessionStore {
        RedisSessionStore::new(self.connection.clone(), Arc::clone(&self.prefix))
    }

    /// Returns a store of the events of HTTP streams, for
    /// [`ServerOptions::with_event_store`](mcp_transport_http::ServerOptions::with_event_store).
    ///
    /// # Panics
    /// Panics outside a tokio runtime, because the store spawns a background task. The task ends when the last handle of the
    /// store is dropped.
    pub fn event_store(&self) -> RedisEventStore {
        RedisEventStore::new(self.connection.clone(), Arc::clone(&self.prefix))
    }

    /// Returns a store of tasks, for `TaskOptions::with_store` of `mcp-server`.
    pub fn task_store(&self) -> RedisTaskStore {
        RedisTaskStore::new(self.connection.clone(), &self.prefix)
    }

    /// Returns a cache of used DPoP proofs, for [`Dpop::replay_cache`](mcp_auth::server::Dpop::replay_cache).
    #[cfg(feature = "dpop")]
    pub fn replay_cache(&self) -> crate::RedisReplayCache {
        crate::RedisReplayCache::new(self.connection.clone(), Arc::clone(&self.prefix))
    }

    /// Returns a bus for change notifications, for
    /// [`ServerBuilder::change_bus`](mcp_server::ServerBuilder::change_bus).
    ///
    /// # Panics
    /// Panics outside a tokio runtime, because the bus spawns a background task. The task ends when the last handle of the bus is
    /// dropped.
    #[cfg(feature = "changes")]
    pub fn change_bus(&self) -> crate::RedisChangeBus {
        let (connection, connector) = (self.connection.clone(), self.connector.clone());
        crate::RedisChangeBus::new(connection, connector, &self.prefix)
    }
}

impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStore")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

/// The reason why there is no connection to Redis. The text of the error does not contain the URL, because the URL may have a
/// password.
#[derive(Debug)]
pub struct ConnectError(RedisError);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot connect to Redis: {}", self.0)
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}
