//! What is kept of one session: a queue of events per stream, and one line for all of them in the
//! order of their arrival. No clock and no lock; the store has both.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::Replay;
use crate::server::session::id::SessionId;

/// What an event costs beside its bytes: its places in two queues, which may be half empty, and
/// the header of its buffer.
pub(super) const EVENT: usize = 2 * (size_of::<Event>() + size_of::<Age>()) + 64;
/// What a stream costs, with or without events: its place in a table that may be half empty, and
/// the smallest queue.
pub(super) const STREAM: usize = 2 * size_of::<(u32, Kept)>() + 4 * size_of::<Event>();
/// What a session costs that has ever had an event.
pub(super) const SESSION: usize = 2 * size_of::<(SessionId, Log)>();

/// How many places of dead events in the line are not worth cleaning up.
const DEAD: usize = 32;
/// How large a queue is not worth shrinking.
const SMALL: usize = 64;

/// The events of one session.
#[derive(Debug, Default)]
pub(super) struct Log {
    streams: HashMap<u32, Kept>,
    /// How many of the streams have no events any more, but tell which they had.
    emptied: usize,
    /// Every event in the order of arrival. Dead ones, which left with their stream, stay in
    /// line until there are more of them than of the others.
    line: VecDeque<Age>,
    /// How many events are kept.
    events: usize,
    /// What events and streams cost.
    bytes: usize,
    /// Counts arrivals.
    arrivals: u64,
    /// Streams up to this number may have lost events that nothing else here tells of.
    lost: Option<u32>,
}

/// The events of one stream.
#[derive(Debug)]
struct Kept {
    /// Up to this number they are dropped; the first one kept follows it.
    gone: u64,
    events: VecDeque<Event>,
    /// When the last one came.
    last_at: Instant,
}

#[derive(Debug)]
struct Event {
    arrival: u64,
    data: Bytes,
}

/// Since when an event is kept.
#[derive(Debug)]
struct Age {
    arrival: u64,
    at: Instant,
    stream: u32,
}

impl Log {
    /// Whether nothing needs to be remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty() && self.lost.is_none()
    }

    /// What it costs.
    pub(super) fn footprint(&self) -> usize {
        if self.is_empty() {
            0
        } else {
            SESSION + self.bytes
        }
    }

    /// Keeps one event.
    pub(super) fn append(&mut self, stream: u32, sequence: u64, data: Bytes, now: Instant) {
        let (arrival, cost) = (self.arrivals, EVENT + data.len());
        let mut kept = self.stream(stream, sequence, now);
        let last = kept.last();
        if sequence <= last {
            return;
        }
        if sequence - last > 1 {
            // Nobody numbers like that, but a replay across the gap would have a hole.
            self.skip(stream, sequence - 1, now);
            kept = self.stream(stream, sequence, now);
        }
        let was_empty = kept.events.is_empty();
        kept.last_at = now;
        kept.events.push_back(Event { arrival, data });
        self.line.push_back(Age {
            arrival,
            at: now,
            stream,
        });
        self.emptied -= usize::from(was_empty);
        self.arrivals += 1;
        self.events += 1;
        self.bytes += cost;
    }

    /// Remembers that the events of a stream up to this one are not kept.
    pub(super) fn skip(&mut self, stream: u32, sequence: u64, now: Instant) {
        let kept = self.stream(stream, sequence, now);
        let (events, bytes) = kept.cost();
        kept.last_at = now;
        kept.gone = kept.last().max(sequence);
        kept.events = VecDeque::new();
        self.emptied += usize::from(events > 0);
        self.settle(events, bytes);
    }

    /// Drops the oldest event, or what is remembered of streams without events, if that is the
    /// larger part. `false` if there was nothing to drop.
    pub(super) fn evict(&mut self) -> bool {
        if self.emptied * STREAM > self.bytes / 2 {
            self.give_up(|_| true);
            return true;
        }
        while let Some(age) = pop(&mut self.line) {
            if self.drop_event(&age) {
                return true;
            }
        }
        false
    }

    /// Drops what has been here for the whole window.
    pub(super) fn expire(&mut self, now: Instant, window: Duration) {
        let is_over = |at: Instant| now.saturating_duration_since(at) >= window;
        while self.line.front().is_some_and(|age| is_over(age.at)) {
            if let Some(age) = pop(&mut self.line) {
                self.drop_event(&age);
            }
        }
        if self.emptied > 0 {
            self.give_up(|kept| is_over(kept.last_at));
        }
    }

    /// Drops a stream and everything known of it.
    pub(super) fn forget(&mut self, stream: u32) {
        let Some(kept) = self.streams.remove(&stream) else {
            return;
        };
        let (events, bytes) = kept.cost();
        self.emptied -= usize::from(events == 0);
        self.settle(events, bytes + STREAM);
        self.slim();
    }

    /// The events of a stream after this one.
    pub(super) fn replay(&self, stream: u32, after: u64) -> Replay {
        let Some(kept) = self.streams.get(&stream) else {
            let is_lost = self.lost.is_some_and(|lost| stream <= lost);
            return if is_lost {
                Replay::Gone
            } else {
                unknown(after)
            };
        };
        let Some(seen) = after.checked_sub(kept.gone) else {
            return Replay::Gone;
        };
        let seen = usize::try_from(seen).unwrap_or(usize::MAX);
        let missed = kept.events.iter().skip(seen);
        Replay::Events(missed.map(|event| event.data.clone()).collect())
    }

    /// The stream, which begins with this event if it is new here.
    fn stream(&mut self, stream: u32, sequence: u64, now: Instant) -> &mut Kept {
        match self.streams.entry(stream) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                self.emptied += 1;
                self.bytes += STREAM;
                entry.insert(Kept {
                    gone: sequence.saturating_sub(1),
                    events: VecDeque::new(),
                    last_at: now,
                })
            }
        }
    }

    /// Drops the event that has this age. `false` if it is dead.
    fn drop_event(&mut self, age: &Age) -> bool {
        let Some(kept) = self.streams.get_mut(&age.stream) else {
            return false;
        };
        // The oldest live event is the first of its stream.
        let is_live = |event: &Event| event.arrival == age.arrival;
        if !kept.events.front().is_some_and(is_live) {
            return false;
        }
        let bytes = pop(&mut kept.events).map_or(0, |event| EVENT + event.data.len());
        kept.gone = kept.gone.saturating_add(1);
        self.emptied += usize::from(kept.events.is_empty());
        self.events -= 1;
        self.bytes -= bytes;
        true
    }

    /// Forgets streams without events, except that there were some.
    fn give_up(&mut self, is_over: impl Fn(&Kept) -> bool) {
        let (before, lost) = (self.streams.len(), &mut self.lost);
        self.streams.retain(|number, kept| {
            let is_over = kept.events.is_empty() && is_over(kept);
            if is_over {
                *lost = (*lost).max(Some(*number));
            }
            !is_over
        });
        let dropped = before - self.streams.len();
        self.emptied -= dropped;
        self.bytes -= dropped * STREAM;
        self.slim();
    }

    /// Takes events that left out of turn off the account, and out of the line when most of it
    /// is dead.
    fn settle(&mut self, events: usize, bytes: usize) {
        self.events -= events;
        self.bytes -= bytes;
        if self.line.len() > 2 * self.events + DEAD {
            // A stream that came again has later arrivals than the one that left.
            let streams = &self.streams;
            let first = |age: &Age| streams.get(&age.stream)?.events.front();
            self.line
                .retain(|age| first(age).is_some_and(|event| event.arrival <= age.arrival));
            self.line.shrink_to_fit();
        }
    }

    /// Gives memory back once three quarters of the table are empty.
    fn slim(&mut self) {
        let places = self.streams.capacity();
        if places > SMALL && self.streams.len() < places / 4 {
            self.streams.shrink_to(places / 2);
        }
    }
}

