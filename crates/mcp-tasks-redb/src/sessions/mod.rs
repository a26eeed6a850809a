//! Sessions in the file of a task store.

pub(crate) mod job;
pub(crate) mod tables;

use std::fmt;
use std::sync::Arc;

use mcp_protocol::BoxFuture;
use mcp_protocol::task::Timestamp;
use mcp_transport_http::{
    EndpointId, SessionId, SessionLease, SessionRecord, SessionStore, SessionStoreError,
};

use crate::job::Job;
use crate::thread::StoreThread;
use job::{SessionOperation, SessionResult, unavailable};

/// The sessions of HTTP endpoints, in the file of a [`RedbTaskStore`](crate::RedbTaskStore). They
/// survive a restart of the process.
///
/// A completed operation is on the disk. The check of a lease before each request reads the file and
/// does not wait for the disk, unless it moves the expiry. The file stays open as long as a store of
/// it exists.
pub struct RedbSessions {
    thread: Arc<StoreThread>,
}

impl RedbSessions {
    pub(crate) fn new(thread: Arc<StoreThread>) -> Self {
        Self { thread }
    }

    async fn run(&self, operation: SessionOperation) -> SessionResult {
        let done = self
            .thread
            .send(|reply| Job::Session((operation, reply)))
            .await;
        done.unwrap_or_else(|reason| Err(unavailable(reason)))
    }
}

impl SessionStore for RedbSessions {
    fn create(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move {
            let record = record.encode()?;
            self.run(SessionOperation::Create(lease, record, expires, now))
                .await
                .map(drop)
        })
    }

    fn load(
        &self,
        id: SessionId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<SessionRecord>, SessionStoreError>> {
        Box::pin(async move {
            let found = self.run(SessionOperation::Load(id, now)).await?;
            Ok(found.map(|(_, record)| record))
        })
    }

    fn claim(
        &self,
        id: SessionId,
        owner: EndpointId,
        now: Timestamp,
    ) -> BoxFuture<'_, SessionResult> {
        Box::pin(self.run(SessionOperation::Claim(id, owner, now)))
    }

    fn renew(
        &self,
        lease: SessionLease,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move {
            self.run(SessionOperation::Renew(lease, expires, now))
                .await
                .map(drop)
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
            self.run(SessionOperation::Update(lease, record, expires, now))
                .await
                .map(drop)
        })
    }

    fn remove(
        &self,
        lease: SessionLease,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move {
            self.run(SessionOperation::Remove(lease, now))
                .await
                .map(drop)
        })
    }
}

impl fmt::Debug for RedbSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbSessions")
            .field("path", &self.thread.path())
            .finish_non_exhaustive()
    }
}
