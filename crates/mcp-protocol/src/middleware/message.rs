//! The messages that pass through the middleware.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use mcp_jsonrpc::{
    DecodeError, ErrorObject, MemberPositions, RawJson, RequestId, decode, is_member,
};
use mcp_types::method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::chain::ChainRest;
use crate::{CallError, Link, MethodName, Outcome, RequestOrigin, Revision, SentId};

/// The direction of a message, from the point of view of the side that has the middleware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there are two directions")]
pub enum Direction {
    /// From the peer.
    Inbound,
    /// To the peer.
    Outbound,
}

/// A request that passes through the middleware. Its params are raw JSON text, so that unknown members and the notation of
/// numbers do not change.
pub struct Request(Box<MessageParts>);

/// The response to a request: a result, an error of the peer or of a handler, or the reason why an
/// outbound request has no response.
pub struct Response(Box<MessageParts>);

/// The parts of a request and of its response. They share one allocation, because each middleware moves the request and the
/// response several times.
#[derive(Default)]
struct MessageParts {
    is_outbound: bool,
    id: Option<RequestId>,
    /// Receives the id of an outbound request when the request is sent.
    sent: Option<SentId>,
    method: MethodName,
    /// The params as JSON text; empty if there are no params.
    params: String,
    /// The positions of the members in `params`. They are cleared when the params are replaced.
    positions: MemberPositions,
    revision: Option<Revision>,
    link: Option<Arc<dyn Link>>,
    rest: Option<ChainRest>,
    response: Option<Content>,
}

/// The content of a response.
pub(super) enum Content {
    Outcome(Outcome),
    /// A result as JSON text.
    Raw(RawJson),
    Failed(CallError),
}

impl Content {
    pub(super) fn error(error: ErrorObject) -> Self {
        Self::Outcome(Err(error))
    }
}

/// Maximum capacity of a params buffer that a thread keeps for its next request, in bytes.
const MAX_KEPT_BYTES: usize = 4 << 10;

thread_local! {
    /// The memory of the last message that was dropped on this thread.
    static KEPT: Cell<Option<Box<MessageParts>>> = const { Cell::new(None) };
}

impl MessageParts {
    /// Returns empty parts. Reuses the memory that this thread has kept, if there is any.
    fn empty() -> Box<Self> {
        let kept = KEPT.try_with(Cell::take).ok().flatten();
        kept.unwrap_or_default()
    }

    /// Drops the parts and keeps their memory for the next message on this thread.
    fn keep(mut self: Box<Self>) {
        self.params.clear();
        self.positions.clear();
        self.method = Cow::Borrowed("");
        (self.id, self.sent, self.link) = (None, None, None);
        self.rest = None;
        self.response = None;
        if self.params.capacity() <= MAX_KEPT_BYTES {
            // At the end of the thread, `KEPT` no longer exists, and the memory is freed.
            let _ = KEPT.try_with(|kept| kept.set(Some(self)));
        }
    }
}

impl Request {
    /// Creates the request that middleware receives for a request from the peer. `link` provides the origin.
    pub fn inbound(
        request: &mcp_jsonrpc::Request<'_>,
        revision: Option<Revision>,
        link: &Arc<dyn Link>,
    ) -> Self {
        let mut parts = MessageParts::empty();
        parts.is_outbound = false;
        parts.id = Some(request.id.clone());
        parts.method = match &*request.method {
            // The most frequent method needs no copy of its name.
            method::TOOLS_CALL => Cow::Borrowed(method::TOOLS_CALL),
            method => Cow::Owned(method.to_owned()),
        };
        parts.params.push_str(request.params.unwrap_or_default());
        parts.positions.find(request);
        parts.revision = revision;
        parts.link = Some(Arc::clone(link));
        Self(parts)
    }

    /// Creates the request that middleware receives for an input request, which the peer sent in a result.
    pub fn input(method: &str, params: Option<&str>, revision: Option<Revision>) -> Self {
        let mut parts = MessageParts::empty();
        parts.is_outbound = false;
        parts.method = Cow::Owned(method.to_owned());
        parts.params.push_str(params.unwrap_or_default());
        parts.revision = revision;
        Self(parts)
    }

