//! The operations on sessions that a store sends to its thread.

use mcp_protocol::task::Timestamp;
use mcp_transport_http::{
    EndpointId, SessionId, SessionLease, SessionRecord, SessionStoreError, SessionStoreErrorKind,
};
use tokio::sync::oneshot;

/// An operation for the thread of the store. It has the arguments of the [`SessionStore`] method with the same name.
#[derive(Debug)]
pub(crate) enum SessionOperation {
    Create(SessionLease, Vec<u8>, Timestamp, Timestamp),
    Load(SessionId, Timestamp),
    Claim(SessionId, EndpointId, Timestamp),
    Renew(SessionLease, Timestamp, Timestamp),
    Update(SessionLease, Vec<u8>, Timestamp, Timestamp),
    Remove(SessionLease, Timestamp),
}

/// The result of an operation: the lease and the record of the session. The record is included only if it was requested and
/// exists.
pub(crate) type SessionResult = Result<Option<(SessionLease, SessionRecord)>, SessionStoreError>;

/// An operation on sessions, and the channel for its result.
pub(crate) type SessionJob = (SessionOperation, oneshot::Sender<SessionResult>);

pub(crate) fn unavailable(reason: String) -> SessionStoreError {
    SessionStoreError::new(SessionStoreErrorKind::Unavailable, reason)
}
