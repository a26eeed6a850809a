//! Stores used DPoP proofs in Redis.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_auth::server::ReplayCache;
use mcp_protocol::BoxFuture;

use crate::connection::Connection;

/// A [`ReplayCache`] in Redis, from [`RedisStore::replay_cache`](crate::RedisStore::replay_cache). If one process of a server has
/// accepted a DPoP proof, all processes reject the proof in further requests of clients. A process can still forward the request
/// that it has accepted to another process. Cloning returns another handle to the same proofs.
///
/// Each proof is a key that expires. The Redis setting `maxmemory` limits the number of proofs. While Redis cannot be reached,
/// requests with proofs are rejected with 503.
#[derive(Clone)]
pub struct RedisReplayCache {
    connection: Connection,
    prefix: Arc<str>,
}

impl RedisReplayCache {
    pub(crate) fn new(connection: Connection, prefix: Arc<str>) -> Self {
        Self { connection, prefix }
    }

    fn key(&self, key: &str, id: &str) -> String {
        format!("{}proof:{key}:{id}", self.prefix)
    }
}

impl ReplayCache for RedisReplayCache {
    fn insert<'a>(
        &'a self,
        key: &'a str,
        id: &'a str,
        lifetime: Duration,
    ) -> BoxFuture<'a, Result<bool, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            let lifetime = u64::try_from(lifetime.as_millis())?;
            let mut command = redis::cmd("SET");
            command.arg(self.key(key, id));
            command.arg(1).arg("NX").arg("PX").arg(lifetime.max(1));
            let stored: Option<String> = command.query_async(&mut self.connection.clone()).await?;
            Ok(stored.is_some())
        })
    }

    fn remove<'a>(
        &'a self,
        key: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, Result<bool, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move {
            let mut command = redis::cmd("DEL");
            command.arg(self.key(key, id));
            let removed: u64 = command.query_async(&mut self.connection.clone()).await?;
            Ok(removed > 0)
        })
    }
}

impl fmt::Debug for RedisReplayCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisReplayCache")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
