//! Events in Redis. Each stream of a session is a Redis stream, whose entries have the sequence numbers of the events.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::future::{poll_fn, ready};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{self, Poll};
use std::time::Duration;

use bytes::Bytes;
use mcp_protocol::{BoxFuture, LogLimit, lock};
use mcp_transport_http::{Durability, EventStore, EventStoreError, Replay, SessionId, StreamKey};
use redis::streams::StreamRangeReply;
use redis::{Pipeline, RedisError, RedisResult, Script, Value, from_redis_value};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::connection::Connection;
use crate::stored::{StoredEvents, StoredLimits};

/// Maximum number of operations that wait for Redis.
const MAX_QUEUED: usize = 16_384;
/// Maximum number of replays that read from Redis at the same time.
const MAX_REPLAYS: usize = 16;
/// Maximum time that a replay waits for earlier appends and for other replays.
const MAX_REPLAY_WAIT: Duration = Duration::from_secs(10);
/// Maximum number of operations in one round trip.
const MAX_BATCH: usize = 256;
/// Maximum size of the events in one round trip, in bytes; a single event can be larger. A longer round trip could exceed the
/// response timeout.
const MAX_BATCH_BYTES: usize = 1 << 20;
/// Pause before the operations of a failed round trip are sent again.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Codes of errors after which Redis can accept the same command later.
const TEMPORARY: [&str; 10] = [
    "BUSY",
    "MISCONF",
    "READONLY",
    "LOADING",
    "MASTERDOWN",
    "CLUSTERDOWN",
    "TRYAGAIN",
    "NOREPLICAS",
    "MOVED",
    "ASK",
];
/// The number of the entry with the last event of a stream whose endpoint has ended. Nothing can be appended after it. A script reads it
/// without rounding.
const LAST: u64 = (1 << 53) - 1;

/// An [`EventStore`] in Redis, from [`RedisStore::event_store`](crate::RedisStore::event_store). Cloning returns another
/// handle to the same store.
///
/// An event is sent to its client after Redis has stored it, so that the client can resume after this event at any endpoint. If
/// Redis cannot store an event, the failure is logged, and the event is still sent. A later replay that would include this event
/// returns [`Replay::Gone`].
///
/// The events of a stream expire together, when the retention time has passed since the last event of the stream. When a session ends, its events are removed. A session whose events
/// exceed a limit loses its oldest events.
#[derive(Clone)]
pub struct RedisEventStore {
    operations: mpsc::Sender<Operation>,
    /// The bytes of the events that wait for Redis.
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
    /// An operation that reports when all earlier operations were executed. The sender is dropped if Redis does not respond.
    Flush(oneshot::Sender<()>),
}

struct Append {
    key: Vec<u8>,
    sequence: u64,
    event: Bytes,
    /// The sequence number of the oldest event of the stream that stays in Redis.
    first: u64,
    is_last: bool,
    retention: Duration,
    /// After this time, the event would have expired; `None` for never.
    until: Option<Instant>,
    /// `None` if the append was answered already.
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

    /// Sets how long the events of a stream are kept after its last one. Default 5 minutes.
    #[must_use]
    pub fn with_retention(mut self, retention: Duration) -> Self {
        self.limits.retention = retention;
        self
    }

    /// Sets the maximum size of the events of one session, in bytes. A session that exceeds it loses its own oldest events. Default 10 MiB.
    #[must_use]
    pub fn with_max_session_bytes(mut self, bytes: usize) -> Self {
        self.limits.session_bytes = bytes;
        self
    }

    /// Sets the maximum size of the events of all sessions of this process, in bytes. At this limit, the session with the largest events loses its oldest
    /// stream. Default 256 MiB.
    #[must_use]
    pub fn with_max_total_bytes(mut self, bytes: usize) -> Self {
        self.limits.total_bytes = bytes;
        self
    }

    /// Sets the number of events of a stream that are kept; the oldest are removed first. Default 1,000.
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
                "an event has {length} bytes, more than the {} of RedisEventStore::with_max_event_bytes",
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

