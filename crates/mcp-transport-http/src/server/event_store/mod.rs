//! Stores events for clients that resume a stream after a broken connection.
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
    /// The session. For a session from a session store, this id depends only on the session and the lease, so it is different
    /// under each lease.
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

/// A store of the events of streams, from which a client receives the events that it missed while its connection was
/// broken.
///
/// The events of a stream are numbered from 1 without gaps, and appended in that order. An event is ignored if the stream already
/// has an event with the same or a later number. The methods
/// must not block: they are called while a connection is polled, some of them under a lock of the
/// stream.
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Stores one event. A later [`replay`](Self::replay) returns the event, even before the event
    /// is durable.
    ///
    /// `event` may be a part of a larger buffer, which stays in memory as long as `event`.
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability;

    /// Stores the last event of a stream whose endpoint has ended. A store that [several endpoints share](Self::is_shared) should
    /// ignore events that are appended to the stream afterwards. It should fail if an event with this number is already stored.
    /// The stream then has one response, even if its endpoint was only interrupted. An event that was not stored when the future
    /// fails must not be stored later. Default: as [`append`](Self::append).
    fn append_last(&self, key: StreamKey, sequence: u64, event: Bytes) -> Durability {
        self.append(key, sequence, event)
    }

    /// Returns the events of a stream after sequence number `after`, oldest first, up to a total size of `bytes`. If the stream
    /// has further events, at least one is returned. An `after` of 0 is before the first event. The endpoint requests further
    /// events when the client has received these.
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

    /// Returns whether events outlive the process and reach every endpoint that uses this store. If so, a session that continues
    /// at another endpoint keeps the events of its streams. Default: `false`.
    fn is_shared(&self) -> bool {
        false
    }

    /// Removes a stream that has ended and will not be resumed.
    fn forget_stream(&self, key: StreamKey);

    /// Removes a session that has ended. Removes its standalone stream, whose number is 0. May keep its other streams until they
    /// expire.
    fn forget_session(&self, session: SessionId);

    /// Removes expired events. Called every few seconds with the current time.
    fn expire(&self, now: Instant);
}

/// The time at which an appended event is durable.
#[non_exhaustive]
pub enum Durability {
    /// The event is stored; there is nothing to wait for.
    Immediate,
    /// The event is being written. The future completes when it is durable, or fails if it cannot
    /// be stored. Dropping the future does not stop the write.
    ///
    /// The event is sent when the future has completed. An event that cannot be stored is also sent, but cannot be replayed. The
    /// head of a response is sent with the first event of the call. If this event is not sent within
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
    /// The next events that the client missed, oldest first and without gaps; empty if it has missed none.
    Events(Vec<Bytes>),
    /// The next events of a stream that ends with the last of them ([`EventStore::append_last`]), whatever their number is.
    Ended(Vec<Bytes>),
    /// Some of the missed events were dropped.
    Gone,
}

/// Writes the number of events, but not their contents.
impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events(events) => write!(f, "Events({})", events.len()),
            Self::Ended(events) => write!(f, "Ended({})", events.len()),
            Self::Gone => f.write_str("Gone"),
        }
    }
}

/// The reason why events cannot be stored or read.
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
