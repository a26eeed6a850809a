//! Where events are kept for clients that come back after a broken connection.
//!
//! Specification: [resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery).

mod log;
mod memory;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::fmt;

use bytes::Bytes;
use mcp_protocol::BoxFuture;
use tokio::time::Instant;

use crate::server::session::id::SessionId;
pub use memory::MemoryStore;

/// One stream of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct StreamKey {
    /// The session.
    pub session: SessionId,
    /// The number of the stream in it. It is not used for another stream of the same session.
    pub stream: u32,
}

impl StreamKey {
    /// The stream of this number. An endpoint makes its own; this is for those who test a store.
    pub const fn new(session: SessionId, stream: u32) -> Self {
        Self { session, stream }
    }
}

/// Keeps the events of streams, so that a client whose connection broke gets what it missed.
///
/// The events of a stream are numbered from 1 without gaps, and appended in that order. None of
/// the methods may block: they are called between two polls of a connection, and some of them
/// under a lock of the stream.
pub trait EventStore: fmt::Debug + Send + Sync + 'static {
    /// Keeps one event. A [`replay`](Self::replay) that is called later sees it, whether or not
    /// it is durable by then.
    ///
    /// `event` may be a part of a larger buffer, which stays in memory for as long as it does.
    fn append(&self, key: StreamKey, sequence: u64, event: Bytes) -> Stored;

    /// The events of a stream that follow number `after`, oldest first; 0 is before the first.
    ///
    /// # Errors
    /// The store could not be read.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    fn replay(&self, key: StreamKey, after: u64) -> BoxFuture<'_, Result<Replay, StoreError>>;

    /// The stream has ended and nobody will come back for it.
    fn forget_stream(&self, key: StreamKey);

    /// The session has ended, and all its streams with it.
    fn forget_session(&self, session: SessionId);

    /// Called every few seconds with the time, to drop what is kept no longer.
    fn expire(&self, now: Instant);
}

/// How an event was kept.
#[non_exhaustive]
pub enum Stored {
    /// It is as safe as it will get.
    Now,
    /// It is being written. The future tells when it is durable, or that it will not be; dropping
    /// it stops nothing.
    Later(BoxFuture<'static, Result<(), StoreError>>),
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Now => "Now",
            Self::Later(_) => "Later(..)",
        })
    }
}

/// What there is for a client that comes back.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Replay {
    /// Everything it missed, oldest first.
    Events(Vec<Bytes>),
    /// Some of what it missed was dropped. Nothing is better than a replay with a hole.
    Gone,
}

/// Counts the events; their contents are nobody's business.
impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Events(events) => write!(f, "Events({})", events.len()),
            Self::Gone => f.write_str("Gone"),
        }
    }
}

/// Why events could not be kept or read.
#[derive(Debug)]
pub struct StoreError {
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// An error with a message for the operator; clients do not see it.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            source: None,
        }
    }

    /// Attaches the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
