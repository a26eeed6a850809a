//! Operations on stored events.

use bytes::Bytes;
use mcp_transport_http::{Replay, SessionId, StreamKey};
use redb::ReadableTable as _;

use super::event_rows::{EVENT_COST, EventTables, RECORD_COST, SessionRow, StreamRow};
use super::meta::DatabaseError;
use crate::RedbOptions;
use crate::job::event::EventJob;

/// Time for which the record of a session is kept after its last event, in milliseconds: the default
/// lifetime of a session.
const RECORD_RETENTION: u64 = 24 * 3_600 * 1_000;

impl EventTables<'_> {
    pub(crate) fn apply(&mut self, job: &EventJob) -> Result<Result<(), String>, DatabaseError> {
        match job {
            EventJob::Append {
                key,
                sequence,
                event,
                at,
                ..
            } => return self.append(*key, *sequence, event, *at),
            EventJob::ForgetStream(key) => self.forget_stream(*key)?,
            EventJob::ForgetSession(session) => self.forget_session(*session)?,
            EventJob::Expire(now) => self.expire(*now)?,
        }
        Ok(Ok(()))
    }

    fn append(
        &mut self,
        key: StreamKey,
        sequence: u64,
        event: &[u8],
        at: u64,
    ) -> Result<Result<(), String>, DatabaseError> {
        let (mut session, mut stream, mut added) = self.rows(key, sequence, at)?;
        // An earlier process may have had a faster clock.
        let at = at.max(session.last_at);
        if sequence <= stream.last {
            return Ok(Ok(()));
        }
        let RedbOptions {
            max_session_event_bytes: max_session,
            max_event_bytes: max_total,
            ..
        } = self.options;
        let is_too_large = event.len() > max_session.min(max_total);
        let mut removed = 0;
        // After a gap, a replay from before it would be incomplete.
        if is_too_large || sequence - stream.last > 1 {
            removed = self.remove_events(key, stream)?;
            stream.dropped = if is_too_large { sequence } else { sequence - 1 };
        }
        if !is_too_large {
            self.insert(key, sequence, at, event)?;
            added += EVENT_COST + event.len() as u64;
        }
        (stream.last, stream.last_at, session.last_at) = (sequence, at, at);
        session.oldest_at = session.oldest_at.min(at);
        self.put_stream(key, stream)?;
        self.resize(key.session, &mut session, added, removed)?;
        if is_too_large {
            let length = event.len();
            return Ok(Err(self.full(&format!("it has {length} bytes"))));
        }
        while session.bytes > max_session as u64 || self.bytes()? > max_total as u64 {
            let Some(first) = self.oldest(key.session)? else {
                break;
            };
            self.evict(key.session, &mut session, first)?;
        }
        let is_stored = self.stream(key)?.is_some_and(|row| row.dropped < sequence);
        Ok(if is_stored {
            Ok(())
        } else {
            Err(self.full("there is no space"))
        })
    }

    /// Returns the row of a session and the row of its stream. If a row does not exist yet, returns a new row. Also returns the
    /// total size of the new rows in bytes.
    fn rows(
        &self,
        key: StreamKey,
        sequence: u64,
        at: u64,
    ) -> Result<(SessionRow, StreamRow, u64), DatabaseError> {
        let (session, stream) = (self.session(key.session)?, self.stream(key)?);
        let added = u64::from(session.is_none()) + u64::from(stream.is_none());
        let session = session.unwrap_or(SessionRow {
            bytes: 0,
            last_at: at,
            oldest_at: at,
            forgotten: 0,
        });
        let before = sequence.saturating_sub(1);
        let stream = stream.unwrap_or(StreamRow {
            dropped: before,
            last: before,
            last_at: at,
        });
        Ok((session, stream, added * RECORD_COST))
    }

    fn full(&self, why: &str) -> String {
        format!(
            "an event was not stored, because {why}; the limits are {} bytes for a session \
             (RedbOptions::with_max_session_event_bytes) and {} bytes in total (with_max_event_bytes)",
            self.options.max_session_event_bytes, self.options.max_event_bytes
        )
    }

    pub(crate) fn replay(
        &self,
        key: StreamKey,
        after: u64,
        bytes: usize,
    ) -> Result<Replay, DatabaseError> {
        let Some(stream) = self.stream(key)? else {
            let session = self.session(key.session)?;
            let is_lost = session.is_some_and(|row| u64::from(key.stream) < row.forgotten);
            // A stream without a record has had no events, so a client cannot have received any.
            return Ok(if is_lost || after > 0 {
                Replay::Gone
            } else {
                Replay::Events(Vec::new())
            });
        };
        if after < stream.dropped {
            return Ok(Replay::Gone);
        }
        let (id, first) = (key.session.as_bytes(), after.saturating_add(1));
        let range = (id, key.stream, first)..=(id, key.stream, u64::MAX);
        let (mut events, mut left) = (Vec::new(), bytes);
        for row in self.events.range(range)? {
            if left == 0 {
                break;
            }
            let event: Bytes = row?.1.value().1.to_vec().into();
            left = left.saturating_sub(event.len());
            events.push(event);
        }
        Ok(Replay::Events(events))
    }

    fn forget_stream(&mut self, key: StreamKey) -> Result<(), DatabaseError> {
        let (Some(stream), Some(mut session)) = (self.stream(key)?, self.session(key.session)?)
        else {
            return Ok(());
        };
        let removed = self.remove_events(key, stream)? + RECORD_COST;
        self.remove_stream(key)?;
        self.resize(key.session, &mut session, 0, removed)
    }

    fn forget_session(&mut self, session: SessionId) -> Result<(), DatabaseError> {
        let Some(mut row) = self.session(session)? else {
            return Ok(());
        };
        row.forgotten = 0;
        let mut removed = 0;
        for (number, stream) in self.streams_of(session)? {
            removed += RECORD_COST;
            let key = StreamKey::new(session, number);
            removed += self.remove_events(key, stream)?;
            self.remove_stream(key)?;
        }
        self.resize(session, &mut row, 0, removed)
    }

    /// Removes events and records that are older than the retention.
    fn expire(&mut self, now: u64) -> Result<(), DatabaseError> {
        let retention = u64::try_from(self.options.event_retention.as_millis());
        let retention = retention.unwrap_or(u64::MAX);
        let is_over = |at: u64| at.saturating_add(retention) <= now;
        let mut due = Vec::new();
        for row in self.sessions.iter()? {
            let (id, row) = row?;
            let row = SessionRow::of(row.value());
            let is_unused = row.last_at.saturating_add(RECORD_RETENTION) <= now;
            if is_over(row.oldest_at) || is_unused {
                due.push((SessionId::from_bytes(*id.value()), row, is_unused));
            }
        }
        for (session, mut row, is_unused) in due {
            while let Some(first) = self.oldest(session)?.filter(|first| is_over(first.0)) {
                self.drop_first(session, &mut row, first)?;
            }
            let oldest_event = self.oldest(session)?.map(|first| first.0);
            let mut oldest_at = oldest_event.unwrap_or(u64::MAX);
            for (number, stream) in self.streams_of(session)? {
                if stream.dropped < stream.last {
                    continue;
                }
                if is_over(stream.last_at) {
                    self.drop_record(session, &mut row, number)?;
                } else {
                    oldest_at = oldest_at.min(stream.last_at);
                }
            }
            row.oldest_at = oldest_at;
            if is_unused && oldest_at == u64::MAX {
                row.forgotten = 0;
            }
            self.resize(session, &mut row, 0, 0)?;
        }
        Ok(())
    }

    /// Removes the oldest event of a session, which is `first`, to free space.
    fn evict(
        &mut self,
        session: SessionId,
        row: &mut SessionRow,
        first: (u64, u32, u64),
    ) -> Result<(), DatabaseError> {
        self.drop_first(session, row, first)?;
        let key = StreamKey::new(session, first.1);
        let is_empty = |stream: StreamRow| stream.dropped == stream.last;
        // The next event of the stream creates its record again.
        if self.stream(key)?.is_some_and(is_empty) {
            self.drop_record(session, row, first.1)?;
        }
        Ok(())
    }
}
