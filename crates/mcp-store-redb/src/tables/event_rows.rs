//! The rows of the event tables.

use mcp_transport_http::{SessionId, StreamKey};
use redb::{ReadableTable as _, Table, TableDefinition, WriteTransaction};

use super::meta::{DatabaseError, META};
use crate::RedbOptions;

/// Key of an event: session, stream and sequence number.
type EventKey = (&'static [u8; 32], u32, u64);
/// Row of an event: the time when the event was appended, and the event.
type Event = (u64, &'static [u8]);
/// Key in the index of events by time: session, time, stream and sequence number.
type ArrivalKey = (&'static [u8; 32], u64, u32, u64);
/// Row of a stream: the sequence number of the last dropped event, the sequence number of the last event, and the time of the
/// last event.
type Stream = (u64, u64, u64);
/// Row of a session: the size of its events and records in bytes, the time of its last event, a time that is not later than its
/// oldest event or record, and a stream number. The store may have dropped the records of streams with lower numbers.
type Session = (u64, u64, u64, u64);

const EVENTS: TableDefinition<'_, EventKey, Event> = TableDefinition::new("events");
/// Index of the events of a session by time.
const ARRIVALS: TableDefinition<'_, ArrivalKey, ()> = TableDefinition::new("event_arrivals");
const STREAMS: TableDefinition<'_, (&[u8; 32], u32), Stream> =
    TableDefinition::new("event_streams");
const SESSIONS: TableDefinition<'_, &[u8; 32], Session> = TableDefinition::new("event_sessions");
/// The key under which the total size of the events is stored.
const BYTES_KEY: &str = "event_bytes";

/// The space for an event in addition to the text of the event, in bytes.
pub(super) const EVENT_COST: u64 = 160;
/// The space for the record of a stream or of a session, in bytes.
pub(super) const RECORD_COST: u64 = 128;

/// The event tables in a write transaction.
pub(crate) struct EventTables<'t> {
    pub(super) options: RedbOptions,
    pub(super) events: Table<'t, EventKey, Event>,
    arrivals: Table<'t, ArrivalKey, ()>,
    streams: Table<'t, (&'static [u8; 32], u32), Stream>,
    pub(super) sessions: Table<'t, &'static [u8; 32], Session>,
    meta: Table<'t, &'static str, u64>,
    pub(crate) is_changed: bool,
}

/// The record of a stream.
#[derive(Clone, Copy)]
pub(super) struct StreamRow {
    /// The sequence number up to which events were dropped.
    pub(super) dropped: u64,
    pub(super) last: u64,
    pub(super) last_at: u64,
}

/// The record of a session.
#[derive(Clone, Copy)]
pub(super) struct SessionRow {
    pub(super) bytes: u64,
    pub(super) last_at: u64,
    /// No event and no record of the session is older than this time.
    pub(super) oldest_at: u64,
    /// Streams whose number is lower than this number may have lost events.
    pub(super) forgotten: u64,
}

impl SessionRow {
    pub(super) fn of((bytes, last_at, oldest_at, forgotten): Session) -> Self {
        Self {
            bytes,
            last_at,
            oldest_at,
            forgotten,
        }
    }
}

impl<'t> EventTables<'t> {
    pub(crate) fn open(
        transaction: &'t WriteTransaction,
        options: RedbOptions,
    ) -> Result<Self, DatabaseError> {
        Ok(Self {
            options,
            events: transaction.open_table(EVENTS)?,
            arrivals: transaction.open_table(ARRIVALS)?,
            streams: transaction.open_table(STREAMS)?,
            sessions: transaction.open_table(SESSIONS)?,
            meta: transaction.open_table(META)?,
            is_changed: false,
        })
    }

    pub(super) fn session(&self, session: SessionId) -> Result<Option<SessionRow>, DatabaseError> {
        let row = self.sessions.get(session.as_bytes())?;
        Ok(row.map(|row| SessionRow::of(row.value())))
    }

    pub(super) fn stream(&self, key: StreamKey) -> Result<Option<StreamRow>, DatabaseError> {
        let row = self.streams.get((key.session.as_bytes(), key.stream))?;
        Ok(row.map(|row| StreamRow::of(row.value())))
    }

    pub(super) fn streams_of(
        &self,
        session: SessionId,
    ) -> Result<Vec<(u32, StreamRow)>, DatabaseError> {
        let id = session.as_bytes();
        let rows = self.streams.range((id, 0)..=(id, u32::MAX))?;
        let rows = rows.map(|row| {
            let (key, row) = row?;
            Ok((key.value().1, StreamRow::of(row.value())))
        });
        rows.collect()
    }

    pub(super) fn put_stream(
        &mut self,
        key: StreamKey,
        row: StreamRow,
    ) -> Result<(), DatabaseError> {
        let id = (key.session.as_bytes(), key.stream);
        self.streams
            .insert(id, (row.dropped, row.last, row.last_at))?;
        self.is_changed = true;
        Ok(())
    }

    /// Stores an event. The event must not be larger than the limits.
    pub(super) fn insert(
        &mut self,
        key: StreamKey,
        sequence: u64,
        at: u64,
        event: &[u8],
    ) -> Result<(), DatabaseError> {
        let (id, stream) = (key.session.as_bytes(), key.stream);
        self.events.insert((id, stream, sequence), (at, event))?;
        self.arrivals.insert((id, at, stream, sequence), ())?;
        Ok(())
    }

    /// Removes an event. Returns its size.
    fn remove(&mut self, key: StreamKey, sequence: u64) -> Result<u64, DatabaseError> {
        let (id, stream) = (key.session.as_bytes(), key.stream);
        let Some(event) = self.events.remove((id, stream, sequence))? else {
            return Ok(0);
        };
        let (at, event) = event.value();
        self.arrivals.remove((id, at, stream, sequence))?;
        Ok(EVENT_COST + event.len() as u64)
    }

    /// Removes the events of a stream, but not its record. Returns their size.
    pub(super) fn remove_events(
        &mut self,
        key: StreamKey,
        row: StreamRow,
    ) -> Result<u64, DatabaseError> {
        let mut removed = 0;
        for sequence in row.dropped.saturating_add(1)..=row.last {
            removed += self.remove(key, sequence)?;
        }
        Ok(removed)
    }

    /// Returns the time, the stream and the sequence number of the oldest event of a session.
    pub(super) fn oldest(
        &self,
        session: SessionId,
    ) -> Result<Option<(u64, u32, u64)>, DatabaseError> {
        let id = session.as_bytes();
        let all = (id, 0, 0, 0)..=(id, u64::MAX, u32::MAX, u64::MAX);
        let first = self.arrivals.range(all)?.next().transpose()?;
        Ok(first.map(|(key, _)| {
            let (_, at, stream, sequence) = key.value();
            (at, stream, sequence)
        }))
    }

    /// Removes the oldest event of a session, which is also the first event of its stream.
    pub(super) fn drop_first(
        &mut self,
        session: SessionId,
        row: &mut SessionRow,
        (_, stream, sequence): (u64, u32, u64),
    ) -> Result<(), DatabaseError> {
        let key = StreamKey::new(session, stream);
        let removed = self.remove(key, sequence)?;
        if let Some(mut stream) = self.stream(key)? {
            stream.dropped = sequence;
            self.put_stream(key, stream)?;
        }
        self.resize(session, row, 0, removed)
    }

    /// Removes the record of a stream that has no events. The record of the session then says that all streams up to the number
    /// of this stream may have lost events.
    pub(super) fn drop_record(
        &mut self,
        session: SessionId,
        row: &mut SessionRow,
        stream: u32,
    ) -> Result<(), DatabaseError> {
        self.streams.remove((session.as_bytes(), stream))?;
        row.forgotten = row.forgotten.max(u64::from(stream) + 1);
        self.resize(session, row, 0, RECORD_COST)
    }

    pub(super) fn remove_stream(&mut self, key: StreamKey) -> Result<(), DatabaseError> {
        self.streams.remove((key.session.as_bytes(), key.stream))?;
        Ok(())
    }

    /// Changes the size in the record of a session and stores the record. Removes a record that is no longer needed.
    pub(super) fn resize(
        &mut self,
        session: SessionId,
        row: &mut SessionRow,
        added: u64,
        removed: u64,
    ) -> Result<(), DatabaseError> {
        let before = row.bytes;
        row.bytes = before.saturating_add(added).saturating_sub(removed);
        if row.bytes <= RECORD_COST && row.forgotten == 0 {
            row.bytes = 0;
            self.sessions.remove(session.as_bytes())?;
        } else {
            let stored = (row.bytes, row.last_at, row.oldest_at, row.forgotten);
            self.sessions.insert(session.as_bytes(), stored)?;
        }
        let total = self.bytes()?.saturating_sub(before);
        self.meta
            .insert(BYTES_KEY, total.saturating_add(row.bytes))?;
        self.is_changed = true;
        Ok(())
    }

    pub(super) fn bytes(&self) -> Result<u64, DatabaseError> {
        Ok(self.meta.get(BYTES_KEY)?.map_or(0, |bytes| bytes.value()))
    }
}

impl StreamRow {
    fn of((dropped, last, last_at): Stream) -> Self {
        Self {
            dropped,
            last,
            last_at,
        }
    }
}