    /// Reserves a place in the queue for an operation, if `queued` bytes may wait.
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
            "an event exceeds the {} bytes of RedisEventStore::with_max_session_bytes, or the {} of with_max_total_bytes",
            self.limits.session_bytes, self.limits.total_bytes
        ))
    }

    /// Removes a stream. If too many operations wait, the stream expires instead.
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

    /// Removes the records of expired events; Redis removes the events themselves.
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

/// Operations that are sent in one round trip.
#[derive(Default)]
struct Batch {
    operations: Vec<Operation>,
}

/// The result of a round trip.
#[derive(Default)]
struct Sent {
    /// The operations that Redis has not executed, in their order.
    failed: Vec<Operation>,
    /// Whether operations failed although Redis responds to others.
    is_too_large: bool,
    /// The size of the events that do not wait any more.
    bytes: usize,
}

impl Sent {
    /// Keeps an operation that has failed, if it may be repeated.
    fn keep(&mut self, operation: Operation) {
        match is_last(&operation) {
            true => self.bytes += size(&operation),
            false => self.failed.push(operation),
        }
    }
}

/// The task that sends operations to Redis.
struct Writer {
    connection: Connection,
    operations: mpsc::Receiver<Operation>,
    queued: Arc<AtomicUsize>,
    delayed: Delayed,
    flushed: Vec<oneshot::Sender<()>>,
    /// The limits of a round trip, which are smaller after one that could not be completed in time.
    max_batch: usize,
    max_bytes: usize,
}

impl Writer {
    fn new(
        connection: Connection,
        operations: mpsc::Receiver<Operation>,
        queued: Arc<AtomicUsize>,
    ) -> Self {
        Self {
            connection,
            operations,
            queued,
            delayed: Delayed::default(),
            flushed: Vec::new(),
            max_batch: MAX_BATCH,
            max_bytes: MAX_BATCH_BYTES,
        }
    }

