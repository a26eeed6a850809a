//! The task that sends the operations of the event store to Redis. It sends many operations in one round trip.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{self, Poll};
use std::time::Duration;

use mcp_protocol::LogLimit;
use mcp_transport_http::EventStoreError;
use redis::{Pipeline, RedisError, RedisResult, Value};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{Append, LAST, MAX_QUEUED, Operation, failed};
use crate::connection::Connection;

/// Maximum number of operations in one round trip.
const MAX_BATCH: usize = 256;
/// Maximum total size of the events in one round trip, in bytes. A single event can be larger. A round trip with more bytes could
/// exceed the response timeout.
const MAX_BATCH_BYTES: usize = 1 << 20;
/// Pause before the operations of a failed round trip are repeated.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Codes of temporary errors: Redis may accept the same command later.
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

/// Operations that are sent to Redis in one round trip.
#[derive(Default)]
struct Batch {
    operations: Vec<Operation>,
}

/// The result of a round trip.
#[derive(Default)]
struct Sent {
    /// The operations that Redis has not executed, in their order.
    failed: Vec<Operation>,
    /// Whether the operations failed although Redis responds to other commands. They may then be too large.
    is_too_large: bool,
    /// The size of the events that no longer wait, in bytes.
    bytes: usize,
}

impl Sent {
    /// Keeps a failed operation so that it is repeated. If it must not be repeated, only counts its size.
    fn keep(&mut self, operation: Operation) {
        match is_last(&operation) {
            true => self.bytes += size(&operation),
            false => self.failed.push(operation),
        }
    }
}

/// Sends operations to Redis, in a background task.
pub(super) struct Writer {
    connection: Connection,
    operations: mpsc::Receiver<Operation>,
    queued: Arc<AtomicUsize>,
    delayed: Delayed,
    flushed: Vec<oneshot::Sender<()>>,
    /// Maximum number of operations in one round trip. Reduced together with `max_bytes` after a round trip that was not
    /// completed in time.
    max_batch: usize,
    /// Maximum number of bytes in one round trip.
    max_bytes: usize,
}

impl Writer {
    pub(super) fn new(
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

    /// Runs operations in their order, until all handles of the store are dropped. While Redis does not respond, the callers of
    /// appends receive an error at once, so that their events are not delayed by the timeouts of other events. The appends are
    /// still stored when Redis responds again.
    pub(super) async fn run(mut self) {
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

    /// Sends operations in one round trip. Returns whether all handles of the store have been dropped.
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
            // After a failed round trip, the callers of new appends receive an error at once, without waiting for this attempt.
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
                    "an event is dropped, because Redis responds to PING but did not store the event in time"
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
    /// Whether the last round trip failed.
    is_failing: bool,
    log: LogLimit,
}

impl Delayed {
    /// Adds operations before the operations that already wait.
    fn put_back(&mut self, operations: Vec<Operation>) {
        for operation in operations.into_iter().rev() {
            self.operations.push_front(operation);
        }
    }

    /// Adds an operation. If it is an append, its caller receives an error at once. If there is no room for the operation, drops
    /// it and returns the size of its event in bytes; otherwise, returns 0.
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

/// Sends the result of an append to its caller, unless the caller has already received a result.
fn answer(operation: &mut Operation, error: impl FnOnce() -> EventStoreError) {
    if let Operation::Append(append) = operation
        && let Some(stored) = append.stored.take()
    {
        // The receiver is gone if the stream has ended.
        let _ = stored.send(Err(error()));
    }
}

/// Returns the size of the event of an operation, in bytes.
fn size(operation: &Operation) -> usize {
    match operation {
        Operation::Append(append) => append.event.len(),
        _ => 0,
    }
}

/// Returns whether an operation appends the last event of a stream. Such an operation is not repeated, because the endpoint that
/// runs the call can store further events in the meantime.
fn is_last(operation: &Operation) -> bool {
    matches!(operation, Operation::Append(append) if append.is_last)
}

/// Returns the number of operations for one round trip; at least one.
fn batch_len(operations: &[Operation], max_bytes: usize) -> usize {
    let mut bytes = 0;
    let fits = |operation: &&Operation| {
        bytes += size(operation);
        bytes <= max_bytes
    };
    operations.iter().take_while(fits).count().max(1)
}

/// Sends operations in one round trip. In a cluster, sends them in one round trip for each key, because the keys are at different
/// nodes. Adds the senders of [`Operation::Flush`] to `flushed`. `has_failed` says whether the previous round trip failed.
async fn send(
    connection: &Connection,
    operations: impl Iterator<Item = Operation>,
    flushed: &mut Vec<oneshot::Sender<()>>,
    has_failed: bool,
) -> Sent {
    let mut batches = HashMap::<Vec<u8>, Batch>::new();
    let (mut sent, now) = (Sent::default(), Instant::now());
    for mut operation in operations {
        let key = match &operation {
            Operation::Append(append) if append.until.is_some_and(|until| until <= now) => {
                sent.bytes += append.event.len();
                answer(&mut operation, || {
                    EventStoreError::new("the event had expired before it could be stored")
                });
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

/// A script that appends the last event of a stream, unless the endpoint of the stream has appended further events in the
/// meantime.
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

/// Adds commands to append an event, and to remove the events before the first event that is kept.
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
    /// Sends the commands in one round trip. The caller of each append receives the result of its append.
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
                // No `PING` after the first failure, because other operations wait for this round trip.
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
        // The event is stored already, or the last event of the stream is stored.
        Err(error) if error.to_string().contains("equal or smaller") => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(_) => Ok(()),
    }
}
