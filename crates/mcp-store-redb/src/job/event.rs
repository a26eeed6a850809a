//! The event operations that wait for the thread of the store.

use std::mem;
use std::sync::{Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use mcp_protocol::lock;
use mcp_transport_http::{SessionId, StreamKey};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Maximum number of queued operations.
const MAX_QUEUED: usize = 8_192;

/// A change of the stored events. Times are in milliseconds since 1970.
#[derive(Debug)]
pub(crate) enum EventJob {
    Append {
        key: StreamKey,
        sequence: u64,
        event: Bytes,
        at: u64,
        stored: oneshot::Sender<Result<(), String>>,
    },
    ForgetStream(StreamKey),
    ForgetSession(SessionId),
    Expire(u64),
}

impl EventJob {
    fn bytes(&self) -> usize {
        match self {
            Self::Append { event, .. } => event.len(),
            _ => 0,
        }
    }
}

/// A bounded queue. Unlike a channel, it accepts operations without waiting, and also limits their bytes.
#[derive(Debug)]
pub(crate) struct EventQueue {
    queued: Mutex<Queued>,
    max_bytes: usize,
    /// The time when the queue was created, by the monotonic clock and in milliseconds since 1970.
    created: (Instant, u64),
}

#[derive(Debug, Default)]
struct Queued {
    jobs: Vec<EventJob>,
    /// The size of the events that wait or are being written, in bytes.
    bytes: usize,
}

impl EventQueue {
    pub(crate) fn new(max_bytes: usize) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let created = since.unwrap_or_default().as_millis();
        Self {
            queued: Mutex::default(),
            max_bytes,
            created: (Instant::now(), u64::try_from(created).unwrap_or(u64::MAX)),
        }
    }

    /// Returns the time in milliseconds since 1970. The system clock is read only once, so that the returned time never goes
    /// back.
    pub(crate) fn time(&self, now: Instant) -> u64 {
        let (instant, millis) = self.created;
        let since = now.saturating_duration_since(instant).as_millis();
        millis.saturating_add(u64::try_from(since).unwrap_or(u64::MAX))
    }

    /// Adds an operation. Returns whether it is the first operation in the queue, or `None` if the queue is full.
    pub(crate) fn push(&self, job: EventJob) -> Option<bool> {
        let mut queued = self.lock();
        let bytes = queued.bytes.saturating_add(job.bytes());
        if queued.jobs.len() >= MAX_QUEUED || bytes > self.max_bytes {
            return None;
        }
        queued.bytes = bytes;
        queued.jobs.push(job);
        Some(queued.jobs.len() == 1)
    }

    /// Removes and returns all operations, with the number of their bytes. The bytes count towards the limit until they are
    /// [released](Self::release).
    pub(crate) fn take(&self) -> (Vec<EventJob>, usize) {
        let mut queued = self.lock();
        let jobs = mem::take(&mut queued.jobs);
        let bytes = jobs.iter().map(EventJob::bytes).sum();
        (jobs, bytes)
    }

    pub(crate) fn release(&self, bytes: usize) {
        self.lock().bytes -= bytes;
    }

    /// Returns the reason why an event was not accepted.
    pub(crate) fn full(&self) -> String {
        format!(
            "an event was not stored, because {MAX_QUEUED} operations or {} bytes of events \
             (RedbOptions::with_max_queued_event_bytes) are waiting for the disk",
            self.max_bytes
        )
    }

    fn lock(&self) -> MutexGuard<'_, Queued> {
        lock(&self.queued)
    }
}
