//! Events in Redis. Each stream of a session is a Redis stream, whose entries have the sequence numbers of the events.

use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use mcp_protocol::BoxFuture;
use mcp_transport_http::{Durability, EventStore, EventStoreError, Replay, SessionId, StreamKey};
use redis::streams::StreamRangeReply;
use redis::{Pipeline, RedisError, RedisResult, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::connection::Connection;

/// Maximum number of operations that wait for Redis.
const MAX_QUEUED: usize = 16_384;
/// Maximum number of operations in one round trip.
const MAX_BATCH: usize = 256;

/// An [`EventStore`] in Redis, from [`RedisStore::event_store`](crate::RedisStore::event_store). Cloning returns another
/// handle to the same store.
///
/// An event is sent to its client after Redis has stored it, so that any endpoint can replay from it. If Redis cannot
/// store an event, the failure is logged and the event is sent without being stored; a later replay from before it returns
/// [`Replay::Gone`].
///
/// The events of a stream expire together, a retention time after its last event. When a session ends, the events of its
/// standalone stream are removed at once; its other events expire.
#[derive(Clone)]
pub struct RedisEventStore {
    operations: mpsc::Sender<Operation>,
    /// The bytes of the events that wait for Redis.
    queued: Arc<AtomicUsize>,
    prefix: Arc<str>,
    limits: Limits,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    retention: Duration,
    stream_events: usize,
    event_bytes: usize,
    queued_bytes: usize,
}

type Stored<T> = oneshot::Sender<Result<T, EventStoreError>>;

enum Operation {
    Append {
        key: Vec<u8>,
        sequence: u64,
        event: Bytes,
        limits: Limits,
        stored: Stored<()>,
    },
    Replay {
        key: Vec<u8>,
        after: u64,
        found: Stored<Replay>,
    },
    Forget(Vec<u8>),
}

impl RedisEventStore {
    pub(crate) fn new(connection: Connection, prefix: Arc<str>) -> Self {
        let (operations, receiver) = mpsc::channel(MAX_QUEUED);
        let queued = Arc::new(AtomicUsize::new(0));
        tokio::spawn(run(connection, receiver, Arc::clone(&queued)));
        Self {
            operations,
            queued,
            prefix,
            limits: Limits {
                retention: Duration::from_secs(5 * 60),
                stream_events: 1_000,
                event_bytes: 1 << 20,
                queued_bytes: 64 << 20,
            },
        }
    }

    /// Sets how long the events of a stream are kept after its last one. Default 5 minutes.
    #[must_use]
    pub fn with_retention(mut self, retention: Duration) -> Self {
        self.limits.retention = retention;
        self
    }

    /// Sets the number of events of a stream that are kept; the oldest are removed first. Default 1,000. Redis may keep up to a hundred more.
    #[must_use]
    pub fn with_max_stream_events(mut self, events: usize) -> Self {
        self.limits.stream_events = events;
        self
    }

    /// Sets the maximum size of a stored event, in bytes. Default 1 MiB. A larger event is sent, but cannot be replayed.
    #[must_use]
    pub fn with_max_event_bytes(mut self, bytes: usize) -> Self {
        self.limits.event_bytes = bytes;
        self
    }

    /// Sets the maximum size of the events that wait for Redis, in bytes. Default 64 MiB. Further events are not stored.
    #[must_use]
    pub fn with_max_queued_bytes(mut self, bytes: usize) -> Self {
        self.limits.queued_bytes = bytes;
        self
    }

    fn key(&self, key: StreamKey) -> Vec<u8> {
        let stream = key.stream.to_be_bytes();
        [
            self.prefix.as_bytes(),
            b"events:",
            key.session.as_bytes(),
            &stream,
        ]
        .concat()
    }

    fn append_now(
        &self,
        key: StreamKey,
        sequence: u64,
        event: Bytes,
    ) -> Result<oneshot::Receiver<Result<(), EventStoreError>>, EventStoreError> {
        let length = event.len();
        if length > self.limits.event_bytes {
            return Err(EventStoreError::new(format!(
                "an event has {length} bytes, more than the {} of RedisEventStore::with_max_event_bytes",
                self.limits.event_bytes
            )));
        }
        let queued = self.queued.fetch_add(length, Ordering::AcqRel) + length;
        let (stored, receiver) = oneshot::channel();
        let append = Operation::Append {
            key: self.key(key),
            sequence,
            event,
            limits: self.limits,
            stored,
        };
        if queued <= self.limits.queued_bytes && self.operations.try_send(append).is_ok() {
            return Ok(receiver);
        }
        self.queued.fetch_sub(length, Ordering::AcqRel);
        Err(EventStoreError::new(format!(
            "Redis is too slow: {MAX_QUEUED} operations, or {} bytes of events \
             (RedisEventStore::with_max_queued_bytes), are waiting",
            self.limits.queued_bytes
        )))
    }

    /// Removes a stream. If too many operations wait, it expires instead.
    fn forget(&self, key: StreamKey) {
        if self
            .operations
            .try_send(Operation::Forget(self.key(key)))
            .is_err()
        {
            tracing::debug!("the events of a stream were left to expire");
        }
    }
}

impl EventStore for RedisEventStore {
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability {
        Durability::Pending(match self.append_now(key, sequence, event) {
            Ok(stored) => Box::pin(async move { stored.await.unwrap_or_else(|_| Err(ended())) }),
            Err(error) => Box::pin(ready(Err(error))),
        })
    }

    fn replay(&self, key: StreamKey, after: u64) -> BoxFuture<'_, Result<Replay, EventStoreError>> {
        Box::pin(async move {
            let (found, receiver) = oneshot::channel();
            let key = self.key(key);
            let replay = Operation::Replay { key, after, found };
            self.operations.send(replay).await.map_err(|_| ended())?;
            receiver.await.unwrap_or_else(|_| Err(ended()))
        })
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn forget_stream(&self, key: StreamKey) {
        self.forget(key);
    }

    fn forget_session(&self, session: SessionId) {
        self.forget(StreamKey::new(session, 0));
    }

    /// Does nothing, because Redis removes expired events.
    fn expire(&self, _now: Instant) {}
}

impl fmt::Debug for RedisEventStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisEventStore")
            .field("prefix", &self.prefix)
            .field("limits", &self.limits)
            .field("queued_bytes", &self.queued)
            .finish_non_exhaustive()
    }
}