    /// Runs operations in their order, until all handles of the store are dropped. While Redis does not respond, the appends are answered at once and
    /// wait, so that no event is sent later because of the timeouts of others, and all are stored when Redis responds again.
    async fn run(mut self) {
        let mut received = Vec::new();
        loop {
            let waiting = &mut self.delayed.operations;
            received.extend(waiting.drain(..waiting.len().min(self.max_batch)));
            if received.is_empty() {
                let operations = &mut self.operations;
                if operations.recv_many(&mut received, self.max_batch).await == 0 {
                    return;
                }
            }
            let rest = received.split_off(batch_len(&received, self.max_bytes));
            self.delayed.put_back(rest);
            let (sent, is_ended) = self.send(&mut received).await;
            self.subtract(sent.bytes);
            self.delayed.is_failing = !sent.failed.is_empty();
            if !self.delayed.is_failing {
                self.succeeded();
                continue;
            }
            self.failed(sent);
            if is_ended {
                return;
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Sends operations in one round trip. Returns whether all handles of the store are dropped, too.
    async fn send(&mut self, received: &mut Vec<Operation>) -> (Sent, bool) {
        let mut is_ended = false;
        let has_failed = self.delayed.is_failing;
        let delayed = &mut self.delayed;
        let sending = send(
            &self.connection,
            received.drain(..),
            &mut self.flushed,
            has_failed,
        );
        let mut sending = pin!(sending);
        let sent = poll_fn(|cx| {
            if let Poll::Ready(sent) = sending.as_mut().poll(cx) {
                return Poll::Ready(sent);
            }
            // Redis has not responded before, and may not respond to this attempt.
            while has_failed && !is_ended {
                match task::ready!(self.operations.poll_recv(cx)) {
                    Some(operation) => {
                        let bytes = delayed.add(operation);
                        self.queued.fetch_sub(bytes, Ordering::AcqRel);
                    }
                    None => is_ended = true,
                }
            }
            Poll::Pending
        });
        (sent.await, is_ended)
    }

    fn succeeded(&mut self) {
        (self.max_batch, self.max_bytes) = (MAX_BATCH, MAX_BATCH_BYTES);
        if self.delayed.operations.is_empty() {
            for done in self.flushed.drain(..) {
                // The receiver is gone if the request has ended.
                let _ = done.send(());
            }
        }
    }

    fn failed(&mut self, sent: Sent) {
        let mut failed = sent.failed;
        if sent.is_too_large {
            if let [operation] = &*failed {
                let bytes = size(operation);
                tracing::warn!(
                    bytes,
                    "an event is not stored, because Redis does not respond to it in time"
                );
                self.subtract(bytes);
                failed.clear();
            }
            self.max_batch = (failed.len() / 2).max(1);
            self.max_bytes = (self.max_bytes / 2).max(1);
        }
        self.delayed.put_back(failed);
        while let Ok(operation) = self.operations.try_recv() {
            let bytes = self.delayed.add(operation);
            self.subtract(bytes);
        }
        self.delayed.report();
        // A replay would not find the events that wait.
        self.flushed.clear();
    }

    fn subtract(&self, bytes: usize) {
        self.queued.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// The operations that wait until Redis responds.
#[derive(Default)]
struct Delayed {
    operations: VecDeque<Operation>,
    /// Whether the last round trip has failed.
    is_failing: bool,
    log: LogLimit,
}

impl Delayed {
    /// Puts operations before the others.
    fn put_back(&mut self, operations: Vec<Operation>) {
        for operation in operations.into_iter().rev() {
            self.operations.push_front(operation);
        }
    }

    /// Adds an operation, and answers an append. Returns the size of an event for which there is no room.
    fn add(&mut self, operation: Operation) -> usize {
        let mut operation = match operation {
            Operation::Flush(_) => return 0,
            operation => operation,
        };
        answer(&mut operation, || {
            EventStoreError::new("Redis does not respond")
        });
        match self.operations.len() < MAX_QUEUED && !is_last(&operation) {
            true => {
                self.operations.push_back(operation);
                0
            }
            false => size(&operation),
        }
    }

    fn report(&self) {
        if let Some(omitted) = self.log.admit(std::time::Instant::now()) {
            let delayed = self.operations.len();
            tracing::warn!(
                delayed,
                omitted,
                "Redis does not respond; events wait until it does"
            );
        }
    }
}

/// Answers an append that waits, if it was not answered before.
fn answer(operation: &mut Operation, error: impl FnOnce() -> EventStoreError) {
    if let Operation::Append(append) = operation
        && let Some(stored) = append.stored.take()
    {
        // The receiver is gone if the stream has ended.
        let _ = stored.send(Err(error()));
    }
}

/// Returns the size of the event of an operation.
fn size(operation: &Operation) -> usize {
    match operation {
        Operation::Append(append) => append.event.len(),
        _ => 0,
    }
}

/// Returns whether an operation appends the last event of a stream. It is not repeated, because the endpoint of the call can store more meanwhile.
fn is_last(operation: &Operation) -> bool {
    matches!(operation, Operation::Append(append) if append.is_last)
}

/// Returns how many operations fit into one round trip, at least one.
fn batch_len(operations: &[Operation], max_bytes: usize) -> usize {
    let mut bytes = 0;
    let fits = |operation: &&Operation| {
        bytes += size(operation);
        bytes <= max_bytes
    };
    operations.iter().take_while(fits).count().max(1)
}

/// Sends operations in one round trip; in a cluster, in one for each key, because the keys are at different nodes. `flushed` receives the
/// requests for reports. `has_failed` says whether the round trip before has failed.
async fn send(
    connection: &Connection,
    operations: impl Iterator<Item = Operation>,
    flushed: &mut Vec<oneshot::Sender<()>>,
    has_failed: bool,
) -> Sent {
    let mut batches = HashMap::<Vec<u8>, Batch>::new();
    let (mut sent, now) = (Sent::default(), Instant::now());
    for operation in operations {
        let key = match &operation {
            Operation::Append(append) if append.until.is_some_and(|until| until <= now) => {
                sent.bytes += append.event.len();
                continue;
            }
            Operation::Append(Append { key, .. }) | Operation::Forget(key) => key,
            Operation::Flush(_) => {
                if let Operation::Flush(done) = operation {
                    flushed.push(done);
                }
                continue;
            }
        };
        let group = match connection.is_cluster() {
            true => key.clone(),
            false => Vec::new(),
        };
        batches.entry(group).or_default().operations.push(operation);
    }
    let sending = batches
        .into_values()
        .map(|batch| batch.send(connection.clone(), has_failed));
    for batch in sending.collect::<JoinSet<Sent>>().join_all().await {
        sent.bytes += batch.bytes;
        sent.is_too_large |= batch.is_too_large;
        sent.failed.extend(batch.failed);
    }
    sent
}

/// Appends the last event of a stream, if its endpoint has not appended more in the meantime.
const APPEND_LAST: &str = r"
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if newest and newest[1] == ARGV[1] then
    return 'OK'
end
if not newest or newest[1] ~= ARGV[2] then
    return redis.error_reply('CONTINUED the stream has other events')
end
redis.call('XADD', KEYS[1], ARGV[1], 'e', ARGV[3], 'n', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 'OK'
";

/// Adds the commands that append an event, and remove those before the first one that stays.
fn add_append(pipeline: &mut Pipeline, append: &Append) {
    let retention = u64::try_from(append.retention.as_millis()).unwrap_or(u64::MAX);
    let retention = retention.clamp(1, u64::MAX >> 12);
    if append.is_last {
        let eval = pipeline.cmd("EVAL").arg(APPEND_LAST).arg(1);
        eval.arg(&append.key)
            .arg(format!("{LAST}-0"))
            .arg(format!("{}-0", append.sequence.saturating_sub(1)))
            .arg(&append.event[..])
            .arg(append.sequence)
            .arg(retention);
        return;
    }
    let add = pipeline.cmd("XADD").arg(&append.key);
    add.arg("MINID").arg(format!("{}-0", append.first));
    add.arg(format!("{}-0", append.sequence));
    add.arg("e").arg(&append.event[..]);
    pipeline
        .cmd("PEXPIRE")
        .arg(&append.key)
        .arg(retention)
        .ignore();
}

impl Batch {
    /// Sends the commands in one round trip, and sends each append its result.
    async fn send(self, mut connection: Connection, has_failed: bool) -> Sent {
        let mut pipeline = Pipeline::new();
        for operation in &self.operations {
            match operation {
                Operation::Append(append) => add_append(&mut pipeline, append),
                Operation::Forget(key) => {
                    pipeline.cmd("UNLINK").arg(key);
                }
                Operation::Flush(_) => {}
            }
        }
        let mut sent = Sent::default();
        if pipeline.is_empty() {
            return sent;
        }
        pipeline.ignore_errors();
        let results: RedisResult<Vec<RedisResult<Value>>> =
            pipeline.query_async(&mut connection).await;
        let results = match results {
            Ok(results) => results,
            Err(error) => {
                for mut operation in self.operations {
                    answer(&mut operation, || failed(error.clone()));
                    sent.keep(operation);
                }
                // Not after the first failure, because other operations wait then.
                if has_failed {
                    let ping = redis::cmd("PING");
                    let reached: RedisResult<()> = ping.query_async(&mut connection).await;
                    sent.is_too_large = reached.is_ok();
                }
                return sent;
            }
        };
        for (mut operation, result) in self.operations.into_iter().zip(results) {
            let code = result.as_ref().err().and_then(RedisError::code);
            if code.is_some_and(|code| TEMPORARY.contains(&code)) {
                if let Err(error) = result {
                    answer(&mut operation, || failed(error));
                }
                sent.keep(operation);
                continue;
            }
            sent.bytes += size(&operation);
            if let Operation::Append(Append {
                stored: Some(stored),
                ..
            }) = operation
            {
                // The receiver is gone if the stream has ended.
                let _ = stored.send(appended(result));
            }
        }
        sent
    }
}

fn appended(result: RedisResult<Value>) -> Result<(), EventStoreError> {
    match result {
        // The event is stored already, or the stream has its last event.
        Err(error) if error.to_string().contains("equal or smaller") => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(_) => Ok(()),
    }
}

async fn replay(
    mut connection: Connection,
    key: Vec<u8>,
    after: u64,
    (bytes, event_bytes): (usize, usize),
) -> Result<Replay, EventStoreError> {
    static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("replay.lua")));
    // The event `after` shows that none of the next ones was removed.
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
                // The client can have received more from the endpoint of the call, which are not stored.
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
