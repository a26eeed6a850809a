//! The messages that pass the middleware.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use mcp_jsonrpc::{DecodeError, MemberPositions, RawJson, RequestId, decode};
use mcp_types::method;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::chain::ChainRest;
use crate::{Link, MethodName, RequestOrigin, Revision, SentId};

/// Where a message goes, seen from the side that has the middleware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "there are two directions")]
pub enum Direction {
    /// From the peer.
    Inbound,
    /// To the peer.
    Outbound,
}

/// A request that passes the middleware. Its params are raw JSON text, so that unknown members and
/// the text of numbers are kept.
pub struct Request(Box<RequestParts>);

/// Boxed, because each middleware moves the request several times.
struct RequestParts {
    direction: Direction,
    id: Option<RequestId>,
    /// The id of an outbound request, after it was sent.
    sent: Option<SentId>,
    method: MethodName,
    params: Option<RawJson>,
    /// Where the members of `params` are, until they are replaced.
    positions: Option<MemberPositions>,
    revision: Option<Revision>,
    link: Option<Arc<dyn Link>>,
    rest: Option<ChainRest>,
}

impl Request {
    /// Creates the passing form of a request from the peer; `link` knows its origin.
    pub fn inbound(
        request: &mcp_jsonrpc::Request<'_>,
        revision: Option<Revision>,
        link: &Arc<dyn Link>,
    ) -> Self {
        Self(Box::new(RequestParts {
            direction: Direction::Inbound,
            id: Some(request.id.clone()),
            sent: None,
            method: match &*request.method {
                // The most frequent request needs no copy.
                method::TOOLS_CALL => Cow::Borrowed(method::TOOLS_CALL),
                method => Cow::Owned(method.to_owned()),
            },
            params: request.params.map(RawJson::copy),
            positions: request.member_positions(),
            revision,
            link: Some(Arc::clone(link)),
            rest: None,
        }))
    }

    /// Creates the passing form of an input request, which the peer sent in a result.
    pub fn input(method: &str, params: Option<RawJson>, revision: Option<Revision>) -> Self {
        Self(Box::new(RequestParts {
            direction: Direction::Inbound,
            id: None,
            sent: None,
            method: Cow::Owned(method.to_owned()),
            params,
            positions: None,
            revision,
            link: None,
            rest: None,
        }))
    }

    pub(crate) fn outbound(
        method: MethodName,
        params: Option<RawJson>,
        revision: Option<Revision>,
    ) -> Self {
        Self(Box::new(RequestParts {
            direction: Direction::Outbound,
            id: None,
            sent: None,
            method,
            params,
            positions: None,
            revision,
            link: None,
            rest: None,
        }))
    }

    /// Sets the rest of the way.
    pub(super) fn set_rest(&mut self, rest: ChainRest) {
        self.0.rest = Some(rest);
    }

    /// Returns the rest of the way, until the end was reached.
    pub(super) fn chain_rest(&mut self) -> Option<&mut ChainRest> {
        self.0.rest.as_mut()
    }

    pub(super) fn take_rest(&mut self) -> Option<ChainRest> {
        self.0.rest.take()
    }

    /// Adds the link that sends the request, and the receiver of its id.
    pub(crate) fn sent_on(mut self, link: Arc<dyn Link>, id: SentId) -> Self {
        self.0.link = Some(link);
        self.0.sent = Some(id);
        self
    }

    /// Returns the request with an id, as a server or client handles it.
    pub(crate) fn as_message(&self) -> mcp_jsonrpc::Request<'_> {
        let id = self.0.id.clone().unwrap_or(RequestId::Number(0));
        let request = mcp_jsonrpc::Request::new(id, &*self.0.method, self.params());
        match &self.0.positions {
            Some(positions) => request.with_member_positions(positions),
            None => request,
        }
    }

    /// Returns the direction.
    pub fn direction(&self) -> Direction {
        self.0.direction
    }

    /// Returns the id of an inbound request. Outbound requests get their id from the transport, and
    /// input requests in the result of another request have none.
    pub fn id(&self) -> Option<&RequestId> {
        self.0.id.as_ref()
    }

    /// Returns the receiver of the id of an outbound request, which the transport sets when it sends
    /// the request, if it reports ids. Returns `None` for inbound requests, and for an input request
    /// of the stateless revision, which is sent in a result.
    pub fn sent_id(&self) -> Option<&SentId> {
        self.0.sent.as_ref()
    }

    /// Returns the method.
    pub fn method(&self) -> &str {
        &self.0.method
    }

    /// Returns the JSON text of the params; `None` if there are none.
    pub fn params(&self) -> Option<&str> {
        self.0.params.as_deref()
    }

    /// Returns the JSON text of a member of the params, without decoding the others.
    pub fn param(&self, member: &str) -> Option<&str> {
        let request = self.as_message();
        let mut all = request.param_members().filter_map(Result::ok);
        all.find_map(|(key, value)| (key == member).then_some(value))
    }

    /// Decodes the params; missing params are an empty object.
    ///
    /// # Errors
    /// The params do not fit `T`; the error names the first such member.
    pub fn decode_params<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode(self.params().unwrap_or("{}"))
    }

    /// Replaces the params. `_meta` is part of them: keep its members.
    ///
    /// # Errors
    /// The params cannot be written as JSON; the request is unchanged.
    pub fn set_params(&mut self, params: &impl Serialize) -> Result<(), serde_json::Error> {
        self.set_raw_params(Some(RawJson::copy(&serde_json::to_string(params)?)));
        Ok(())
    }

    /// Replaces the params by JSON text, which is not checked; `None` removes them.
    pub fn set_raw_params(&mut self, params: Option<RawJson>) {
        self.0.positions = None;
        self.0.params = params;
    }

    /// Returns the negotiated revision; `None` before the negotiation.
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
            .field("direction", &self.0.direction)
            .field("id", &self.0.id)
            .field("method", &self.0.method)
            .field("revision", &self.0.revision)
            .finish_non_exhaustive()
    }
}

/// A notification that passes the middleware: of the protocol, of an extension, progress, or a log
/// message. Cancellations are handled before the middleware: they drop its future.
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

    /// Returns the JSON text of the params; `None` if there are none.
    pub fn params(&self) -> Option<&str> {
        self.params.as_deref()
    }

    /// Decodes the params; missing params are an empty object.
    ///
    /// # Errors
    /// The params do not fit `T`; the error names the first such member.
    pub fn decode_params<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        decode(self.params().unwrap_or("{}"))
    }

    /// Replaces the params.
    ///
    /// # Errors
    /// The params cannot be written as JSON; the notification is unchanged.
    pub fn set_params(&mut self, params: &impl Serialize) -> Result<(), serde_json::Error> {
        self.set_raw_params(Some(serde_json::to_string(params)?));
        Ok(())
    }

    /// Replaces the params by JSON text, which is not checked; `None` removes them.
    pub fn set_raw_params(&mut self, params: Option<String>) {
        self.params = params.map(Cow::Owned);
    }

    /// Returns the negotiated revision; `None` before the negotiation.
    pub fn revision(&self) -> Option<Revision> {
        self.revision
    }
}