impl Kept {
    /// The number of the last event there was.
    fn last(&self) -> u64 {
        let kept = u64::try_from(self.events.len()).unwrap_or(u64::MAX);
        self.gone.saturating_add(kept)
    }

    /// How many events there are, and what they cost.
    fn cost(&self) -> (usize, usize) {
        let bytes: usize = self.events.iter().map(|event| event.data.len()).sum();
        (self.events.len(), bytes + self.events.len() * EVENT)
    }
}

/// What there is to replay of a stream that nothing is known of: it has had no events, and who
/// has seen some has seen what was forgotten.
pub(super) fn unknown(after: u64) -> Replay {
    if after == 0 {
        Replay::Events(Vec::new())
    } else {
        Replay::Gone
    }
}

/// Takes the first, and gives memory back once three quarters of the queue are empty.
fn pop<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.capacity() > SMALL && queue.len() < queue.capacity() / 4 {
        queue.shrink_to(2 * queue.len());
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appends empty events.
    fn append(log: &mut Log, stream: u32, sequences: std::ops::RangeInclusive<u64>, now: Instant) {
        for sequence in sequences {
            log.append(stream, sequence, Bytes::new(), now);
        }
    }

    #[test]
    fn dead_events_leave_the_line() {
        let (mut log, now) = (Log::default(), Instant::now());
        append(&mut log, 1, 1..=2, now);
        append(&mut log, 2, 1..=1_000, now);
        append(&mut log, 1, 3..=3, now);
        log.forget(2);
        assert_eq!(log.line.len(), 3);
        for round in 2..1_000 {
            append(&mut log, round, 1..=1, now);
            log.forget(round);
            assert!(log.line.len() <= 2 * log.events + DEAD + 1);
        }
        assert_eq!((log.streams.len(), log.emptied, log.events), (1, 0, 3));
        log.expire(now, Duration::ZERO);
        assert_eq!((log.streams.len(), log.line.len(), log.bytes), (0, 0, 0));
    }

    #[test]
    fn memory_is_given_back() {
        let (mut log, now) = (Log::default(), Instant::now());
        append(&mut log, 1, 1..=10_000, now);
        (2..10_000).for_each(|stream| append(&mut log, stream, 1..=1, now));
        for _ in 0..9_900 {
            assert!(log.evict());
        }
        assert!(log.streams[&1].events.capacity() <= 1_000);
        (2..10_000).for_each(|stream| log.forget(stream));
        assert!(log.line.capacity() <= 1_000);
        assert!(log.streams.capacity() <= 2 * SMALL);
    }
}
