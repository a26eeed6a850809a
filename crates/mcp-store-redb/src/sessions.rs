//! Stores sessions of HTTP endpoints in the file.

use std::fmt;
use std::sync::Arc;

use mcp_protocol::BoxFuture;
use mcp_protocol::task::Timestamp;
use mcp_transport_http::{
    EndpointId, SessionId, SessionLease, SessionRecord, SessionStore, SessionStoreError,
};

use crate::job::Job;
use crate::job::session::{SessionOperation, SessionResult, unavailable};
use crate::thread::StoreThread;

/// A [`SessionStore`] in the file of a [`RedbStore`](crate::RedbStore). Sessions survive a restart of the process.
///
/// An operation completes after its change is synced to disk. If a renewal does not change the expiry, nothing is written.
#[derive(Clone)]
pub struct RedbSessionStore {
    thread: Arc<StoreThread>,
}

impl RedbSessionStore {
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

impl SessionStore for RedbSessionStore {
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

impl fmt::Debug for RedbSessionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbSessionStore")
            .field("path", &self.thread.path())
            .finish_non_exhaustive()
    }
}
