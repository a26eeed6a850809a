//! Which events a process has stored in Redis, so that clients cannot fill it.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use mcp_transport_http::{SessionId, StreamKey};
use tokio::time::Instant;

/// Memory of an event in Redis besides its text, in bytes.
const EVENT_COST: usize = 64;
/// Memory of a stream in Redis and of its record here, in bytes.
const STREAM_COST: usize = 512;

/// Limits of the stored events of one process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredLimits {
    pub(crate) retention: Duration,
    pub(crate) stream_events: usize,
    pub(crate) session_bytes: usize,
    pub(crate) total_bytes: usize,
}

/// The stored events by session and stream. A session that exceeds a limit loses its own oldest events.
#[derive(Debug, Default)]
pub(crate) struct StoredEvents {
    sessions: HashMap<SessionId, Session>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Session {
    streams: HashMap<u32, Stream>,
    bytes: usize,
}

#[derive(Debug)]
struct Stream {
    /// The sequence number of the oldest event.
    first: u64,
    /// The sizes of the events.
    sizes: VecDeque<u32>,
    bytes: usize,
    last: Instant,
}

/// What to remove when an event is stored.
#[derive(Debug, PartialEq)]
pub(crate) struct Room {
    /// The events of the stream before this one.
    pub(crate) first: u64,
    /// Other streams of the session.
    pub(crate) streams: Vec<u32>,
}

impl StoredEvents {
    /// Records an event with this size. Returns what to remove for it; `None` if there is no room for the event.
    pub(crate) fn add(
        &mut self,
        key: StreamKey,
        sequence: u64,
        length: usize,
        limits: &StoredLimits,
        now: Instant,
    ) -> Option<Room> {
        let cost = u32::try_from(length + EVENT_COST).ok()?;
        let session = self.sessions.entry(key.session).or_default();
        let before = session.bytes;
        let of_others = self.bytes - before;
        let allowed = limits
            .session_bytes
            .min(limits.total_bytes.saturating_sub(of_others));
        let room = session.add(
            key.stream,
            sequence,
            cost,
            (allowed, limits.stream_events),
            now,
        );
        self.bytes = of_others + session.bytes;
        if session.streams.is_empty() {
            self.sessions.remove(&key.session);
        }
        room
    }

    /// Removes a stream.
    pub(crate) fn forget_stream(&mut self, key: StreamKey) {
        if let Some(session) = self.sessions.get_mut(&key.session) {
            self.bytes -= session.remove(key.stream);
            if session.streams.is_empty() {
                self.sessions.remove(&key.session);
            }
        }
    }

    /// Removes a session. Returns its streams.
    pub(crate) fn forget_session(&mut self, session: SessionId) -> Vec<u32> {
        let Some(removed) = self.sessions.remove(&session) else {
            return Vec::new();
        };
        self.bytes -= removed.bytes;
        removed.streams.into_keys().collect()
    }

