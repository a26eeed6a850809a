//! The way to the peer.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, ParseError, RawJson, RequestId};

use crate::{BoxFuture, Closed, Principal, TransportError};

/// Sends notifications and requests to the peer: the whole pipe, or the stream of one request.
pub trait Link: fmt::Debug + Send + Sync + 'static {
    /// Queues a notification whose `params` are JSON text.
    ///
    /// # Errors
    /// The connection has ended.
    fn notify(&self, method: &str, params: Option<&[u8]>, delivery: Delivery)
    -> Result<(), Closed>;

    /// Opens a request whose `params` are JSON text. It is sent when the call is first polled,
    /// and dropping the call cancels it on the wire.
    fn request(&self, method: &'static str, params: Option<Vec<u8>>) -> Call;

    /// The same, with what goes beside the params. Default: that is ignored.
    fn request_with(&self, method: &'static str, params: Option<Vec<u8>>, _extras: Extras) -> Call {
        self.request(method, params)
    }

    /// What the transport knows of the request this belongs to, in a type of its own; for HTTP,
    /// the `http::request::Parts`. Default: nothing.
    fn facts(&self) -> Option<&(dyn Any + Send + Sync)> {
        None
    }

    /// On whose behalf the request came, if that was verified. Default: unknown.
    fn principal(&self) -> Option<&Principal> {
        None
    }

    /// Whether the request may do what needs `scope`, one or more words. Default: no, because
    /// nobody verified anything.
    fn permits(&self, _scope: &str) -> bool {
        false
    }

    /// What the request was granted, if whoever verified it says so. Default: nothing is known.
    fn grant(&self) -> Option<crate::Grant> {
        None
    }

    /// Whether the peer is whoever started this process, so that there is only one. Default: no.
    fn is_local(&self) -> bool {
        false
    }

    /// Ends the connection that carries the stream of this request; the peer comes back for the
    /// rest after `retry`. `false`, the default, if the transport or the revision cannot.
    fn release(&self, _retry: Duration) -> bool {
        false
    }
}

/// What goes with a request beside its params.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Extras {
    /// Headers that repeat arguments, where there are headers: name and encoded value.
    pub headers: Vec<(String, String)>,
    /// Is told under which id the request is sent.
    pub id: Option<SentId>,
}

impl Extras {
    /// Headers alone.
    pub fn of_headers(headers: Vec<(String, String)>) -> Self {
        Self { headers, id: None }
    }

    /// Nothing but somebody who wants to know the id.
    pub fn of_id(id: SentId) -> Self {
        Self {
            headers: Vec::new(),
            id: Some(id),
        }
    }
}

/// The id under which a request was last sent; known before its first byte is.
#[derive(Debug, Clone, Default)]
pub struct SentId(Arc<AtomicI64>);

impl SentId {
    /// Of a request that is not sent yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes note of the id. Ids of requests count up from 1.
    pub fn set(&self, id: i64) {
        self.0.store(id, Ordering::Release);
    }

    /// The id; `None` if nothing was sent, or by a transport that does not tell.
    pub fn get(&self) -> Option<RequestId> {
        match self.0.load(Ordering::Acquire) {
            0 => None,
            id => Some(RequestId::Number(id)),
        }
    }
}

/// What happens to a notification when the peer does not keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// It is queued all the same: there are few of its kind.
    Always,
    /// It is dropped: the next one makes up for it (progress, log).
    Lossy,
}

/// What the peer answered: the raw result, or its refusal.
pub type Answer = Result<RawJson, ErrorObject>;

/// A request under way. Dropping it before the answer cancels it on the wire.
pub struct Call(BoxFuture<'static, Result<Answer, CallError>>);

impl Call {
    /// Wraps a transport's own future, whose `Drop` must cancel.
    pub fn new(future: impl Future<Output = Result<Answer, CallError>> + Send + 'static) -> Self {
        Self(Box::pin(future))
    }

    /// A call that has failed already.
    pub fn failed(error: CallError) -> Self {
        Self::new(std::future::ready(Err(error)))
    }
}

impl Future for Call {
    type Output = Result<Answer, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Call")
    }
}

/// Why there is no answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CallError {
    /// The connection ended first.
    Closed(Closed),
    /// The peer's answer was not a JSON-RPC answer.
    Malformed(ParseError),
    /// This request failed on its way, or its answer did; the connection lives.
    Failed(Arc<TransportError>),
    /// Too many requests are under way; the limit is [`MuxLimits::outgoing`](crate::MuxLimits).
    Busy {
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(reason) => reason.fmt(f),
            Self::Malformed(error) => write!(f, "peer sent a malformed answer: {error}"),
            Self::Failed(error) => error.fmt(f),
            Self::Busy { limit } => write!(
                f,
                "{limit} requests are under way, the limit of MuxLimits::outgoing"
            ),
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Closed(reason) => Some(reason),
            Self::Malformed(error) => Some(error),
            Self::Failed(error) => Some(error),
            Self::Busy { .. } => None,
        }
    }
}
