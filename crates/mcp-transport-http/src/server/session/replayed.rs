//! Stored events that a connection sends before new events.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use mcp_protocol::BoxFuture;

use crate::permit::Permit;
use crate::permit::share::KnownOwner;
use crate::server::event_store::{EventStore, EventStoreError, Replay, StreamKey};
use crate::server::stream::Stream;
use crate::sync::lock;

/// Maximum total size of the events that are read at once, in bytes. The next events are read after the client has received these
/// events.
pub(crate) const PART_BYTES: usize = 64 << 10;
/// The value of `left` which means that all events in the store must be read.
pub(crate) const ALL: u64 = u64::MAX;
/// Memory of an event in addition to its text, in bytes.
const EVENT_COST: usize = 64;

type Reading = BoxFuture<'static, Result<Replay, EventStoreError>>;

/// The stored events of one stream that follow after a given event. They are read in parts.
pub(crate) struct Replayed {
    store: Arc<dyn EventStore>,
    key: StreamKey,
    /// The sequence number of the last event that was read.
    after: u64,
    /// Number of events that must still be read. [`ALL`] means all events that the store has.
    left: u64,
    events: VecDeque<Bytes>,
    /// The pending read. It is in a mutex because the body of a response must be `Sync`.
    reading: Mutex<Option<Reading>>,
    /// Whether the stream may continue without events that the store has dropped.
    may_be_dropped: bool,
}

impl Replayed {
    /// Creates the replay of at most `left` events after the event `after`, and reads the first part. Returns `None` if the store
    /// has dropped some of these events.
    pub(crate) async fn read(
        store: &Arc<dyn EventStore>,
        key: StreamKey,
        after: u64,
        left: u64,
    ) -> Result<Option<Self>, EventStoreError> {
        let mut replayed = Self::later(store, key, after);
        replayed.left = left;
        let part = store.replay(key, after, PART_BYTES).await?;
        replayed.may_be_dropped = false;
        Ok(replayed.add(part).then_some(replayed))
    }

    /// Creates the replay of all events after the event `after`. Does not read from the store yet. If the store has dropped some
    /// of these events, the replay is empty.
    pub(crate) fn later(store: &Arc<dyn EventStore>, key: StreamKey, after: u64) -> Self {
        Self {
            store: Arc::clone(store),
            key,
            after,
            left: ALL,
            events: VecDeque::new(),
            reading: Mutex::default(),
            may_be_dropped: true,
        }
    }

    /// Adds a part that was read from the store. Returns `false` if the store has fewer events than `left`.
    fn add(&mut self, part: Replay) -> bool {
        let events = match part {
            Replay::Events(events) => events,
            Replay::Ended(events) => {
                self.events.extend(events);
                self.left = 0;
                return true;
            }
            Replay::Gone => {
                self.left = 0;
                return self.may_be_dropped;
            }
        };
        if events.is_empty() {
            let is_complete = matches!(self.left, 0 | ALL);
            self.left = 0;
            return is_complete;
        }
        let taken = self.left.min(events.len() as u64);
        self.after += taken;
        if self.left != ALL {
            self.left -= taken;
        }
        let taken = usize::try_from(taken).unwrap_or(usize::MAX);
        self.events.extend(events.into_iter().take(taken));
        true
    }

    /// Returns whether all events were sent.
    pub(crate) fn is_end(&self) -> bool {
        self.events.is_empty() && self.left == 0
    }