    /// Removes the streams that Redis has removed after the retention time.
    pub(crate) fn expire(&mut self, retention: Duration, now: Instant) {
        let mut freed = 0;
        self.sessions.retain(|_, session| {
            let streams = session.streams.iter();
            let expired = streams.filter(|(_, stream)| now.duration_since(stream.last) > retention);
            let expired: Vec<_> = expired.map(|(stream, _)| *stream).collect();
            for stream in expired {
                freed += session.remove(stream);
            }
            !session.streams.is_empty()
        });
        self.bytes -= freed;
    }
}

impl Session {
    fn add(
        &mut self,
        number: u32,
        sequence: u64,
        cost: u32,
        (allowed, max_events): (usize, usize),
        now: Instant,
    ) -> Option<Room> {
        let bytes = cost as usize;
        if bytes + STREAM_COST > allowed {
            return None;
        }
        let mut room = Room {
            first: sequence,
            streams: Vec::new(),
        };
        let known = self.streams.get(&number);
        if known.is_some_and(|stream| sequence < stream.next()) {
            // The event is stored already.
            room.first = known.map_or(sequence, |stream| stream.first);
            return Some(room);
        }
        // After an event that was not stored, the earlier ones cannot be replayed.
        if known.is_some_and(|stream| sequence > stream.next()) {
            self.remove(number);
        }
        room.streams = self.make_room(number, bytes, allowed)?;
        let stream = self.streams.entry(number).or_insert_with(|| {
            self.bytes += STREAM_COST;
            Stream {
                first: sequence,
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
            self.bytes -= stream.drop_first().unwrap_or_default();
        }
        room.first = stream.first;
        Some(room)
    }

    /// Removes the oldest events until the stream can have `bytes` more: first the other streams, then events of the stream itself. Returns the removed
    /// streams.
    fn make_room(&mut self, number: u32, bytes: usize, allowed: usize) -> Option<Vec<u32>> {
        let mut removed = Vec::new();
        let is_new = !self.streams.contains_key(&number);
        let needed = bytes + if is_new { STREAM_COST } else { 0 };
        while self.bytes + needed > allowed {
            let others = self.streams.iter().filter(|(other, _)| **other != number);
            let oldest = others.min_by_key(|(_, stream)| stream.last);
            if let Some((oldest, _)) = oldest {
                let oldest = *oldest;
                self.remove(oldest);
                removed.push(oldest);
            } else {
                self.bytes -= self.streams.get_mut(&number)?.drop_first()?;
            }
        }
        Some(removed)
    }

    /// Removes a stream, and returns its size.
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
    /// Returns the sequence number of the next event.
    fn next(&self) -> u64 {
        self.first + self.sizes.len() as u64
    }

    /// Removes the oldest event, and returns its size.
    fn drop_first(&mut self) -> Option<usize> {
        let bytes = self.sizes.pop_front()? as usize;
        self.first += 1;
        self.bytes -= bytes;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: StoredLimits = StoredLimits {
        retention: Duration::from_secs(60),
        stream_events: 4,
        session_bytes: 4_096,
        total_bytes: 8_192,
    };

    fn key(session: u8, stream: u32) -> StreamKey {
        StreamKey::new(SessionId::from_bytes([session; 32]), stream)
    }

    fn room(first: u64, streams: &[u32]) -> Option<Room> {
        let streams = streams.to_vec();
        Some(Room { first, streams })
    }

    #[test]
    fn a_session_loses_its_oldest_events() {
        let mut stored = StoredEvents::default();
        let now = Instant::now();
        let mut add = |stream, sequence, length, after| {
            let now = now + Duration::from_secs(after);
            stored.add(key(1, stream), sequence, length, &LIMITS, now)
        };
        for sequence in 1..=4 {
            assert_eq!(add(1, sequence, 100, 0), room(1, &[]));
        }
        // The limit of the events of a stream.
        assert_eq!(add(1, 5, 100, 0), room(2, &[]));
        // An event that is stored already.
        assert_eq!(add(1, 4, 100, 0), room(2, &[]));
        assert_eq!(add(2, 1, 1_000, 1), room(1, &[]));
        // The stream that was used last at the earliest time makes room, then the events of the stream itself.
        assert_eq!(add(2, 2, 1_600, 2), room(1, &[1]));
        assert_eq!(add(2, 3, 1_600, 2), room(2, &[]));
        // After an event that was not stored.
        assert_eq!(add(2, 7, 10, 2), room(7, &[]));
        assert_eq!(add(3, 1, 4_096, 3), None);
        assert_eq!(add(3, 1, 4_096 - 64 - 512, 3), room(1, &[2]));
        assert_eq!(stored.bytes, 4_096);
        stored.expire(Duration::from_secs(60), now + Duration::from_secs(64));
        assert!(stored.sessions.is_empty());
        assert_eq!(stored.bytes, 0);
    }

    #[test]
    fn a_session_has_no_room_that_others_use() {
        let mut stored = StoredEvents::default();
        let now = Instant::now();
        let large = 4_096 - 64 - 512;
        for session in [1, 2] {
            let added = stored.add(key(session, 1), 1, large, &LIMITS, now);
            assert_eq!(added, room(1, &[]));
        }
        assert_eq!(stored.add(key(3, 1), 1, 1, &LIMITS, now), None);
        assert_eq!(stored.add(key(2, 2), 1, large, &LIMITS, now), room(1, &[1]));
        assert_eq!(stored.forget_session(key(1, 1).session), [1]);
        assert_eq!(stored.add(key(3, 1), 1, 1, &LIMITS, now), room(1, &[]));
        stored.forget_stream(key(3, 1));
        stored.forget_stream(key(2, 2));
        assert_eq!((stored.bytes, stored.sessions.len()), (0, 0));
    }
}
