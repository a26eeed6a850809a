//! The connection to a single Redis.

use std::sync::{Arc, Mutex};

use mcp_protocol::lock;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, RedisError, RedisResult};

/// A connection that is opened again after it was lost. Cloning returns another handle to the same connection.
///
/// The failure of a machine or of a firewall between can end a connection without a sign. The commands on it then time out, and the
/// operating system reports its end only after minutes. So after a timeout another connection is opened in the background. If Redis
/// responds there, it replaces this one.
#[derive(Clone)]
pub(crate) struct SingleConnection(Arc<Shared>);

struct Shared {
    client: Client,
    config: ConnectionManagerConfig,
    current: Mutex<ConnectionManager>,
    /// Held while another connection is being opened.
    opening: Arc<tokio::sync::Mutex<()>>,
}

impl SingleConnection {
    pub(crate) async fn open(client: Client, config: ConnectionManagerConfig) -> RedisResult<Self> {
        let first = ConnectionManager::new_with_config(client.clone(), config.clone()).await?;
        Ok(Self(Arc::new(Shared {
            client,
            config,
            current: Mutex::new(first),
            opening: Arc::default(),
        })))
    }

    pub(crate) fn current(&self) -> ConnectionManager {
        lock(&self.0.current).clone()
    }

    /// Runs a command.
    pub(crate) async fn run<T>(
        &self,
        command: impl AsyncFnOnce(&mut ConnectionManager) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let outcome = command(&mut self.current()).await;
        if outcome.as_ref().is_err_and(RedisError::is_timeout) {
            self.replace();
        }
        outcome
    }

    /// Opens another connection, unless one is being opened.
    fn replace(&self) {
        let Ok(opening) = Arc::clone(&self.0.opening).try_lock_owned() else {
            return;
        };
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            let _opening = opening;
            let (client, config) = (shared.client.clone(), shared.config.clone());
            match ConnectionManager::new_with_config(client, config).await {
                Ok(other) => {
                    tracing::warn!("a connection to Redis without responses was replaced");
                    *lock(&shared.current) = other;
                }
                Err(error) => tracing::debug!(%error, "Redis does not respond"),
            }
        });
    }
}
