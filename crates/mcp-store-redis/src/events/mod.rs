//! Events in Redis. Each event stream of a session is a Redis stream. Its entries have the sequence numbers of the events.

mod writer;

use std::fmt;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use bytes::Bytes;
use mcp_protocol::{BoxFuture, lock};
use mcp_transport_http::{Durability, EventStore, EventStoreError, Replay, SessionId, StreamKey};
use redis::streams::StreamRangeReply;
use redis::{RedisError, Script, Value, from_redis_value};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout};

use self::writer::Writer;
use crate::connection::Connection;
use crate::stored::{StoredEvents, StoredLimits};

/// Maximum number of operations that wait for Redis.
const MAX_QUEUED: usize = 16_384;
/// Maximum number of replays that read from Redis at the same time.
const MAX_REPLAYS: usize = 16;
/// Maximum time that a replay waits for earlier appends and for other replays.
const MAX_REPLAY_WAIT: Duration = Duration::from_secs(10);
/// The number in Redis of the last event of a stream, if this event was appended after the endpoint of the stream had ended. All
/// other events have smaller numbers, so Redis rejects further events. Scripts in Redis can read no greater number without
/// rounding.
const LAST: u64 = (1 << 53) - 1;

/// An [`EventStore`] in Redis, from [`RedisStore::event_store`](crate::RedisStore::event_store). Cloning returns another
/// handle to the same store.
///
/// The server sends an event to its client after Redis has stored the event, so that the client can resume after this event at
/// any endpoint. If Redis cannot store an event, the failure is logged, and the event is still sent. A later replay that would
/// include this event returns [`Replay::Gone`].
///
/// The events of a stream expire together, when the retention time has passed since the last event of the stream. When a session
/// ends, its events are removed. If the events of a session exceed a limit, the session loses its oldest events.
#[derive(Clone)]
pub struct RedisEventStore {
    operations: mpsc::Sender<Operation>,
    /// The number of bytes of the events that wait for Redis.
    queued: Arc<AtomicUsize>,
    stored: Arc<Mutex<StoredEvents>>,
    connection: Connection,
    replays: Arc<Semaphore>,
    prefix: Arc<str>,
    limits: StoredLimits,
    event_bytes: usize,
    queued_bytes: usize,
}

type Stored<T> = oneshot::Sender<Result<T, EventStoreError>>;

enum Operation {
    Append(Append),
    Forget(Vec<u8>),
    /// Sends a message through the channel when all earlier operations were executed. If Redis does not respond, drops the
    /// sender without a message.
    Flush(oneshot::Sender<()>),
}

struct Append {
    key: Vec<u8>,
    sequence: u64,
    event: Bytes,
    /// The sequence number of the oldest event of the stream that is kept in Redis.
    first: u64,
    is_last: bool,
    retention: Duration,
    /// The time after which the event is not sent to Redis any more, because it would have expired; `None` if there is no such
    /// time.
    until: Option<Instant>,
    /// The channel for the result; `None` if the caller has already received a result.
    stored: Option<Stored<()>>,
}

impl RedisEventStore {
    pub(crate) fn new(connection: Connection, prefix: Arc<str>) -> Self {
        let (operations, receiver) = mpsc::channel(MAX_QUEUED);
        let queued = Arc::new(AtomicUsize::new(0));
        let writer = Writer::new(connection.clone(), receiver, Arc::clone(&queued));
        tokio::spawn(writer.run());
        Self {
            operations,
            queued,
            stored: Arc::default(),
            connection,
            replays: Arc::new(Semaphore::new(MAX_REPLAYS)),
            prefix,
            limits: StoredLimits {
                retention: Duration::from_secs(5 * 60),
                stream_events: 1_000,
                session_bytes: 10 << 20,
                total_bytes: 256 << 20,
            },
            event_bytes: 1 << 20,
            queued_bytes: 64 << 20,
        }
    }

    /// Sets the time for which the events of a stream are kept after its last event. Default 5 minutes.
    #[must_use]
    pub fn with_retention(mut self, retention: Duration) -> Self {
        self.limits.retention = retention;
        self
    }

    /// Sets the maximum size of the events of one session, in bytes. If a session exceeds this limit, it loses its own oldest
    /// events. Default 10 MiB.
    #[must_use]
    pub fn with_max_session_bytes(mut self, bytes: usize) -> Self {
        self.limits.session_bytes = bytes;
        self
    }

    /// Sets the maximum size of the events of all sessions of this process, in bytes. At this limit, the session whose events
    /// have the largest total size loses its oldest stream. Default 256 MiB.
    #[must_use]
    pub fn with_max_total_bytes(mut self, bytes: usize) -> Self {
        self.limits.total_bytes = bytes;
        self
    }

    /// Sets the maximum number of events of a stream that are kept. The oldest events are removed first. Default 1,000.
    #[must_use]
    pub fn with_max_stream_events(mut self, events: usize) -> Self {
        self.limits.stream_events = events;
        self
    }

    /// Sets the maximum size of a stored event, in bytes. Default 1 MiB. A larger event is sent, but cannot be replayed.
    #[must_use]
    pub fn with_max_event_bytes(mut self, bytes: usize) -> Self {
        self.event_bytes = bytes;
        self
    }

