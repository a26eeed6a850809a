//! Stores sessions outside the process, so that another process can continue them.
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
/// - A record is opaque: write the bytes that [`SessionRecord::encode`] returns. The lease and the expiry are stored beside it.
/// - A session has one lease at a time. Its fencing number is 1 after [`create`](Self::create) and grows with every
///   [`claim`](Self::claim). A method with a lease as its argument compares this lease with the stored lease, and makes its
///   change, in one atomic step. If the leases differ, the method changes nothing and fails with
///   [`LeaseLost`](SessionStoreErrorKind::LeaseLost). Two endpoints therefore never change the same session.
/// - A session whose expiry is not after `now` does not exist: it is not returned, claimed or
///   changed. A store reads no clock, except to remove expired sessions.
/// - When a method completes without an error, its change is visible to every endpoint that shares
///   the store.
/// - If a future is dropped, its change may or may not have been made.
/// - A store accepts records of up to [`SessionRecord::MAX_BYTES`]. It has a limit on sessions and rejects further sessions with
///   [`Full`](SessionStoreErrorKind::Full). It never removes sessions that have not expired to make room.
/// - A method that waits must not block its thread. The endpoint limits the number of concurrent
///   calls and drops a call that takes too long; see
///   [`with_session_store`](crate::ServerOptions::with_session_store).
///
/// A [`SessionId`] is a secret: a reader of the store can use its sessions.
pub trait SessionStore: fmt::Debug + Send + Sync + 'static {
    /// Stores a new session with its first lease.
    ///
    /// # Errors
    /// [`Conflict`](SessionStoreErrorKind::Conflict) if the session exists;
    /// [`Full`](SessionStoreErrorKind::Full); [`Unavailable`](SessionStoreErrorKind::Unavailable).
    fn create(
        &self,
        lease: SessionLease,
        record: SessionRecord,
        expires: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>>;

    /// Returns the record of a session without claiming it; `None` if the session does not exist or has expired.
    ///
    /// # Errors
    /// [`Unreadable`](SessionStoreErrorKind::Unreadable);
    /// [`Unavailable`](SessionStoreErrorKind::Unavailable).
    fn load(
        &self,
        id: SessionId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<SessionRecord>, SessionStoreError>>;

    /// Takes the lease of a session from its owner. Returns the new lease, whose fencing number is one larger, and the record;
    /// `None` if the session does not exist or has expired.
    ///
    /// # Errors
    /// [`Unreadable`](SessionStoreErrorKind::Unreadable), and the lease is unchanged;
    /// [`Unavailable`](SessionStoreErrorKind::Unavailable).
    fn claim(
        &self,
        id: SessionId,
        owner: EndpointId,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<Option<(SessionLease, SessionRecord)>, SessionStoreError>>;

    /// Checks that a lease is current, and moves the expiry of the session to `expires`, if `expires` is later than the stored
    /// expiry. An endpoint calls it before each request of the session; most calls do not change the expiry and need no write.
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
    /// As [`renew`](Self::renew), and [`Full`](SessionStoreErrorKind::Full).
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
    /// As [`renew`](Self::renew).
    fn remove(
        &self,
        lease: SessionLease,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<(), SessionStoreError>>;
}

/// The right of one endpoint to serve and change a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionLease {
    /// The session.
    pub session: SessionId,
    /// The endpoint that holds the lease.
    pub owner: EndpointId,
    /// The fencing number. Of two leases of a session, the one with the larger number is current.
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

    /// Returns the lease that follows this lease, with another owner.
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