fn ended() -> EventStoreError {
    EventStoreError::new("the runtime of the event store has ended")
}

/// Commands that are sent in one round trip, and the appends that wait for the results of their commands.
#[derive(Default)]
struct Batch {
    pipeline: Pipeline,
    waiting: Vec<Stored<()>>,
}

/// Runs operations in their order, until all handles of the store are dropped.
async fn run(
    connection: Connection,
    mut operations: mpsc::Receiver<Operation>,
    queued: Arc<AtomicUsize>,
) {
    let mut received = Vec::new();
    while operations.recv_many(&mut received, MAX_BATCH).await > 0 {
        // A cluster has the keys at different nodes: there is one batch for each key.
        let mut batches: HashMap<Vec<u8>, Batch> = HashMap::new();
        let mut bytes = 0;
        for operation in received.drain(..) {
            let (Operation::Append { key, .. }
            | Operation::Forget(key)
            | Operation::Replay { key, .. }) = &operation;
            let group = if connection.is_cluster() {
                key.clone()
            } else {
                Vec::new()
            };
            let batch = batches.entry(group).or_default();
            match operation {
                Operation::Append {
                    key,
                    sequence,
                    event,
                    limits,
                    stored,
                } => {
                    bytes += event.len();
                    add_append(&mut batch.pipeline, &key, sequence, &event, limits);
                    batch.waiting.push(stored);
                }
                Operation::Forget(key) => {
                    batch.pipeline.del(key).ignore();
                }
                Operation::Replay { key, after, found } => {
                    std::mem::take(batch).send(connection.clone()).await;
                    // The receiver is gone if the request has ended.
                    let _ = found.send(replay(&mut connection.clone(), &key, after).await);
                }
            }
        }
        let sending = batches
            .into_values()
            .map(|batch| batch.send(connection.clone()));
        sending.collect::<JoinSet<()>>().join_all().await;
        queued.fetch_sub(bytes, Ordering::AcqRel);
    }
}

fn add_append(pipeline: &mut Pipeline, key: &[u8], sequence: u64, event: &[u8], limits: Limits) {
    let retention = u64::try_from(limits.retention.as_millis()).unwrap_or(u64::MAX >> 12);
    pipeline
        .cmd("XADD")
        .arg(key)
        .arg("MAXLEN")
        .arg("~")
        .arg(limits.stream_events)
        .arg(format!("{sequence}-0"))
        .arg("e")
        .arg(event)
        .cmd("PEXPIRE")
        .arg(key)
        .arg(retention.max(1))
        .ignore();
}

impl Batch {
    /// Sends the commands in one round trip, and sends each append its result.
    async fn send(mut self, mut connection: Connection) {
        if self.pipeline.is_empty() {
            return;
        }
        self.pipeline.ignore_errors();
        let results: RedisResult<Vec<RedisResult<Value>>> =
            self.pipeline.query_async(&mut connection).await;
        match results {
            Ok(results) => {
                for (stored, result) in self.waiting.into_iter().zip(results) {
                    // The receiver is gone if the stream has ended.
                    let _ = stored.send(appended(result));
                }
            }
            Err(error) => {
                for stored in self.waiting {
                    let _ = stored.send(Err(failed(error.clone())));
                }
            }
        }
    }
}

fn appended(result: RedisResult<Value>) -> Result<(), EventStoreError> {
    match result {
        // The event is stored already.
        Err(error) if error.to_string().contains("equal or smaller") => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(_) => Ok(()),
    }
}

async fn replay(
    connection: &mut Connection,
    key: &[u8],
    after: u64,
) -> Result<Replay, EventStoreError> {
    // The event `after` shows that none of the next ones was removed.
    let mut command = redis::cmd("XRANGE");
    command.arg(key).arg(format!("{}-0", after.max(1))).arg("+");
    let found: StreamRangeReply = command.query_async(connection).await.map_err(failed)?;
    if found.ids.is_empty() && after > 0 {
        return Ok(Replay::Gone);
    }
    let mut events = Vec::with_capacity(found.ids.len());
    for mut entry in found.ids {
        let sequence = entry.id.split('-').next().and_then(|id| id.parse().ok());
        if sequence == Some(after) {
            continue;
        }
        let expected = after.saturating_add(events.len() as u64 + 1);
        match entry.map.remove("e") {
            Some(Value::BulkString(event)) if sequence == Some(expected) => {
                events.push(Bytes::from(event));
            }
            _ => return Ok(Replay::Gone),
        }
    }
    Ok(Replay::Events(events))
}

fn failed(error: RedisError) -> EventStoreError {
    EventStoreError::new(format!("Redis has failed: {error}")).with_source(error)
}
