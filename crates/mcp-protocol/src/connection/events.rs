//! Events of a connection that middleware is notified of, in addition to the messages.

use std::fmt;
use std::sync::Mutex;

use mcp_jsonrpc::{ParseError, RequestId};

use crate::sync::lock;
use crate::{Closed, Outcome, Revision};

/// The side of a connection to which the middleware belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a connection has exactly two peers"
)]
pub enum Role {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// A message from the peer that is discarded before it reaches the middleware.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Discarded<'a> {
    /// A frame that is not a valid message. A request may have been answered with an error.
    Malformed(&'a ParseError),
    /// A batch, although the negotiated revision has no batches.
    Batch,
    /// A response without a pending request: the response is late, or its id is unknown.
    UnknownResponse(&'a RequestId),
}

/// A session that was opened by `initialize`. The stateless revision has no sessions.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct OpenedSession {
    /// Whether this side is the client or the server.
    pub role: Role,
    /// The negotiated revision.
    pub revision: Revision,
}

impl OpenedSession {
    pub(crate) fn new(role: Role, revision: Revision) -> Self {
        Self { role, revision }
    }
}

/// A function that is called with the reason when a session has ended.
pub type SessionEnd = Box<dyn FnOnce(&Closed) + Send>;

/// The work of a blocking handler, which runs on another thread.
pub type BlockingWork = Box<dyn FnOnce() -> Outcome + Send>;

/// The functions that middleware runs at the end of one session. Each function is called once: at the end of the session or, if
/// the end was not reported, when this value is dropped.
#[derive(Default)]
pub(crate) struct SessionEnds(Mutex<Vec<SessionEnd>>);

impl SessionEnds {
    pub(crate) fn extend(&self, ends: impl IntoIterator<Item = SessionEnd>) {
        lock(&self.0).extend(ends);
    }

    pub(crate) fn run(&self, reason: &Closed) {
        let ends = std::mem::take(&mut *lock(&self.0));
        ends.into_iter().for_each(|end| end(reason));
    }
}

impl Drop for SessionEnds {
    fn drop(&mut self) {
        self.run(&Closed::local());
    }
}

impl fmt::Debug for SessionEnds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionEnds")
            .field(&lock(&self.0).len())
            .finish()
    }
}
