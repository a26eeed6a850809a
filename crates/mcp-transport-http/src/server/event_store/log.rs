//! The stored events of one session. There is a queue for each stream, and one queue with the arrival order of all events. The
//! log has no clock and no lock: both are in the store.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::Replay;
use crate::server::session_id::SessionId;

/// Memory of an event in addition to its data, in bytes: entries in two queues, which may be half empty, and the header of its
/// buffer.
pub(super) const EVENT_COST: usize = 2 * (size_of::<Event>() + size_of::<Arrival>()) + 64;
/// Memory of a stream, with or without events, in bytes: an entry in a table that may be half empty, and the smallest queue.
pub(super) const STREAM_COST: usize = 2 * size_of::<(u32, StreamLog)>() + 4 * size_of::<Event>();
/// Memory of a session that has had at least one event, in bytes.
pub(super) const SESSION_COST: usize = 2 * size_of::<(SessionId, SessionLog)>();

/// Number of stale entries that the arrival queue may always have.
const MAX_STALE: usize = 32;
/// A queue or table with at most this capacity is not shrunk.
const MIN_SHRUNK: usize = 64;

/// The events of one session.
#[derive(Debug, Default)]
pub(super) struct SessionLog {
    streams: HashMap<u32, StreamLog>,
    /// The number of streams that have no events any more. Their entries record which events were dropped.
    empty_streams: usize,
    /// One entry for each event, in the order of arrival. An entry whose event was removed is stale. Stale entries are removed
    /// when they outnumber the other entries.
    arrivals: VecDeque<Arrival>,
    /// The number of stored events.
    events: usize,
    /// The memory of the stored events and streams, in bytes.
    bytes: usize,
    /// The arrival number that the next event gets.
    next_arrival: u64,
    /// Streams whose number is not greater than this number may have lost events, even if the log has no entry for them.
    forgotten_up_to: Option<u32>,
}

/// The events of one stream.
#[derive(Debug)]
struct StreamLog {
    /// The sequence number of the last dropped event. The first stored event has the next number.
    dropped_up_to: u64,
    events: VecDeque<Event>,
    /// The time at which the last event arrived.
    last_at: Instant,
}

#[derive(Debug)]
struct Event {
    arrival: u64,
    data: Bytes,
}

/// The position of an event in the order of arrival.
#[derive(Debug)]
struct Arrival {
    arrival: u64,
    at: Instant,
    stream: u32,
}

