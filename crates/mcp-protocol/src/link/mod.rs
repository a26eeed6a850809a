//! The trait that sends messages to the peer, and its errors.

mod ask_error;
mod closed;
mod transport_error;

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use mcp_jsonrpc::{ErrorObject, ParseError, RawJson, RequestId};

use crate::RequestOrigin;
use crate::sync::lock;

pub use ask_error::AskError;
pub use closed::Closed;
pub use transport_error::TransportError;

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The name of a method. The names of protocol methods are constants.
pub type MethodName = Cow<'static, str>;

/// A link to the peer, for notifications and requests: on the pipe that all messages share, or on the stream of one
/// request.
pub trait Link: fmt::Debug + Send + Sync + 'static {
    /// Queues a notification. `params` are JSON text.
    ///
    /// # Errors
    /// The connection has ended.
    fn notify(&self, method: &str, params: Option<&[u8]>, delivery: Delivery)
    -> Result<(), Closed>;

    /// Creates a request with extra data in addition to the params. `params` are JSON text. A transport ignores extra data that
    /// it does not support. The request is sent when the call is first polled. Dropping the call sends a cancellation.
    fn request_with(&self, method: MethodName, params: Option<Vec<u8>>, extras: Extras) -> Call;

    /// Returns the origin of the request to which this link belongs. Default: an unknown remote peer.
    fn origin(&self) -> RequestOrigin<'_> {
        RequestOrigin::remote()
    }

    /// Returns the number of bytes that are queued because the peer does not read, if the transport knows this number. Default:
    /// 0.
    fn queued_bytes(&self) -> usize {
        0
    }

    /// Closes the event stream of this request. The peer reconnects after `retry` and resumes the stream. Returns `false`, the
    /// default, if the transport or the revision does not support this.
    fn release(&self, _retry: Duration) -> bool {
        false
    }

    /// Lets another process of the same server respond to this request, see
    /// [`RequestContext::forward`](crate::RequestContext::forward). Returns `false`, the default, if the transport or
    /// the revision does not support this.
    fn forward(&self, _address: &str) -> bool {
        false
    }
}

impl dyn Link {
    /// Creates a request without extra data; see [`request_with`](Link::request_with).
    pub fn request(&self, method: impl Into<MethodName>, params: Option<Vec<u8>>) -> Call {
        self.request_with(method.into(), params, Extras::default())
    }
}

/// Extra data of a request, in addition to its params.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Extras {
    /// HTTP headers that echo arguments. Each item is a header name and an encoded value.
    pub headers: Vec<(String, String)>,
    /// Receives the id of the request when the request is sent.
    pub id: Option<SentId>,
    /// Maximum time that a transport over HTTP waits for the response after it has sent the request; the time of an authorization
    /// is not included.
    pub response_timeout: Option<Duration>,
    /// The data of a stateless request; `None` in session-based revisions.
    pub stateless: Option<StatelessRequest>,
    /// A value that is dropped when the request is written, or when the request is dropped before that. An example is the permit
    /// for the request's memory. A pipe keeps the bytes of a request even if the request is cancelled.
    pub kept: Option<Kept>,
}

/// A value that is kept with a message until the message is written.
pub type Kept = Box<dyn Any + Send>;

/// The data that a transport needs about a request of the stateless revision. With this data, the transport does not have to
/// parse the params.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatelessRequest {
    /// The protocol version in the request metadata (`MCP-Protocol-Version`).
    pub revision: &'static str,
    /// The name, URI or task id in the params (`Mcp-Name`), for methods that have such a member.
    pub name: Option<String>,
}

impl StatelessRequest {
    /// Creates the data of a request of this revision.
    pub fn new(revision: &'static str, name: Option<String>) -> Self {
        Self { revision, name }
    }
}

impl Extras {
    /// Creates extra data with headers only.
    pub fn of_headers(headers: Vec<(String, String)>) -> Self {
        Self {
            headers,
            ..Self::default()
        }
    }

    /// Creates extra data with a receiver of the id only.
    pub fn of_id(id: SentId) -> Self {
        Self {
            id: Some(id),
            ..Self::default()
        }
    }

    /// Creates extra data of a stateless request.
    pub fn of_stateless(request: StatelessRequest) -> Self {
        Self {
            stateless: Some(request),
            ..Self::default()
        }
    }
}

/// The id with which a request was last sent, and the problem that delays its response. The id is set before the first byte is
/// sent.
#[derive(Debug, Clone, Default)]
pub struct SentId(Arc<Sent>);

#[derive(Debug, Default)]
struct Sent {
    id: AtomicI64,
    problem: Mutex<Option<String>>,
}

impl SentId {
    /// Creates the value for a request that was not sent yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the id. Ids of requests start at 1.
    pub fn set(&self, id: i64) {
        self.0.id.store(id, Ordering::Release);
    }

    /// Sets the problem that delays the response. `None` means that the problem is solved.
    pub fn set_problem(&self, problem: Option<String>) {
        *lock(&self.0.problem) = problem;
    }

    /// Returns the problem that delays the response, if the transport knows one. After a timeout, the caller should include the
    /// problem in its error.
    pub fn problem(&self) -> Option<String> {
        lock(&self.0.problem).clone()
    }

    /// Returns the id. Returns `None` if nothing was sent, or if the transport does not report ids.
    pub fn get(&self) -> Option<RequestId> {
        match self.0.id.load(Ordering::Acquire) {
            0 => None,
            id => Some(RequestId::Number(id)),
        }
    }
}

/// The treatment of a notification when the output queue is full (backpressure).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// The notification is queued anyway. Such notifications are rare.
    Always,
    /// The notification is dropped. For a notification that may be lost, such as progress or a log message.
    Lossy,
}

/// The response of the peer: the raw result, or its error.
pub type Answer = Result<RawJson, ErrorObject>;

/// A request in flight. Dropping it before the response sends a cancellation.
pub struct Call(BoxFuture<'static, Result<Answer, CallError>>);

impl Call {
    /// Wraps the future of a transport. Dropping the future must send the cancellation.
    pub fn new(future: impl Future<Output = Result<Answer, CallError>> + Send + 'static) -> Self {
        Self(Box::pin(future))
    }

    /// Creates a call that has already failed.
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

/// The reason why a call has no response.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum CallError {
    /// The connection ended before the response.
    Closed(Closed),
    /// The peer's response was not a valid JSON-RPC response.
    Malformed(ParseError),
    /// The transport failed to deliver the request or its response; the connection is still open.
    Failed(Arc<TransportError>),
    /// Too many requests are in flight; the limit is [`MuxLimits::outgoing`](crate::MuxLimits).
    Busy {
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed(reason) => reason.fmt(f),
            Self::Malformed(error) => write!(f, "peer sent a malformed response: {error}"),
            Self::Failed(error) => error.fmt(f),
            Self::Busy { limit } => write!(
                f,
                "{limit} requests are in flight, which is the limit MuxLimits::outgoing"
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
