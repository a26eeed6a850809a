//! Counts the events that this process has stored in Redis, so that clients cannot fill Redis.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Duration;

use mcp_transport_http::{SessionId, StreamKey};
use tokio::time::Instant;

/// Memory for an event in Redis in addition to its text, in bytes.
const EVENT_COST: usize = 128;
/// Size in bytes above which a text can take a quarter more memory than its length, because Redis allocates memory in steps.
const EXACT_BYTES: usize = STREAM_COST;
/// Memory for a stream in Redis and for its record in this process, in bytes. Redis allocates 4 KiB for the first events.
const STREAM_COST: usize = 4_640;

/// Limits of the stored events of one process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredLimits {
    pub(crate) retention: Duration,
    pub(crate) stream_events: usize,
    pub(crate) session_bytes: usize,
    pub(crate) total_bytes: usize,
}

/// The stored events, by session and stream. If a session exceeds its limit, it loses its own oldest events. At the limit of all
/// sessions, the largest session loses its oldest stream.
#[derive(Debug, Default)]
pub(crate) struct StoredEvents {
    sessions: HashMap<SessionId, Session>,
    /// The size of each session, in ascending order, with the session.
    sizes: BTreeSet<(usize, [u8; 32])>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Session {
    streams: HashMap<u32, Stream>,
    bytes: usize,
}

#[derive(Debug)]
struct Stream {
    /// The sequence number of the oldest event that this process has stored.
    first: u64,
    /// Whether another process has stored the events before `first`.
    is_foreign: bool,
    /// The size of each event from `first` on, in bytes.
    sizes: VecDeque<u32>,
    bytes: usize,
    last: Instant,
}

/// The stored events that must be removed to make room for a new event.
#[derive(Debug, PartialEq)]
pub(crate) struct Room {
    /// All events of the same stream with a lower sequence number are removed; 0 removes no events.
    pub(crate) first: u64,
    /// The other streams that must be removed.
    pub(crate) streams: Vec<StreamKey>,
}

impl StoredEvents {
    /// Records an event with this size. Returns the events that must be removed; `None` if there is no room for the event.
    pub(crate) fn add(
        &mut self,
        key: StreamKey,
        sequence: u64,
        length: usize,
        limits: &StoredLimits,
        now: Instant,
    ) -> Option<Room> {
        let steps = if length > EXACT_BYTES { length / 4 } else { 0 };
        let cost = length + steps + EVENT_COST;
        if cost + STREAM_COST > limits.total_bytes {
            return None;
        }
        let cost = u32::try_from(cost).ok()?;
        let StreamKey { session: id, .. } = key;
        let limit = (limits.session_bytes, limits.stream_events);
        let removed = self.change(id, |session| {
            session.add(key.stream, sequence, cost, limit, now)
        })?;
        let mut streams: Vec<_> = removed
            .into_iter()
            .map(|one| StreamKey::new(id, one))
            .collect();
        while self.bytes > limits.total_bytes {
            // The new event is not removed to make room for itself.
            let has_others = self
                .sessions
                .get(&id)
                .is_some_and(Session::has_several_events);
            let by_size = self.sizes.iter().rev();
            let mut by_size = by_size.map(|(_, id)| SessionId::from_bytes(*id));
            let largest = by_size.find(|other| *other != id || has_others)?;
            let removed = self.change(largest, |session| match largest == id {
                true => session.drop_oldest_except(key.stream),
                false => session.drop_oldest(),
            });
            streams.extend(removed.map(|stream| StreamKey::new(largest, stream)));
        }
        let stream = self.sessions.get(&id)?.streams.get(&key.stream)?;
        Some(Room {
            first: stream.oldest(),
            streams,
        })
    }

    /// Changes the record of a session, and updates the counted sizes.
    fn change<T>(&mut self, id: SessionId, change: impl FnOnce(&mut Session) -> T) -> T {
        let session = self.sessions.entry(id).or_default();
        let before = session.bytes;
        let changed = change(session);
        let after = session.bytes;
        if session.streams.is_empty() {
            self.sessions.remove(&id);
        }
        self.bytes = self.bytes - before + after;
        self.sizes.remove(&(before, *id.as_bytes()));
        if after > 0 {
            self.sizes.insert((after, *id.as_bytes()));
        }
        changed
    }

    /// Removes the record of a stream.
    pub(crate) fn forget_stream(&mut self, key: StreamKey) {
        self.change(key.session, |session| session.remove(key.stream));
    }

    /// Removes the record of a session. Returns the streams of the session.
    pub(crate) fn forget_session(&mut self, session: SessionId) -> Vec<u32> {
        self.change(session, |session| {
            session.bytes = 0;
            session.streams.drain().map(|(stream, _)| stream).collect()
        })
    }

