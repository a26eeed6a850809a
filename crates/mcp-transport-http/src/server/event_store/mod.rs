//! Event stores. They keep events for clients that resume a stream after their connection was interrupted.
//!
//! Specification:
//! [resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery).

mod log;
mod memory;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;

use bytes::Bytes;
use mcp_protocol::BoxFuture;
use tokio::time::Instant;

use crate::server::session_id::SessionId;
pub use memory::MemoryEventStore;

/// A stream of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StreamKey {
    /// The session. If the endpoint has a session store, this is not the real session id but an id that is derived from the
    /// session and the lease. It is different under each lease.
    pub session: SessionId,
    /// The number of the stream within the session. A session never uses a number twice.
    pub stream: u32,
}

impl StreamKey {
    /// Creates a key, for tests of a store. An endpoint creates its own keys.
    pub const fn new(session: SessionId, stream: u32) -> Self {
        Self { session, stream }
    }
}

/// A store of the events of streams. A client that resumes a stream receives the missed events from the store.
///
/// The events of a stream are numbered from 1 without gaps, and appended in that order. An event is ignored if the stream already
/// has an event with the same or a later number. The methods must not block. They are called while a connection is polled, and
/// some of them while the stream is locked.
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Stores one event. From now on, [`replay`](Self::replay) returns the event, even if it is not durable yet.
    ///
    /// `event` may be a slice of a larger buffer. The buffer stays in memory as long as `event` exists.
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability;

    /// Stores the last event of a stream, because the endpoint that runs the call seems to have ended. Default: the same as
    /// [`append`](Self::append).
    ///
    /// That endpoint may only have been interrupted, but the stream must have only one response. A store that [several endpoints
    /// share](Self::is_shared) should therefore ignore events that are appended to the stream afterwards. It should fail if an
    /// event with this number is already stored. If the future fails, the event must not be stored later.
    fn append_last(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability {
        self.append(key, sequence, event)
    }

    /// Returns the events of a stream after sequence number `after`, oldest first, up to a total size of `bytes`. If there are
    /// such events, at least one event is returned, even if it is larger than `bytes`. If `after` is 0, begins with the first
    /// event. When the client has received the returned events, the endpoint requests the next events.
    ///
    /// # Errors
    /// The store cannot be read.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    fn replay(
        &self,
        key: StreamKey,
        after: u64,
        bytes: usize,
    ) -> BoxFuture<'_, Result<Replay, EventStoreError>>;

    /// Returns whether events outlive the process and reach every endpoint that uses this store. If so, the events of a session
    /// are still available after the session has moved to another endpoint. Default: `false`.
    fn is_shared(&self) -> bool {
        false
    }

    /// Removes a stream that has ended and will not be resumed.
    fn forget_stream(&self, key: StreamKey);

    /// Removes a session that has ended. Must remove its standalone stream, whose number is 0. May keep its other streams until
    /// they expire.
    fn forget_session(&self, session: SessionId);

    /// Removes expired events. Called every few seconds with the current time.
    fn expire(&self, now: Instant);
}

/// When an appended event is durable.
#[non_exhaustive]
pub enum Durability {
    /// The event is durable now.
    Immediate,
    /// The event is being written. The future completes when the event is durable, and fails if the event cannot be stored.
    /// Dropping the future does not stop the write.
    ///
    /// The event is sent to the client when the future has completed or failed. If it failed, the event cannot be replayed. The
    /// first event of a call is sent together with the head of the response. If this event is not sent within
    /// [`StreamOptions::keep_alive_interval`](crate::StreamOptions::keep_alive_interval), the head is sent with a comment.
    Pending(BoxFuture<'static, Result<(), EventStoreError>>),
}

impl fmt::Debug for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Immediate => "Immediate",
            Self::Pending(_) => "Pending(..)",
        })
    }
}

/// The events for a client that resumes a stream.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replay {
    /// The next events that the client missed, oldest first and without gaps. Empty if the client missed no events.
    Events(Vec<Bytes>),
    /// The last events of a stream that [`EventStore::append_last`] has ended. No event follows after them, even if there are
    /// fewer events than the endpoint expects.
    Ended(Vec<Bytes>),
    /// At least one of the missed events was dropped.
    Gone,
}

/// Formats the number of events, but not their contents.
impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events(events) => write!(f, "Events({})", events.len()),
            Self::Ended(events) => write!(f, "Ended({})", events.len()),
            Self::Gone => f.write_str("Gone"),
        }
    }
}

/// The error of an event store that cannot store or read events.
#[derive(Debug)]
pub struct EventStoreError {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl EventStoreError {
    /// Creates an error with a message for the operator. Clients do not receive it.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for EventStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for EventStoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
