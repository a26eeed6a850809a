//! The seam between whoever moves messages and whoever understands them.

use std::fmt;
use std::sync::Weak;
use std::time::Duration;

use mcp_jsonrpc::{Notification, ParseError, Request};

use crate::{BoxFuture, Closed, Exchange, Link, Outcome};

/// One side of one connection: what a driver hands inbound messages to.
///
/// All methods are called in the order of the messages and must not block.
pub trait Inbound: Send + Sync + 'static {
    /// The connection is up; `link` is the way to the peer outside any request.
    fn opened(&self, _link: Weak<dyn Link>) {}

    /// A request. What can be answered at once is answered in place.
    fn request(&self, request: &Request<'_>, exchange: Exchange) -> Reply;

    /// A notification other than `notifications/cancelled`, which the driver handles on a side
    /// that [answers](Self::answers).
    fn notification(&self, notification: &Notification<'_>);

    /// Whether this side answers requests. The client of a revision without requests from the
    /// server does not: what comes is dropped, and nothing is written for it. Default: yes.
    fn answers(&self) -> bool {
        true
    }

    /// Whether the negotiated revision knows batches. Default: no.
    fn accepts_batches(&self) -> bool {
        false
    }

    /// A frame that is no message. Returns whether to answer it, if it may be answered at all.
    fn unreadable(&self, _frame: &[u8], _error: &ParseError) -> bool {
        true
    }

    /// How long a request may take before it is answered with an error. Default: no limit.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// The connection ended; no message follows.
    fn closed(&self, _reason: &Closed) {}
}

/// How a request is going to be answered.
#[non_exhaustive]
pub enum Reply {
    /// The answer is here.
    Ready(Outcome),
    /// The answer takes waiting. The future is polled once in place and becomes a task only if
    /// it is still pending. Dropping it cancels the work.
    Pending(BoxFuture<'static, Outcome>),
    /// The answer takes blocking, so it needs a thread of its own.
    Blocking(Box<dyn FnOnce() -> Outcome + Send>),
}

impl Reply {
    /// A reply that is ready with a result.
    pub fn ok(payload: crate::Payload) -> Self {
        Self::Ready(Ok(payload))
    }

    /// A reply that is ready with an error.
    pub fn error(error: mcp_jsonrpc::ErrorObject) -> Self {
        Self::Ready(Err(error))
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(outcome) => f.debug_tuple("Ready").field(outcome).finish(),
            Self::Pending(_) => f.write_str("Pending"),
            Self::Blocking(_) => f.write_str("Blocking"),
        }
    }
}