    /// Removes the records of streams that have expired in Redis.
    pub(crate) fn expire(&mut self, retention: Duration, now: Instant) {
        let is_expired = |stream: &Stream| now.duration_since(stream.last) > retention;
        let mut expired = Vec::new();
        for (id, session) in &self.sessions {
            let streams = session.streams.iter();
            let streams = streams.filter(|(_, stream)| is_expired(stream));
            expired.extend(streams.map(|(stream, _)| StreamKey::new(*id, *stream)));
        }
        for key in expired {
            self.forget_stream(key);
        }
    }
}

impl Session {
    /// Adds an event to a stream. Returns the other streams that were removed to make room for the event; `None` if the event is
    /// larger than the limit.
    fn add(
        &mut self,
        number: u32,
        sequence: u64,
        cost: u32,
        (allowed, max_events): (usize, usize),
        now: Instant,
    ) -> Option<Vec<u32>> {
        let bytes = cost as usize;
        if bytes + STREAM_COST > allowed {
            return None;
        }
        let next = self.streams.get(&number).map(Stream::next);
        if next.is_some_and(|next| sequence < next) {
            // The event is stored already.
            return Some(Vec::new());
        }
        // If an event in between was not stored, the earlier events cannot be replayed.
        let has_gap = next.is_some_and(|next| sequence > next);
        if has_gap {
            self.remove(number);
        }
        let stream = self.streams.entry(number).or_insert_with(|| {
            self.bytes += STREAM_COST;
            Stream {
                first: sequence,
                is_foreign: sequence > 1 && !has_gap,
                sizes: VecDeque::new(),
                bytes: STREAM_COST,
                last: now,
            }
        });
        stream.sizes.push_back(cost);
        stream.bytes += bytes;
        stream.last = now;
        self.bytes += bytes;
        while stream.sizes.len() > max_events.max(1) {
            self.bytes -= stream.drop_first();
        }
        let mut removed = Vec::new();
        while self.bytes > allowed {
            removed.extend(self.drop_oldest_except(number));
        }
        Some(removed)
    }

    fn has_several_events(&self) -> bool {
        self.streams.len() > 1 || self.streams.values().any(|stream| stream.sizes.len() > 1)
    }

    /// Removes the record of the least recently used stream. Returns the number of the stream.
    fn drop_oldest(&mut self) -> Option<u32> {
        let oldest = self.streams.iter().min_by_key(|(_, stream)| stream.last);
        let oldest = *oldest?.0;
        self.remove(oldest);
        Some(oldest)
    }

    /// Removes the least recently used stream like [`drop_oldest`](Self::drop_oldest), but never removes the stream `kept`. If
    /// there is no other stream, removes the oldest event of `kept`.
    fn drop_oldest_except(&mut self, kept: u32) -> Option<u32> {
        let others = self.streams.iter().filter(|(number, _)| **number != kept);
        let oldest = others.min_by_key(|(_, stream)| stream.last);
        let Some((oldest, _)) = oldest else {
            let stream = self.streams.get_mut(&kept)?;
            self.bytes -= stream.drop_first();
            return None;
        };
        let oldest = *oldest;
        self.remove(oldest);
        Some(oldest)
    }

    /// Removes the record of a stream, and returns its size in bytes.
    fn remove(&mut self, number: u32) -> usize {
        let bytes = self
            .streams
            .remove(&number)
            .map_or(0, |stream| stream.bytes);
        self.bytes -= bytes;
        bytes
    }
}

impl Stream {
    /// Returns the sequence number of the oldest event that is kept in Redis; 0 if another process has stored earlier events.
    fn oldest(&self) -> u64 {
        if self.is_foreign { 0 } else { self.first }
    }

    /// Returns the sequence number that the next event gets.
    fn next(&self) -> u64 {
        self.first + self.sizes.len() as u64
    }

