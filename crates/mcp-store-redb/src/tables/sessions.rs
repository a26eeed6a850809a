//! The tables of the sessions.

use mcp_protocol::task::Timestamp;
use mcp_transport_http::{
    EndpointId, SessionId, SessionLease, SessionRecord, SessionStoreError, SessionStoreErrorKind,
};
use redb::{
    ReadableTable as _, ReadableTableMetadata as _, Table, TableDefinition, WriteTransaction,
};

use super::meta::{DatabaseError, META};
use crate::RedbOptions;
use crate::job::session::{SessionOperation, SessionResult};

/// Row of a session: the expiry in ms, the fencing number and the owner of the lease, and the session as JSON.
type Row = (u64, u64, &'static [u8; 16], &'static [u8]);
type ExpiryKey = (u64, &'static [u8; 32]);

/// The sessions, by id. Files of earlier versions do not have this table.
const SESSIONS: TableDefinition<'_, &[u8; 32], Row> = TableDefinition::new("sessions");
/// Index of sessions by expiry.
const EXPIRY: TableDefinition<'_, ExpiryKey, ()> = TableDefinition::new("session_expiry");
/// The key under which the total size of the sessions is stored.
const BYTES_KEY: &str = "session_bytes";

/// The session tables in a write transaction.
pub(crate) struct SessionTables<'t> {
    options: RedbOptions,
    sessions: Table<'t, &'static [u8; 32], Row>,
    expiry: Table<'t, ExpiryKey, ()>,
    meta: Table<'t, &'static str, u64>,
    /// Whether an operation has changed a table.
    pub(crate) is_changed: bool,
}

/// The row of a session, without the session id.
struct StoredRow {
    expires: Timestamp,
    lease: SessionLease,
    json: Vec<u8>,
}

impl<'t> SessionTables<'t> {
    pub(crate) fn open(
        transaction: &'t WriteTransaction,
        options: RedbOptions,
    ) -> Result<Self, DatabaseError> {
        Ok(Self {
            options,
            sessions: transaction.open_table(SESSIONS)?,
            expiry: transaction.open_table(EXPIRY)?,
            meta: transaction.open_table(META)?,
            is_changed: false,
        })
    }

    pub(crate) fn apply(
        &mut self,
        operation: &SessionOperation,
    ) -> Result<SessionResult, DatabaseError> {
        match operation {
            SessionOperation::Create(lease, json, expires, now) => {
                self.create(*lease, json, *expires, *now)
            }
            SessionOperation::Load(id, now) => {
                let found = self.find(*id, *now)?;
                Ok(found.map(StoredRow::decode).transpose())
            }
            SessionOperation::Claim(id, owner, now) => self.claim(*id, *owner, *now),
            SessionOperation::Renew(lease, expires, now) => {
                self.change(*lease, *now, |tables, row| {
                    if *expires > row.expires {
                        tables.put(*lease, &row.json, *expires)?;
                    }
                    Ok(Ok(None))
                })
            }
            SessionOperation::Update(lease, json, expires, now) => {
                self.change(*lease, *now, |tables, row| {
                    let others = tables.bytes()?.saturating_sub(row.json.len() as u64);
                    if json.len() > row.json.len()
                        && let Err(error) = tables.fits(others, json.len())
                    {
                        return Ok(Err(error));
                    }
                    tables.put(*lease, json, *expires)?;
                    Ok(Ok(None))
                })
            }
            SessionOperation::Remove(lease, now) => self.change(*lease, *now, |tables, _| {
                tables.remove(lease.session)?;
                Ok(Ok(None))
            }),
        }
    }

    fn create(
        &mut self,
        lease: SessionLease,
        json: &[u8],
        expires: Timestamp,
        now: Timestamp,
    ) -> Result<SessionResult, DatabaseError> {
        self.sweep(now)?;
        if self.row(lease.session)?.is_some() {
            return Ok(Err(SessionStoreError::conflict()));
        }
        let max_sessions = self.options.max_sessions;
        if self.sessions.len()? >= max_sessions as u64 {
            return Ok(Err(full(&format!(
                "{max_sessions} sessions (RedbOptions::with_max_sessions)"
            ))));
        }
        if let Err(error) = self.fits(self.bytes()?, json.len()) {
            return Ok(Err(error));
        }
        self.put(lease, json, expires)?;
        Ok(Ok(None))
    }