    pub(crate) fn outbound(
        method: MethodName,
        params: Option<String>,
        revision: Option<Revision>,
    ) -> Self {
        let mut parts = MessageParts::empty();
        parts.is_outbound = true;
        parts.method = method;
        parts.params = params.unwrap_or_default();
        parts.revision = revision;
        Self(parts)
    }

    /// Sets the middleware that the request has not passed through yet.
    #[inline]
    pub(super) fn set_rest(&mut self, rest: ChainRest) {
        self.0.rest = Some(rest);
    }

    /// Returns the middleware that the request has not passed through yet. Returns `None` after the request has reached its
    /// receiver.
    pub(super) fn chain_rest(&mut self) -> Option<&mut ChainRest> {
        self.0.rest.as_mut()
    }

    pub(super) fn take_rest(&mut self) -> Option<ChainRest> {
        self.0.rest.take()
    }

    /// Drops the request and keeps its memory for the next message.
    pub(super) fn end(self) {
        self.0.keep();
    }

    /// Returns the response to this request. The response reuses the memory of the request.
    pub(super) fn respond(mut self, content: Content) -> Response {
        self.0.response = Some(content);
        Response(self.0)
    }

    /// Sets the link that sends the request, and the receiver of the request's id.
    pub(crate) fn sent_on(mut self, link: Arc<dyn Link>, id: SentId) -> Self {
        self.0.link = Some(link);
        self.0.sent = Some(id);
        self
    }

    /// Calls `read` with this request as a JSON-RPC request, the form that servers and clients handle. A request without an id
    /// gets the id 0.
    pub(crate) fn read<'s, T>(&'s self, read: impl FnOnce(&mcp_jsonrpc::Request<'s>) -> T) -> T {
        let id = self.0.id.clone().unwrap_or(RequestId::Number(0));
        let mut request = mcp_jsonrpc::Request::new(id, &*self.0.method, self.params());
        request.set_positions(&self.0.positions);
        read(&request)
    }

    /// Returns the direction.
    pub fn direction(&self) -> Direction {
        match self.0.is_outbound {
            false => Direction::Inbound,
            true => Direction::Outbound,
        }
    }

    /// Returns the id of an inbound request. Returns `None` for an outbound request, which gets its id from the transport, and
    /// for an input request in the result of another request.
    pub fn id(&self) -> Option<&RequestId> {
        self.0.id.as_ref()
    }

    /// Returns the receiver of the id of an outbound request. A transport that reports ids sets the id when it sends the request.
    /// Returns `None` for an inbound request, and for an input request of the stateless revision, which is sent in a result.
    pub fn sent_id(&self) -> Option<&SentId> {
        self.0.sent.as_ref()
    }

    /// Returns the method.
    pub fn method(&self) -> &str {
        &self.0.method
    }

    /// Returns the JSON text of the params; `None` if the message has no params.
    pub fn params(&self) -> Option<&str> {
        let params = &*self.0.params;
        (!params.is_empty()).then_some(params)
    }

    /// Returns the JSON text of a member of the params, without decoding the other members.
    pub fn param(&self, member: &str) -> Option<&str> {
        self.read(|request| {
            let mut all = request.param_members().filter_map(Result::ok);
            all.find_map(|(key, value)| is_member(key, member).then_some(value))
        })
    }

    /// Decodes the params. Missing params are treated as an empty object.
    ///
    /// # Errors
    /// The params do not match `T`. The error names the first member that does not match.
    pub fn decode_params<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode(self.params().unwrap_or("{}"))
    }

    /// Replaces the params, including `_meta`. The new params should contain the members of the old `_meta`.
    ///
    /// # Errors
    /// The params cannot be written as JSON. The request is then unchanged.
    pub fn set_params(&mut self, params: &impl Serialize) -> Result<(), serde_json::Error> {
        self.set_raw_params(Some(serde_json::to_string(params)?));
        Ok(())
    }

    /// Replaces the params with JSON text, which is not checked. `None` removes the params.
    pub fn set_raw_params(&mut self, params: Option<String>) {
        self.0.positions.clear();
        self.0.params = params.unwrap_or_default();
    }

    /// Returns the negotiated revision. Returns `None` before the negotiation has ended.
    pub fn revision(&self) -> Option<Revision> {
        self.0.revision
    }

    /// Returns the origin of an inbound request: the verified principal, and facts of the transport.
    /// For an outbound request, returns the facts of the connection.
    pub fn origin(&self) -> RequestOrigin<'_> {
        match &self.0.link {
            Some(link) => link.origin(),
            None => RequestOrigin::remote(),
        }
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("direction", &self.direction())
            .field("id", &self.0.id)
            .field("method", &self.0.method)
            .field("revision", &self.0.revision)
            .finish_non_exhaustive()
    }
}