    /// Removes the oldest event, and the earlier events of other processes. Returns the size of the oldest event in bytes.
    fn drop_first(&mut self) -> usize {
        let bytes = self.sizes.pop_front().map_or(0, |size| size as usize);
        self.first += 1;
        self.is_foreign = false;
        self.bytes -= bytes;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The unit of the sizes in these tests, in bytes.
    const UNIT: usize = STREAM_COST;

    const LIMITS: StoredLimits = StoredLimits {
        retention: Duration::from_secs(60),
        stream_events: 4,
        session_bytes: 8 * UNIT,
        total_bytes: 16 * UNIT,
    };

    fn key(session: u8, stream: u32) -> StreamKey {
        StreamKey::new(SessionId::from_bytes([session; 32]), stream)
    }

    /// Returns the length of an event that has this size with its overhead.
    fn length(units: usize) -> usize {
        let cost = units * UNIT - EVENT_COST;
        match cost > EXACT_BYTES {
            true => cost / 5 * 4 + cost % 5,
            false => cost,
        }
    }

    fn room(first: u64, streams: &[StreamKey]) -> Option<Room> {
        let streams = streams.to_vec();
        Some(Room { first, streams })
    }

    #[test]
    fn a_session_loses_its_oldest_events() {
        let mut stored = StoredEvents::default();
        let now = Instant::now();
        let mut add = |stream, sequence, units, after| {
            let now = now + Duration::from_secs(after);
            stored.add(key(1, stream), sequence, length(units), &LIMITS, now)
        };
        for sequence in 1..=4 {
            assert_eq!(add(1, sequence, 1, 0), room(1, &[]));
        }
        // The limit of the events of a stream.
        assert_eq!(add(1, 5, 1, 0), room(2, &[]));
        // An event that is stored already.
        assert_eq!(add(1, 4, 1, 0), room(2, &[]));
        assert_eq!(add(2, 1, 1, 1), room(1, &[]));
        // The least recently used stream is removed first, then the oldest events of the stream itself.
        assert_eq!(add(2, 2, 2, 2), room(1, &[key(1, 1)]));
        assert_eq!(add(2, 3, 5, 2), room(2, &[]));
        // After an event that was not stored.
        assert_eq!(add(2, 7, 1, 2), room(7, &[]));
        assert_eq!(add(3, 1, 8, 3), None);
        assert_eq!(add(3, 1, 7, 3), room(1, &[key(1, 2)]));
        assert_eq!(stored.bytes, 8 * UNIT);
        stored.expire(Duration::from_secs(60), now + Duration::from_secs(64));
        assert!(stored.sessions.is_empty());
        assert_eq!(stored.bytes, 0);
    }

    #[test]
    fn events_that_another_process_has_stored_are_kept() {
        let mut stored = StoredEvents::default();
        let now = Instant::now();
        let mut add = |sequence| stored.add(key(1, 1), sequence, 10, &LIMITS, now);
        assert_eq!(add(3), room(0, &[]));
        assert_eq!(add(4), room(0, &[]));
        assert_eq!(add(6), room(6, &[]));
    }

    /// Previously, one client could use up the space of all other clients.
    #[test]
    fn the_largest_session_loses_a_stream_at_the_total_limit() {
        let mut stored = StoredEvents::default();
        let now = Instant::now();
        let mut add = |session, stream, units| {
            stored.add(key(session, stream), 1, length(units), &LIMITS, now)
        };
        assert_eq!(add(1, 1, 7), room(1, &[]));
        assert_eq!(add(2, 1, 6), room(1, &[]));
        assert_eq!(add(3, 1, 1), room(1, &[key(1, 1)]));
        assert_eq!(add(1, 2, 6), room(1, &[]));
        assert_eq!(add(2, 2, 1), room(1, &[key(2, 1)]));
        assert_eq!(stored.forget_session(key(3, 1).session), [1]);
        for key in [key(1, 2), key(2, 2)] {
            stored.forget_stream(key);
        }
        assert_eq!(stored.bytes, 0);
        assert!(stored.sessions.is_empty() && stored.sizes.is_empty());
    }

    /// Previously, a new event could be removed to make room for itself. With small limits, the search for room did not end.
    #[test]
    fn a_new_event_is_kept_even_if_its_session_is_the_largest() {
        let limits = StoredLimits {
            total_bytes: 4 * UNIT,
            ..LIMITS
        };
        let mut stored = StoredEvents::default();
        let now = Instant::now();
        assert_eq!(
            stored.add(key(1, 1), 1, length(1), &limits, now),
            room(1, &[])
        );
        for session in 2..6 {
            let added = stored.add(key(session, 1), 1, length(3), &limits, now);
            assert_eq!(added, room(1, &[key(session - 1, 1)]));
        }
        assert_eq!(stored.bytes, 4 * UNIT);
    }

    #[test]
    fn a_new_event_replaces_earlier_events_of_its_stream_at_the_total_limit() {
        let limits = StoredLimits {
            total_bytes: 4 * UNIT,
            ..LIMITS
        };
        let mut stored = StoredEvents::default();
        let now = Instant::now();
        let mut add = |sequence, length| stored.add(key(1, 1), sequence, length, &limits, now);
        assert_eq!(add(1, length(3) + 1), None);
        for sequence in 1..4 {
            assert_eq!(add(sequence, length(3)), room(sequence, &[]));
        }
        assert_eq!(stored.bytes, 4 * UNIT);
    }
}