impl SessionLog {
    /// Returns whether the log has no events, and no record of dropped events.
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.forgotten_up_to.is_none()
    }

    /// Returns the memory of the session, in bytes.
    pub(super) fn footprint(&self) -> usize {
        if self.is_empty() {
            0
        } else {
            SESSION_COST + self.bytes
        }
    }

    /// Stores one event.
    pub(super) fn append(&mut self, stream: u32, sequence: u64, data: Bytes, now: Instant) {
        let (arrival, cost) = (self.next_arrival, EVENT_COST + data.len());
        let mut kept = self.stream(stream, sequence, now);
        let last = kept.last();
        if sequence <= last {
            return;
        }
        if sequence - last > 1 {
            // The endpoint numbers events without gaps. After a gap, a replay would be incomplete.
            self.skip(stream, sequence - 1, now);
            kept = self.stream(stream, sequence, now);
        }
        let was_empty = kept.events.is_empty();
        kept.last_at = now;
        kept.events.push_back(Event { arrival, data });
        self.arrivals.push_back(Arrival {
            arrival,
            at: now,
            stream,
        });
        self.empty_streams -= usize::from(was_empty);
        self.next_arrival += 1;
        self.events += 1;
        self.bytes += cost;
    }

    /// Records that the events of a stream up to `sequence` are not stored, and drops the stored events of the stream.
    pub(super) fn skip(&mut self, stream: u32, sequence: u64, now: Instant) {
        let kept = self.stream(stream, sequence, now);
        let (events, bytes) = kept.cost();
        kept.last_at = now;
        kept.dropped_up_to = kept.last().max(sequence);
        kept.events = VecDeque::new();
        self.empty_streams += usize::from(events > 0);
        self.subtract(events, bytes);
    }

    /// Drops the oldest event. If the entries of streams without events use most of the memory, drops these entries instead.
    /// Returns `false` if there was nothing to drop.
    pub(super) fn evict(&mut self) -> bool {
        if self.empty_streams * STREAM_COST > self.bytes / 2 {
            self.forget_empty(|_| true);
            return true;
        }
        while let Some(arrival) = pop(&mut self.arrivals) {
            if self.drop_event(&arrival) {
                return true;
            }
        }
        false
    }

    /// Drops all events, and all records of dropped events, that are older than `retention`.
    pub(super) fn expire(&mut self, now: Instant, retention: Duration) {
        let is_over = |at: Instant| now.saturating_duration_since(at) >= retention;
        while self
            .arrivals
            .front()
            .is_some_and(|arrival| is_over(arrival.at))
        {
            if let Some(arrival) = pop(&mut self.arrivals) {
                self.drop_event(&arrival);
            }
        }
        if self.empty_streams > 0 {
            self.forget_empty(|kept| is_over(kept.last_at));
        }
    }

    /// Removes a stream, its events and its record of dropped events.
    pub(super) fn forget(&mut self, stream: u32) {
        let Some(kept) = self.streams.remove(&stream) else {
            return;
        };
        let (events, bytes) = kept.cost();
        self.empty_streams -= usize::from(events == 0);
        self.subtract(events, bytes + STREAM_COST);
        self.shrink();
    }

    /// Returns the events of a stream after the event `after`.
    pub(super) fn replay(&self, stream: u32, after: u64, bytes: usize) -> Replay {
        let Some(kept) = self.streams.get(&stream) else {
            let is_lost = self
                .forgotten_up_to
                .is_some_and(|forgotten_up_to| stream <= forgotten_up_to);
            return if is_lost {
                Replay::Gone
            } else {
                unknown(after)
            };
        };
        let Some(seen) = after.checked_sub(kept.dropped_up_to) else {
            return Replay::Gone;
        };
        let seen = usize::try_from(seen).unwrap_or(usize::MAX);
        let missed = kept.events.iter().skip(seen).map(|event| &event.data);
        let mut left = bytes;
        let part = missed.take_while(|event| {
            let is_next = left > 0;
            left = left.saturating_sub(event.len());
            is_next
        });
        Replay::Events(part.cloned().collect())
    }

    /// Returns the entry of the stream. If there is no entry, creates one for a stream whose first event is `sequence`.
    fn stream(&mut self, stream: u32, sequence: u64, now: Instant) -> &mut StreamLog {
        match self.streams.entry(stream) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                self.empty_streams += 1;
                self.bytes += STREAM_COST;
                entry.insert(StreamLog {
                    dropped_up_to: sequence.saturating_sub(1),
                    events: VecDeque::new(),
                    last_at: now,
                })
            }
        }
    }

    /// Drops the event to which an arrival entry belongs. Returns `false` if the entry is stale.
    fn drop_event(&mut self, arrival: &Arrival) -> bool {
        let Some(kept) = self.streams.get_mut(&arrival.stream) else {
            return false;
        };
        // The oldest stored event is the first of its stream.
        let is_live = |event: &Event| event.arrival == arrival.arrival;
        if !kept.events.front().is_some_and(is_live) {
            return false;
        }
        let bytes = pop(&mut kept.events).map_or(0, |event| EVENT_COST + event.data.len());
        kept.dropped_up_to = kept.dropped_up_to.saturating_add(1);
        self.empty_streams += usize::from(kept.events.is_empty());
        self.events -= 1;
        self.bytes -= bytes;
        true
    }

    /// Removes the entries of streams without events for which `is_over` returns `true`. Only the largest of their stream
    /// numbers is kept.
    fn forget_empty(&mut self, is_over: impl Fn(&StreamLog) -> bool) {
        let (before, forgotten_up_to) = (self.streams.len(), &mut self.forgotten_up_to);
        self.streams.retain(|number, kept| {
            let is_over = kept.events.is_empty() && is_over(kept);
            if is_over {
                *forgotten_up_to = (*forgotten_up_to).max(Some(*number));
            }
            !is_over
        });
        let dropped = before - self.streams.len();
        self.empty_streams -= dropped;
        self.bytes -= dropped * STREAM_COST;
        self.shrink();
    }

    /// Subtracts removed events from the totals. Removes stale entries if they outnumber the other entries.
    fn subtract(&mut self, events: usize, bytes: usize) {
        self.events -= events;
        self.bytes -= bytes;
        if self.arrivals.len() > 2 * self.events + MAX_STALE {
            // A stream that was removed and used again has later arrivals than before.
            let streams = &self.streams;
            let first = |arrival: &Arrival| streams.get(&arrival.stream)?.events.front();
            self.arrivals.retain(|arrival| {
                first(arrival).is_some_and(|event| event.arrival <= arrival.arrival)
            });
            self.arrivals.shrink_to_fit();
        }
    }

    /// Shrinks the table of streams if at least three quarters of it are empty.
    fn shrink(&mut self) {
        let places = self.streams.capacity();
        if places > MIN_SHRUNK && self.streams.len() < places / 4 {
            self.streams.shrink_to(places / 2);
        }
    }
}