    /// Sets the maximum size of the events that wait for Redis, in bytes. Default 64 MiB. Further events are not stored.
    #[must_use]
    pub fn with_max_queued_bytes(mut self, bytes: usize) -> Self {
        self.queued_bytes = bytes;
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
        is_last: bool,
    ) -> Result<oneshot::Receiver<Result<(), EventStoreError>>, EventStoreError> {
        let length = event.len();
        if length > self.event_bytes {
            return Err(EventStoreError::new(format!(
                "an event has {length} bytes; the limit of RedisEventStore::with_max_event_bytes is {} bytes",
                self.event_bytes
            )));
        }
        let queued = self.queued.fetch_add(length, Ordering::AcqRel) + length;
        let appended = self.reserve(queued).and_then(|place| {
            let now = Instant::now();
            let room = lock(&self.stored).add(key, sequence, length, &self.limits, now);
            let room = room.ok_or_else(|| self.full())?;
            let (stored, receiver) = oneshot::channel();
            place.send(Operation::Append(Append {
                key: self.key(key),
                sequence,
                event,
                first: room.first,
                is_last,
                retention: self.limits.retention,
                until: now.checked_add(self.limits.retention),
                stored: Some(stored),
            }));
            for stream in room.streams {
                self.forget(stream);
            }
            Ok(receiver)
        });
        if appended.is_err() {
            self.queued.fetch_sub(length, Ordering::AcqRel);
        }
        appended
    }

    /// Reserves a place for an operation in the queue. `queued` is the number of bytes that would wait, including the operation.
    fn reserve(&self, queued: usize) -> Result<mpsc::Permit<'_, Operation>, EventStoreError> {
        let place = self.operations.try_reserve().ok();
        let place = place.filter(|_| queued <= self.queued_bytes);
        place.ok_or_else(|| {
            EventStoreError::new(format!(
                "Redis is too slow: {MAX_QUEUED} operations, or {} bytes of events \
                 (RedisEventStore::with_max_queued_bytes), are waiting",
                self.queued_bytes
            ))
        })
    }

    fn appended(&self, key: StreamKey, sequence: u64, event: Bytes, is_last: bool) -> Durability {
        Durability::Pending(match self.append_now(key, sequence, event, is_last) {
            Ok(stored) => Box::pin(async move { stored.await.unwrap_or_else(|_| Err(ended())) }),
            Err(error) => Box::pin(ready(Err(error))),
        })
    }

    fn full(&self) -> EventStoreError {
        EventStoreError::new(format!(
            "an event exceeds a limit: {} bytes (RedisEventStore::with_max_session_bytes) or {} bytes (with_max_total_bytes)",
            self.limits.session_bytes, self.limits.total_bytes
        ))
    }

    /// Removes a stream. If the queue of operations is full, the stream expires instead.
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
        self.appended(key, sequence, event, false)
    }

    fn append_last(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability {
        self.appended(key, sequence, event, true)
    }

    fn replay(
        &self,
        key: StreamKey,
        after: u64,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Replay, EventStoreError>> {
        Box::pin(async move {
            // After the flush, all earlier appends are in Redis.
            let (flushed, receiver) = oneshot::channel();
            let ready = async {
                let flush = self.operations.send(Operation::Flush(flushed)).await;
                flush.map_err(|_| ended())?;
                let failed =
                    |_| EventStoreError::new("Redis does not respond; events wait to be stored");
                receiver.await.map_err(failed)?;
                // The semaphore is never closed.
                self.replays.acquire().await.map_err(|_| ended())
            };
            let ready = timeout(MAX_REPLAY_WAIT, ready).await;
            let too_slow =
                |_| EventStoreError::new("Redis is too slow: a replay has waited for 10 s");
            let _permit = ready.map_err(too_slow)??;
            replay(
                self.connection.clone(),
                self.key(key),
                after,
                (bytes, self.event_bytes),
            )
            .await
        })
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn forget_stream(&self, key: StreamKey) {
        lock(&self.stored).forget_stream(key);
        self.forget(key);
    }

    fn forget_session(&self, session: SessionId) {
        let streams = lock(&self.stored).forget_session(session);
        for stream in streams {
            self.forget(StreamKey::new(session, stream));
        }
    }

    /// Removes the local records of expired events. Redis removes the events themselves.
    fn expire(&self, now: Instant) {
        lock(&self.stored).expire(self.limits.retention, now);
    }
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

async fn replay(
    mut connection: Connection,
    key: Vec<u8>,
    after: u64,
    (bytes, event_bytes): (usize, usize),
) -> Result<Replay, EventStoreError> {
    static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("../replay.lua")));
    // If the event `after` still exists, none of the later events was removed.
    let mut script = SCRIPT.key(key);
    script
        .arg(after.max(1))
        .arg(bytes)
        .arg(u8::from(after > 0))
        .arg(event_bytes);
    let found = script.invoke_async(&mut connection).await;
    let found: StreamRangeReply = found.map_err(failed)?;
    if found.ids.is_empty() && after > 0 {
        return Ok(Replay::Gone);
    }
    let mut events = Vec::with_capacity(found.ids.len());
    let mut is_ended = false;
    for mut entry in found.ids {
        let sequence = entry.id.split('-').next().and_then(|id| id.parse().ok());
        if sequence == Some(after) {
            continue;
        }
        let expected = after.saturating_add(events.len() as u64 + 1);
        let is_next = match sequence {
            Some(LAST) => {
                is_ended = true;
                let number = entry.map.remove("n");
                let number = number.and_then(|number| from_redis_value::<u64>(number).ok());
                // The endpoint of the call can have sent further events to the client without storing them.
                number.is_some_and(|number| number <= expected)
            }
            sequence => sequence == Some(expected),
        };
        match entry.map.remove("e") {
            Some(Value::BulkString(event)) if is_next => events.push(Bytes::from(event)),
            _ => return Ok(Replay::Gone),
        }
    }
    Ok(match is_ended {
        true => Replay::Ended(events),
        false => Replay::Events(events),
    })
}

fn failed(error: RedisError) -> EventStoreError {
    EventStoreError::new(format!("Redis has failed: {error}")).with_source(error)
}