    /// Returns the next event. Returns `None` at the end.
    ///
    /// # Errors
    /// The store cannot be read or has dropped the next event, or the memory for events is exhausted.
    pub(crate) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        memory: &mut ReplayMemory,
    ) -> Poll<Result<Option<Bytes>, EventStoreError>> {
        while self.events.is_empty() && self.left > 0 {
            let read = {
                let mut current = lock(&self.reading);
                let reading = current.get_or_insert_with(|| {
                    let (store, key, after) = (Arc::clone(&self.store), self.key, self.after);
                    Box::pin(async move { store.replay(key, after, PART_BYTES).await })
                });
                let read = ready!(reading.as_mut().poll(cx));
                *current = None;
                read
            };
            let part = read?;
            if !self.add(part) {
                let reason = "events were dropped while the client received earlier ones";
                return Poll::Ready(Err(EventStoreError::new(reason)));
            }
            self.may_be_dropped = false;
        }
        memory.charge(&self.events)?;
        Poll::Ready(Ok(self.events.pop_front()))
    }
}

/// The stored events that a connection sends before new events when it resumes a stream.
pub(crate) struct Resumed {
    /// The events that were sent under earlier leases. Their sequence numbers do not belong to the current stream.
    earlier: VecDeque<Replayed>,
    replay: Option<Replayed>,
    /// The sequence number of the last event of the current stream that was sent.
    sent: u64,
    memory: ReplayMemory,
    /// Whether reading events has failed. The client must then resume the stream again.
    pub(crate) is_broken: bool,
}

impl Resumed {
    /// Creates the replay of the events of earlier leases, followed by the events after the event `after`.
    pub(crate) fn new(
        earlier: Vec<Replayed>,
        (after, replay): (u64, Option<Replayed>),
        memory: ReplayMemory,
    ) -> Self {
        Self {
            earlier: earlier.into(),
            replay,
            sent: after,
            memory,
            is_broken: false,
        }
    }

    /// Returns whether all events were sent.
    pub(crate) fn is_end(&self) -> bool {
        self.earlier.is_empty() && self.replay.as_ref().is_none_or(Replayed::is_end)
    }

    /// Returns the next event. Returns `None` if all events were sent.
    ///
    /// # Errors
    /// The errors of [`Replayed::poll_next`].
    pub(crate) fn poll_next(
        &mut self,
        stream: &Stream,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, EventStoreError>> {
        while let Some(earlier) = self.earlier.front_mut() {
            if let Some(event) = ready!(earlier.poll_next(cx, &mut self.memory))? {
                return Poll::Ready(Ok(Some(event)));
            }
            self.earlier.pop_front();
        }
        let Some(replay) = &mut self.replay else {
            self.memory.release();
            return Poll::Ready(Ok(None));
        };
        let event = ready!(replay.poll_next(cx, &mut self.memory))?;
        if event.is_some() {
            self.sent += 1;
            stream.mark_taken(self.sent);
            return Poll::Ready(Ok(event));
        }
        self.replay = None;
        self.memory.release();
        Poll::Ready(Ok(None))
    }
}

/// The permit for the memory of events that were read but not sent yet.
pub(crate) struct ReplayMemory {
    permit: Permit,
    owner: Option<KnownOwner>,
    /// Number of counted bytes, which is the size of the largest part so far.
    charged: usize,
}

impl ReplayMemory {
    /// Creates the value from a permit that already contains `charged` bytes for events.
    pub(crate) fn new(permit: Permit, owner: Option<KnownOwner>, charged: usize) -> Self {
        Self {
            permit,
            owner,
            charged,
        }
    }

    /// Releases the memory of events.
    fn release(&mut self) {
        let kept = self.permit.units().saturating_sub(self.charged);
        self.permit.shrink_to(kept);
        self.charged = 0;
    }

    fn charge(&mut self, events: &VecDeque<Bytes>) -> Result<(), EventStoreError> {
        let bytes = events.iter().map(|event| event.len() + EVENT_COST).sum();
        if bytes > self.charged {
            let grown = self
                .permit
                .try_grow(bytes - self.charged, || self.owner.clone());
            grown.map_err(|_| {
                EventStoreError::new(
                    "the open streams use all bytes of MemoryLimits::max_stream_bytes",
                )
            })?;
            self.charged = bytes;
        }
        Ok(())
    }
}
