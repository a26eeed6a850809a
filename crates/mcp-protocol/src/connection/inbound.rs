//! The trait between a transport and one side of a connection.

use std::fmt;
use std::sync::Weak;
use std::time::Duration;

use mcp_jsonrpc::{
    Limits, Notification, ParseError, ParseErrorKind, Request, parse, replace_invalid_text,
};

use crate::middleware::{BlockingWork, Discarded};
use crate::{BoxFuture, Closed, Deviation, Exchange, Link, Outcome};

/// One side of a connection, to which a transport passes the inbound messages.
///
/// The transport calls the methods in the order in which the messages arrive. The methods must not block.
pub trait Inbound: Send + Sync + 'static {
    /// Called when the connection is open. `link` sends messages to the peer that do not belong to a request.
    fn opened(&self, _link: Weak<dyn Link>) {}

    /// Handles a request. If the response is ready, returns it at once.
    fn request(&self, request: &Request<'_>, exchange: Exchange) -> Reply;

    /// Handles a notification. If [`answers`](Self::answers) returns `true`, the transport itself handles
    /// `notifications/cancelled`.
    fn notification(&self, notification: &Notification<'_>);

    /// Returns whether this side answers requests. A client of the stateless revision does not: the transport drops requests
    /// without a response. Default: `true`.
    fn answers(&self) -> bool {
        true
    }

    /// Returns whether an error without an id belongs to the only request in flight. A client returns `true` until the
    /// negotiation has ended. Default: `false`.
    fn takes_errors_without_id(&self) -> bool {
        false
    }

    /// Returns whether the negotiated revision has batches. Default: `false`.
    fn accepts_batches(&self) -> bool {
        false
    }

    /// Called for a frame that is not a valid message. Returns whether an error response should be sent, if JSON-RPC allows a
    /// response to this frame. Default: `true`.
    fn unreadable(&self, _frame: &[u8], _error: &ParseError) -> bool {
        true
    }

    /// Returns whether this side tolerates a deviation that the transport has found. If so, counts the deviation. Default:
    /// `false`.
    fn tolerates(&self, _deviation: Deviation, _detail: &str) -> bool {
        false
    }

    /// Called when a message of the peer is discarded. Default: nothing.
    fn discarded(&self, _message: Discarded<'_>) {}

    /// Returns the time after which a request is answered with an error. Default: no limit.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    /// Called when the connection has ended; no message follows.
    fn closed(&self, _reason: &Closed) {}
}

impl dyn Inbound {
    /// Repairs a response whose only error is text that is not Unicode: returns the frame with U+FFFD in place of this text.
    /// Returns `None` for other errors, and if this side does not tolerate the deviation.
    pub fn repaired(&self, frame: &[u8], error: &ParseError) -> Option<String> {
        if !error.is_response() || error.kind() != ParseErrorKind::Syntax {
            return None;
        }
        let text = replace_invalid_text(frame)?;
        let is_valid = parse(text.as_bytes(), &Limits::default()).is_ok();
        (is_valid && self.tolerates(Deviation::InvalidText, &error.to_string())).then_some(text)
    }
}

/// The response to a request, or the work that produces the response.
#[non_exhaustive]
pub enum Reply {
    /// The response is ready.
    Ready(Outcome),
    /// An asynchronous handler. The transport polls the future once, and spawns it as a task only if it is still pending.
    /// Dropping it cancels the handler.
    Pending(BoxFuture<'static, Outcome>),
    /// A blocking handler, which must run on a separate thread.
    Blocking(BlockingWork),
}

impl Reply {
    /// Returns a reply that is ready with a result.
    pub fn ok(payload: crate::Payload) -> Self {
        Self::Ready(Ok(payload))
    }

    /// Returns a reply that is ready with an error.
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