    fn claim(
        &mut self,
        id: SessionId,
        owner: EndpointId,
        now: Timestamp,
    ) -> Result<SessionResult, DatabaseError> {
        let Some(row) = self.find(id, now)? else {
            return Ok(Ok(None));
        };
        let lease = row.lease.next(owner);
        let record = match SessionRecord::decode(&row.json) {
            Ok(record) => record,
            Err(error) => return Ok(Err(error)),
        };
        self.put(lease, &row.json, row.expires)?;
        Ok(Ok(Some((lease, record))))
    }

    /// Changes a session if `lease` is its current lease.
    fn change(
        &mut self,
        lease: SessionLease,
        now: Timestamp,
        change: impl FnOnce(&mut Self, StoredRow) -> Result<SessionResult, DatabaseError>,
    ) -> Result<SessionResult, DatabaseError> {
        match self.find(lease.session, now)? {
            Some(row) if row.lease == lease => change(self, row),
            _ => Ok(Err(SessionStoreError::lease_lost())),
        }
    }

    /// Finds a session that has not expired.
    fn find(&self, id: SessionId, now: Timestamp) -> Result<Option<StoredRow>, DatabaseError> {
        Ok(self.row(id)?.filter(|row| row.expires > now))
    }

    fn row(&self, id: SessionId) -> Result<Option<StoredRow>, DatabaseError> {
        let row = self.sessions.get(id.as_bytes())?;
        Ok(row.map(|row| {
            let (expires, fence, owner, json) = row.value();
            StoredRow {
                expires: Timestamp::from_millis(expires),
                lease: SessionLease::new(id, EndpointId::from_bytes(*owner), fence),
                json: json.to_vec(),
            }
        }))
    }

    /// Inserts or replaces the row of a session.
    fn put(
        &mut self,
        lease: SessionLease,
        json: &[u8],
        expires: Timestamp,
    ) -> Result<(), DatabaseError> {
        self.remove(lease.session)?;
        let (id, expires) = (lease.session.as_bytes(), expires.as_millis());
        let row = (expires, lease.fence, lease.owner.as_bytes(), json);
        self.sessions.insert(id, row)?;
        self.expiry.insert((expires, id), ())?;
        let bytes = self.bytes()?.saturating_add(json.len() as u64);
        self.meta.insert(BYTES_KEY, bytes)?;
        self.is_changed = true;
        Ok(())
    }

    fn remove(&mut self, id: SessionId) -> Result<(), DatabaseError> {
        let Some(row) = self.row(id)? else {
            return Ok(());
        };
        self.sessions.remove(id.as_bytes())?;
        self.expiry
            .remove((row.expires.as_millis(), id.as_bytes()))?;
        let bytes = self.bytes()?.saturating_sub(row.json.len() as u64);
        self.meta.insert(BYTES_KEY, bytes)?;
        self.is_changed = true;
        Ok(())
    }

    /// Removes expired sessions.
    fn sweep(&mut self, now: Timestamp) -> Result<(), DatabaseError> {
        loop {
            let first = self.expiry.first()?;
            let first = first.map(|(key, _)| {
                let (expires, id) = key.value();
                (expires, SessionId::from_bytes(*id))
            });
            match first {
                Some((expires, id)) if expires <= now.as_millis() => {
                    self.expiry.remove((expires, id.as_bytes()))?;
                    self.remove(id)?;
                }
                _ => return Ok(()),
            }
        }
    }

    fn fits(&self, bytes: u64, more: usize) -> Result<(), SessionStoreError> {
        let max_bytes = self.options.max_session_bytes;
        if bytes.saturating_add(more as u64) <= max_bytes as u64 {
            return Ok(());
        }
        Err(full(&format!(
            "{max_bytes} bytes of sessions (RedbOptions::with_max_session_bytes)"
        )))
    }

    fn bytes(&self) -> Result<u64, DatabaseError> {
        Ok(self.meta.get(BYTES_KEY)?.map_or(0, |bytes| bytes.value()))
    }
}

impl StoredRow {
    fn decode(self) -> Result<(SessionLease, SessionRecord), SessionStoreError> {
        let record = SessionRecord::decode(&self.json)?;
        Ok((self.lease, record))
    }
}

fn full(limit: &str) -> SessionStoreError {
    let message = format!("the session store is full: {limit}");
    SessionStoreError::new(SessionStoreErrorKind::Full, message)
}
