//! Sessions in Redis. Each session is a hash that contains the lease and the record. The key of the hash expires with the
//! session.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::BoxFuture;
use mcp_protocol::task::Timestamp;
use mcp_transport_http::{
    EndpointId, SessionId, SessionLease, SessionRecord, SessionStore, SessionStoreError,
    SessionStoreErrorKind,
};
use redis::{FromRedisValue, RedisError, Script, ScriptInvocation};

use crate::connection::Connection;

/// Maximum number of attempts to claim a session while other processes change it.
const MAX_CLAIMS: usize = 16;
/// The latest expiry with which Redis and its scripts can compute, in milliseconds since 1970.
const MAX_EXPIRY: u64 = 1 << 52;

/// A [`SessionStore`] in Redis, from [`RedisStore::session_store`](crate::RedisStore::session_store). Cloning returns another handle to the
/// same sessions.
///
/// While Redis cannot be reached, all operations fail with [`Unavailable`](SessionStoreErrorKind::Unavailable), and a server responds with
/// the status 503.
#[derive(Clone)]
pub struct RedisSessionStore {
    connection: Connection,
    scripts: Arc<Scripts>,
    prefix: Arc<str>,
}

struct Scripts {
    create: Script,
    load: Script,
    claim: Script,
    change: Script,
    update: Script,
}

/// The content of a session in Redis.
struct Loaded {
    lease: SessionLease,
    version: u64,
    record: Vec<u8>,
}

impl RedisSessionStore {
    pub(crate) fn new(connection: Connection, prefix: Arc<str>) -> Self {
        Self {
            connection,
            scripts: Arc::new(Scripts {
                create: Script::new(include_str!("create.lua")),
                load: Script::new(include_str!("load.lua")),
                claim: Script::new(include_str!("claim.lua")),
                change: Script::new(include_str!("change.lua")),
                update: Script::new(include_str!("update.lua")),
            }),
            prefix,
        }
    }

    /// Returns the Redis key of a session.
    fn key(&self, id: SessionId) -> Vec<u8> {
        let mut key = Vec::with_capacity(self.prefix.len() + 40);
        key.extend_from_slice(self.prefix.as_bytes());
        key.extend_from_slice(b"session:");
        key.extend_from_slice(id.as_bytes());
        key
    }

    async fn invoke<T: FromRedisValue>(
        &self,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, SessionStoreError> {
        let mut connection = self.connection.clone();
        script.invoke_async(&mut connection).await.map_err(failed)
    }

    async fn find(
        &self,
        id: SessionId,
        now: Timestamp,
    ) -> Result<Option<Loaded>, SessionStoreError> {
        type Row = ([u8; 16], u64, u64, Vec<u8>);
        let script = &self.scripts.load;
        let mut script = script.key(self.key(id));
        script.arg(now.as_millis()).arg(SessionRecord::MAX_BYTES);
        let row: Option<Row> = self.invoke(&script).await?;
        Ok(row.map(|(owner, fence, version, record)| Loaded {
            lease: SessionLease::new(id, EndpointId::from_bytes(owner), fence),
            version,
            record,
        }))
    }

    /// Runs a script that changes the session of `lease`. `add` adds further arguments for the script. Returns an error if
    /// `lease` is not the current lease of the session.
    async fn with_lease(
        &self,
        script: &Script,
        lease: SessionLease,
        now: Timestamp,
        add: impl FnOnce(&mut ScriptInvocation<'_>),
    ) -> Result<(), SessionStoreError> {
        let mut script = script.key(self.key(lease.session));
        script
            .arg(lease.owner.as_bytes())
            .arg(lease.fence)
            .arg(now.as_millis());
        add(&mut script);
        match self.invoke(&script).await? {
            true => Ok(()),
            false => Err(SessionStoreError::lease_lost()),
        }
    }
}

impl SessionStore for RedisSessionStore {
    fn create(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move {
            let script = &self.scripts.create;
            let mut script = script.key(self.key(lease.session));
            script
                .arg(lease.owner.as_bytes())
                .arg(lease.fence)
                .arg(record.encode()?)
                .arg(expiry(expires))
                .arg(now.as_millis());
            match self.invoke(&script).await? {
                true => Ok(()),
                false => Err(SessionStoreError::conflict()),
            }
        })
    }

    fn load(
        &self,
        id: SessionId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<SessionRecord>, SessionStoreError>> {
        Box::pin(async move {
            let found = self.find(id, now).await?;
            found
                .map(|found| SessionRecord::decode(&found.record))
                .transpose()
        })
    }

    fn claim(
        &self,
        id: SessionId,
        owner: EndpointId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<(SessionLease, SessionRecord)>, SessionStoreError>> {
        Box::pin(async move {
            for _ in 0..MAX_CLAIMS {
                let Some(found) = self.find(id, now).await? else {
                    return Ok(None);
                };
                // The lease of a record that cannot be read is not changed.
                let record = SessionRecord::decode(&found.record)?;
                let script = &self.scripts.claim;
                let mut script = script.key(self.key(id));
                script
                    .arg(found.lease.owner.as_bytes())
                    .arg(found.lease.fence)
                    .arg(found.version)
                    .arg(owner.as_bytes());
                if self.invoke(&script).await? {
                    return Ok(Some((found.lease.next(owner), record)));
                }
            }
            Err(SessionStoreError::new(
                SessionStoreErrorKind::Unavailable,
                format!(
                    "other processes changed the session during each of {MAX_CLAIMS} attempts to claim it"
                ),
            ))
        })
    }

    fn renew(
        &self,
        lease: SessionLease,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move {
            self.with_lease(&self.scripts.change, lease, now, |script| {
                script.arg(expiry(expires));
            })
            .await
        })
    }

    fn update(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move {
            let record = record.encode()?;
            self.with_lease(&self.scripts.update, lease, now, |script| {
                script.arg(expiry(expires)).arg(record);
            })
            .await
        })
    }

    fn remove(
        &self,
        lease: SessionLease,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move {
            self.with_lease(&self.scripts.change, lease, now, |_| {})
                .await
        })
    }
}

impl fmt::Debug for RedisSessionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisSessionStore")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

fn expiry(expires: Timestamp) -> u64 {
    expires.as_millis().min(MAX_EXPIRY)
}

/// Converts the error of a Redis command.
fn failed(error: RedisError) -> SessionStoreError {
    if error.code() == Some("OOM") {
        let message = "Redis has reached its maxmemory";
        return SessionStoreError::new(SessionStoreErrorKind::Full, message).with_source(error);
    }
    if error.code() == Some("TOOLARGE") {
        let message = format!("the stored session cannot be read: {error}");
        return SessionStoreError::new(SessionStoreErrorKind::Unreadable, message);
    }
    unavailable(error)
}

fn unavailable(error: RedisError) -> SessionStoreError {
    let message = format!("Redis is not available: {error}");
    SessionStoreError::new(SessionStoreErrorKind::Unavailable, message).with_source(error)
}
