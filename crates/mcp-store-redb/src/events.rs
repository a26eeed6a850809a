//! Stores events of HTTP streams in the file.

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use bytes::Bytes;
use mcp_protocol::BoxFuture;
use mcp_transport_http::{Durability, EventStore, EventStoreError, Replay, SessionId, StreamKey};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::job::Job;
use crate::job::event::EventJob;
use crate::thread::StoreThread;

/// An [`EventStore`] in the file of a [`RedbStore`](crate::RedbStore).
///
/// The server sends an event to its client after the event is synced to disk. A client can therefore always resume after its last
/// event, even after a restart of the server. Events that arrive while the file is being synced share the next transaction. If an
/// event cannot be stored, the failure is logged, and the client still receives the event. A later replay that would include this
/// event returns [`Replay::Gone`].
///
/// If a new event would exceed the limit of its session or of the whole file, the session loses its own oldest events. Other
/// sessions lose no events. After a restart, the limit of a session counts only its new events. Its earlier events are kept until
/// they expire.
///
/// The limits are part of [`RedbOptions`](crate::RedbOptions).
#[derive(Clone)]
pub struct RedbEventStore {
    thread: Arc<StoreThread>,
}

impl RedbEventStore {
    pub(crate) fn new(thread: Arc<StoreThread>) -> Self {
        Self { thread }
    }

    /// Queues the removal of events. If the queue is full, the events expire instead.
    fn remove(&self, job: EventJob) {
        if !self.thread.push_event(job) {
            tracing::debug!("stored events were left to expire, because the store is too slow");
        }
    }
}

impl EventStore for RedbEventStore {
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability {
        let (stored, receiver) = oneshot::channel();
        let append = EventJob::Append {
            key,
            sequence,
            event,
            at: self.thread.events().time(Instant::now()),
            stored,
        };
        Durability::Pending(if self.thread.push_event(append) {
            let path = self.thread.path().to_owned();
            Box::pin(async move {
                let gone = |_| EventStoreError::new(crate::thread::ended(&path));
                receiver.await.map_err(gone)?.map_err(EventStoreError::new)
            })
        } else {
            let full = self.thread.events().full();
            let path = self.thread.path().display();
            Box::pin(ready(Err(EventStoreError::new(format!("{path}: {full}")))))
        })
    }

    fn replay(
        &self,
        key: StreamKey,
        after: u64,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Replay, EventStoreError>> {
        Box::pin(async move {
            let replay = self.thread.send(|found| Job::Replay {
                key,
                after,
                bytes,
                found,
            });
            let found = replay.await.and_then(|found| found);
            found.map_err(EventStoreError::new)
        })
    }

    /// Returns `true`, because events outlive the process.
    fn is_shared(&self) -> bool {
        true
    }

    fn forget_stream(&self, key: StreamKey) {
        self.remove(EventJob::ForgetStream(key));
    }

    fn forget_session(&self, session: SessionId) {
        self.remove(EventJob::ForgetSession(session));
    }

    fn expire(&self, now: Instant) {
        self.remove(EventJob::Expire(self.thread.events().time(now)));
    }
}

impl fmt::Debug for RedbEventStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedbEventStore")
            .field("path", &self.thread.path())
            .finish_non_exhaustive()
    }
}
