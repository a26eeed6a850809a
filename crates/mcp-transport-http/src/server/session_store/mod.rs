//! Session stores. They keep sessions outside of the process, so that another process can continue the sessions.
//!
//! Specification: [session
//! management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).

mod error;
mod memory;
mod record;

use std::fmt;

use mcp_protocol::BoxFuture;
use mcp_protocol::task::Timestamp;

use crate::server::session_id::SessionId;

pub use error::{SessionStoreError, SessionStoreErrorKind};
pub use memory::MemorySessionStore;
pub use record::SessionRecord;

/// A store of the sessions of several endpoints, which usually run in several processes.
///
/// Rules for implementations:
///
/// - A record is opaque: write the bytes that [`SessionRecord::encode`] returns. Store the lease and the expiry in addition to
///   the record.
/// - A session has one lease at a time. Its fencing number is 1 after [`create`](Self::create) and grows with every
///   [`claim`](Self::claim). A method that receives a lease compares it with the stored lease and makes its change in one atomic
///   step. If the leases differ, the method changes nothing and fails with [`LeaseLost`](SessionStoreErrorKind::LeaseLost).
///   Therefore, two endpoints never change the same session.
/// - If the expiry of a session is not after `now`, the session counts as nonexistent: it is not returned, claimed or changed. A
///   store may read a clock only to remove expired sessions.
/// - When a method completes without an error, its change is visible to every endpoint that shares
///   the store.
/// - If the future of a method is dropped, the change may or may not have been made.
/// - A store accepts records of up to [`SessionRecord::MAX_BYTES`]. It limits the number of sessions and rejects further sessions
///   with [`Full`](SessionStoreErrorKind::Full). It never removes a session that has not expired to make room for another
///   session.
/// - A method that waits must not block its thread. The endpoint limits the number of concurrent
///   calls and drops a call that takes too long; see
///   [`with_session_store`](crate::ServerOptions::with_session_store).
///
/// A [`SessionId`] is a secret: any program that can read the store can use its sessions.
pub trait SessionStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a new session with its first lease.
    ///
    /// # Errors
    /// [`Conflict`](SessionStoreErrorKind::Conflict) if a session with this id exists; [`Full`](SessionStoreErrorKind::Full);
    /// [`Unavailable`](SessionStoreErrorKind::Unavailable).
    fn create(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>>;

    /// Returns the record of a session without claiming the session. Returns `None` if the session does not exist or has expired.
    ///
    /// # Errors
    /// [`Unreadable`](SessionStoreErrorKind::Unreadable);
    /// [`Unavailable`](SessionStoreErrorKind::Unavailable).
    fn load(
        &self,
        id: SessionId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<SessionRecord>, SessionStoreError>>;

    /// Takes the lease of a session from its owner. Returns the record and the new lease, whose fencing number is one larger.
    /// Returns `None` if the session does not exist or has expired.
    ///
    /// # Errors
    /// [`Unreadable`](SessionStoreErrorKind::Unreadable), in which case the lease is unchanged;
    /// [`Unavailable`](SessionStoreErrorKind::Unavailable).
    fn claim(
        &self,
        id: SessionId,
        owner: EndpointId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<(SessionLease, SessionRecord)>, SessionStoreError>>;

    /// Checks that a lease is current. If `expires` is later than the stored expiry of the session, replaces the expiry. An
    /// endpoint calls this method before each request of the session. Most calls do not change the expiry and need no write.
    ///
    /// # Errors
    /// [`LeaseLost`](SessionStoreErrorKind::LeaseLost) if another endpoint has claimed the session,
    /// or if the session was removed or has expired;
    /// [`Unavailable`](SessionStoreErrorKind::Unavailable).
    fn renew(
        &self,
        lease: SessionLease,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>>;

    /// Replaces the record of a session, and sets its expiry.
    ///
    /// # Errors
    /// The errors of [`renew`](Self::renew), and [`Full`](SessionStoreErrorKind::Full).
    fn update(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>>;

    /// Removes a session if `lease` is current.
    ///
    /// # Errors
    /// The errors of [`renew`](Self::renew).
    fn remove(
        &self,
        lease: SessionLease,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>>;
}

/// A lease: the right of one endpoint to serve and change a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionLease {
    /// The session.
    pub session: SessionId,
    /// The endpoint that holds the lease.
    pub owner: EndpointId,
    /// The fencing number. If two leases of a session are compared, the lease with the larger number is newer.
    pub fence: u64,
}

impl SessionLease {
    /// Creates a lease from its stored parts.
    pub const fn new(session: SessionId, owner: EndpointId, fence: u64) -> Self {
        Self {
            session,
            owner,
            fence,
        }
    }

    /// Creates the lease of a new session.
    pub const fn first(session: SessionId, owner: EndpointId) -> Self {
        Self::new(session, owner, 1)
    }

    /// Returns the next lease of the session, with this owner.
    #[must_use]
    pub const fn next(self, owner: EndpointId) -> Self {
        Self::new(self.session, owner, self.fence.saturating_add(1))
    }
}

/// The id of one endpoint in one process: 128 random bits. It is not a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EndpointId([u8; 16]);

impl EndpointId {
    /// Creates a random id.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut id = [0; 16];
        getrandom::fill(&mut id)?;
        Ok(Self(id))
    }

    /// Restores an id from the bytes that [`as_bytes`](Self::as_bytes) returned. An endpoint
    /// creates its own id.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes of the id.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Debug for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndpointId({:032x})", u128::from_be_bytes(self.0))
    }
}