impl Response {
    /// Creates a response without its request, for example after the request was dropped.
    pub(super) fn new(content: Content) -> Self {
        Request(MessageParts::empty()).respond(content)
    }

    /// Returns the content of the response.
    pub(super) fn content(&self) -> Option<&Content> {
        self.0.response.as_ref()
    }

    /// Removes the content from the response and returns it.
    #[inline]
    pub(super) fn take_content(&mut self) -> Option<Content> {
        self.0.response.take()
    }

    /// Drops the response and keeps its memory for the next message.
    pub(super) fn end(self) {
        self.0.keep();
    }
}

/// A notification that passes through the middleware, including progress, log messages and notifications of extensions. A
/// cancellation does not pass through the middleware: it drops the future of the cancelled request.
#[derive(Debug, Clone)]
pub struct Notification<'a> {
    pub(crate) direction: Direction,
    pub(crate) method: Cow<'a, str>,
    pub(crate) params: Option<Cow<'a, str>>,
    pub(crate) revision: Option<Revision>,
}

impl Notification<'_> {
    /// Returns the direction.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the method.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Returns the JSON text of the params; `None` if the message has no params.
    pub fn params(&self) -> Option<&str> {
        self.params.as_deref()
    }

    /// Decodes the params. Missing params are treated as an empty object.
    ///
    /// # Errors
    /// The params do not match `T`. The error names the first member that does not match.
    pub fn decode_params<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode(self.params().unwrap_or("{}"))
    }

    /// Replaces the params.
    ///
    /// # Errors
    /// The params cannot be written as JSON. The notification is then unchanged.
    pub fn set_params(&mut self, params: &impl Serialize) -> Result<(), serde_json::Error> {
        self.set_raw_params(Some(serde_json::to_string(params)?));
        Ok(())
    }

    /// Replaces the params with JSON text, which is not checked. `None` removes the params.
    pub fn set_raw_params(&mut self, params: Option<String>) {
        self.params = params.map(Cow::Owned);
    }

    /// Returns the negotiated revision. Returns `None` before the negotiation has ended.
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_shared(_: &(impl Send + Sync)) -> bool {
        true
    }

    #[test]
    fn requests_and_responses_can_be_borrowed_across_an_await() {
        let request = Request::input("m", None, None);
        assert!(is_shared(&request));
        let response = request.respond(Content::error(ErrorObject::internal("x")));
        assert!(is_shared(&response));
    }

    #[test]
    fn reused_message_memory_is_empty_and_large_memory_is_freed() {
        let large = "x".repeat(MAX_KEPT_BYTES + 1);
        for (params, kept) in [("{\"a\":1}", 7), (&*large, 0)] {
            let request = Request::input("m", Some(params), Some(Revision::V2025_11_25));
            assert_eq!(request.params(), Some(params));
            let response = request.respond(Content::error(ErrorObject::internal("x")));
            assert!(response.as_error().is_some());
            response.end();
            let parts = MessageParts::empty();
            assert!(parts.params.is_empty() && parts.params.capacity() >= kept);
            assert!(parts.params.capacity() <= MAX_KEPT_BYTES);
            assert!(parts.response.is_none() && parts.link.is_none() && parts.id.is_none());
            parts.keep();
        }
        let request = Request::outbound(Cow::Borrowed("n"), None, None);
        assert_eq!((request.params(), request.revision()), (None, None));
    }
}
