//! A session store in memory.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use mcp_protocol::BoxFuture;
use mcp_protocol::task::Timestamp;

use super::error::{SessionStoreError, SessionStoreErrorKind};
use super::record::SessionRecord;
use super::{EndpointId, SessionLease, SessionStore};
use crate::server::session_id::SessionId;
use crate::sync::lock;

/// A [`SessionStore`] in memory, for tests and for several endpoints in one process. All clones share the same sessions.
#[derive(Clone)]
pub struct MemorySessionStore {
    sessions: Arc<Mutex<Sessions>>,
    max_sessions: usize,
    max_bytes: usize,
}

#[derive(Default)]
struct Sessions {
    entries: HashMap<SessionId, Entry>,
    /// The total size of the records, in bytes.
    bytes: usize,
}

struct Entry {
    lease: SessionLease,
    expires: Timestamp,
    record: Box<[u8]>,
}

impl MemorySessionStore {
    /// Creates an empty store for 10,000 sessions and 64 MiB of records.
    pub fn new() -> Self {
        Self {
            sessions: Arc::default(),
            max_sessions: 10_000,
            max_bytes: 64 << 20,
        }
    }

    /// Sets the maximum number of sessions. Default 10,000.
    #[must_use]
    pub fn with_max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Sets the maximum total size of the records, in bytes. Default 64 MiB.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Returns the number of stored sessions, including expired sessions that have not been removed yet.
    pub fn len(&self) -> usize {
        lock(&self.sessions).entries.len()
    }

    /// Returns whether no session is stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn fits(&self, bytes: usize, more: usize) -> Result<(), SessionStoreError> {
        if bytes.saturating_add(more) <= self.max_bytes {
            return Ok(());
        }
        Err(full(&format!(
            "{} bytes of sessions (MemorySessionStore::with_max_bytes)",
            self.max_bytes
        )))
    }

    fn create_now(
        &self,
        lease: SessionLease,
        record: &SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> Result<(), SessionStoreError> {
        let record = record.encode()?.into_boxed_slice();
        let sessions = &mut *lock(&self.sessions);
        if sessions.find(lease.session, now).is_some() {
            return Err(SessionStoreError::conflict());
        }
        sessions.remove(lease.session);
        let is_full = |sessions: &Sessions| {
            sessions.entries.len() >= self.max_sessions
                || self.fits(sessions.bytes, record.len()).is_err()
        };
        if is_full(sessions) {
            sessions.remove_expired(now);
        }
        if sessions.entries.len() >= self.max_sessions {
            return Err(full(&format!(
                "{} sessions (MemorySessionStore::with_max_sessions)",
                self.max_sessions
            )));
        }
        self.fits(sessions.bytes, record.len())?;
        sessions.bytes += record.len();
        let entry = Entry {
            lease,
            expires,
            record,
        };
        sessions.entries.insert(lease.session, entry);
        Ok(())
    }

    fn update_now(
        &self,
        lease: SessionLease,
        record: &SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> Result<(), SessionStoreError> {
        let record = record.encode()?.into_boxed_slice();
        let sessions = &mut *lock(&self.sessions);
        let bytes = sessions.bytes;
        let entry = sessions.leased(lease, now)?;
        let others = bytes - entry.record.len();
        if record.len() > entry.record.len() {
            self.fits(others, record.len())?;
        }
        let bytes = others + record.len();
        entry.record = record;
        entry.expires = expires;
        sessions.bytes = bytes;
        Ok(())
    }
}

fn full(limit: &str) -> SessionStoreError {
    let message = format!("the session store is full: {limit}");
    SessionStoreError::new(SessionStoreErrorKind::Full, message)
}

impl Sessions {
    fn find(&mut self, id: SessionId, now: Timestamp) -> Option<&mut Entry> {
        self.entries
            .get_mut(&id)
            .filter(|entry| entry.expires > now)
    }

    /// Returns the stored session if `lease` is its current lease, and an error otherwise.
    fn leased(
        &mut self,
        lease: SessionLease,
        now: Timestamp,
    ) -> Result<&mut Entry, SessionStoreError> {
        let entry = self.find(lease.session, now);
        entry
            .filter(|entry| entry.lease == lease)
            .ok_or_else(SessionStoreError::lease_lost)
    }

    fn remove(&mut self, id: SessionId) {
        if let Some(entry) = self.entries.remove(&id) {
            self.bytes -= entry.record.len();
        }
    }

    fn remove_expired(&mut self, now: Timestamp) {
        self.entries.retain(|_, entry| entry.expires > now);
        self.bytes = self.entries.values().map(|entry| entry.record.len()).sum();
    }
}

impl Default for MemorySessionStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemorySessionStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySessionStore")
            .field("sessions", &self.len())
            .field("max_sessions", &self.max_sessions)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}

impl SessionStore for MemorySessionStore {
    fn create(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move { self.create_now(lease, &record, expires, now) })
    }

    fn load(
        &self,
        id: SessionId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<SessionRecord>, SessionStoreError>> {
        Box::pin(async move {
            let mut sessions = lock(&self.sessions);
            let entry = sessions.find(id, now);
            entry
                .map(|entry| SessionRecord::decode(&entry.record))
                .transpose()
        })
    }

    fn claim(
        &self,
        id: SessionId,
        owner: EndpointId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<(SessionLease, SessionRecord)>, SessionStoreError>> {
        Box::pin(async move {
            let mut sessions = lock(&self.sessions);
            let Some(entry) = sessions.find(id, now) else {
                return Ok(None);
            };
            let record = SessionRecord::decode(&entry.record)?;
            entry.lease = entry.lease.next(owner);
            Ok(Some((entry.lease, record)))
        })
    }

    fn renew(
        &self,
        lease: SessionLease,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move {
            let mut sessions = lock(&self.sessions);
            let entry = sessions.leased(lease, now)?;
            entry.expires = entry.expires.max(expires);
            Ok(())
        })
    }

    fn update(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move { self.update_now(lease, &record, expires, now) })
    }

    fn remove(
        &self,
        lease: SessionLease,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>> {
        Box::pin(async move {
            let mut sessions = lock(&self.sessions);
            sessions.leased(lease, now)?;
            sessions.remove(lease.session);
            Ok(())
        })
    }
}