impl StreamLog {
    /// Returns the sequence number of the last event of the stream.
    fn last(&self) -> u64 {
        let kept = u64::try_from(self.events.len()).unwrap_or(u64::MAX);
        self.dropped_up_to.saturating_add(kept)
    }

    /// Returns the number of stored events of the stream, and their memory in bytes.
    fn cost(&self) -> (usize, usize) {
        let bytes: usize = self.events.iter().map(|event| event.data.len()).sum();
        (self.events.len(), bytes + self.events.len() * EVENT_COST)
    }
}

/// Returns the replay of a stream that the log does not know. If the client has received events of this stream, they and all
/// later events were dropped.
pub(super) fn unknown(after: u64) -> Replay {
    if after == 0 {
        Replay::Events(Vec::new())
    } else {
        Replay::Gone
    }
}

/// Removes and returns the first element. Shrinks the queue if at least three quarters of it are empty.
fn pop<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.capacity() > MIN_SHRUNK && queue.len() < queue.capacity() / 4 {
        queue.shrink_to(2 * queue.len());
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends events without data, with these sequence numbers.
    fn append(
        log: &mut SessionLog,
        stream: u32,
        sequences: std::ops::RangeInclusive<u64>,
        now: Instant,
    ) {
        for sequence in sequences {
            log.append(stream, sequence, Bytes::new(), now);
        }
    }

    #[test]
    fn stale_arrivals_are_removed() {
        let (mut log, now) = (SessionLog::default(), Instant::now());
        append(&mut log, 1, 1..=2, now);
        append(&mut log, 2, 1..=1_000, now);
        append(&mut log, 1, 3..=3, now);
        log.forget(2);
        assert_eq!(log.arrivals.len(), 3);
        for round in 2..1_000 {
            append(&mut log, round, 1..=1, now);
            log.forget(round);
            assert!(log.arrivals.len() <= 2 * log.events + MAX_STALE + 1);
        }
        assert_eq!(
            (log.streams.len(), log.empty_streams, log.events),
            (1, 0, 3)
        );
        log.expire(now, Duration::ZERO);
        assert_eq!(
            (log.streams.len(), log.arrivals.len(), log.bytes),
            (0, 0, 0)
        );
    }

    #[test]
    fn the_memory_of_removed_events_is_released() {
        let (mut log, now) = (SessionLog::default(), Instant::now());
        append(&mut log, 1, 1..=10_000, now);
        (2..10_000).for_each(|stream| append(&mut log, stream, 1..=1, now));
        for _ in 0..9_900 {
            assert!(log.evict());
        }
        assert!(log.streams[&1].events.capacity() <= 1_000);
        (2..10_000).for_each(|stream| log.forget(stream));
        assert!(log.arrivals.capacity() <= 1_000);
        assert!(log.streams.capacity() <= 2 * MIN_SHRUNK);
    }
}
