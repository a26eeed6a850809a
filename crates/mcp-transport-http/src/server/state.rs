//! State that all requests of an endpoint share.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use http::request::Parts;
use http::{HeaderValue, StatusCode};
use mcp_protocol::{Principal, Revision, Service};

use crate::headers::PROTOCOL_VERSION;
use crate::permit::share::KnownOwner;
use crate::permit::{Capacity, Exhausted, Permit};
use crate::server::head::{DuplicateHeader, McpHeaders, RequestHead};
use crate::server::options::ServerOptions;
use crate::server::response::refusal::{Refusal, unsupported};
use crate::server::session::reservation::SessionReservation;
use crate::server::session::stateless::StatelessRequests;
use crate::server::session::table::SessionTable;
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::session_id::SessionId;
use crate::sync::lock;

pub(crate) struct EndpointState {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) options: Arc<ServerOptions>,
    pub(crate) sessions: Arc<SessionTable>,
    /// The session objects of an endpoint with [`ServerOptions::without_sessions`], one for each revision. All clients share
    /// them.
    pub(crate) sessionless: Mutex<Vec<(Revision, Arc<HttpSession>)>>,
    /// Serves the requests of the stateless revision.
    pub(crate) stateless: StatelessRequests,
    pub(crate) revisions: Vec<Revision>,
    /// Whether the server supports a revision that begins with `initialize`.
    pub(crate) has_handshake: bool,
    pub(crate) in_flight: Capacity,
    pub(crate) subscriptions: Capacity,
    /// Limits the memory of subscriptions, and of streams that sessions have opened by GET.
    pub(crate) streams: Capacity,
    /// Limits the number of requests whose bodies have not arrived completely.
    pub(crate) receiving: Capacity,
    /// Limits the memory of request bodies.
    pub(crate) bodies: Capacity,
    /// Limits the memory of responses and events that wait for their clients.
    pub(crate) responses: Capacity,
    #[cfg(feature = "legacy")]
    pub(crate) legacy: crate::legacy::sessions::LegacySessions,
    pub(crate) threads: Capacity,
    /// Limits the number of concurrent searches for the stored response of a call whose endpoint has ended.
    pub(crate) kept_calls: Capacity,
    pub(crate) closing: AtomicBool,
}

impl EndpointState {
    /// Reserves capacity for a session.
    pub(crate) fn reserve_session(
        &self,
        owner: Option<KnownOwner>,
    ) -> Result<SessionReservation<'_>, Refusal> {
        SessionReservation::take(&self.sessions, &self.options, owner)
    }

    /// Takes a permit for a running request.
    #[inline]
    pub(crate) fn request_permit(&self, head: &RequestHead) -> Result<Permit, Refusal> {
        // Refused before the handler runs, because the response would probably be dropped. The last eighth of the
        // limit is reserved for clients that have read all their responses.
        if self.responses.is_nearly_used() && self.responses.has_share(|| head.owner()) {
            return Err(Refusal::busy(
                "the client has not read all its responses, and the limit of \
                 MemoryLimits::max_response_bytes is nearly reached; read the responses and send again",
            ));
        }
        let permit = self.in_flight.try_acquire_for(|| head.owner());
        permit.map_err(|exhausted| match exhausted {
            Exhausted::Limit => Refusal::busy(format!(
                "{} requests are in flight, the limit of RequestLimits::max_in_flight; \
                 send again later",
                self.options.request_limits.max_in_flight
            )),
            Exhausted::Share => Refusal::share("requests in flight"),
        })
    }

    /// Takes a permit for a request whose body has not arrived yet.
    pub(crate) fn receiving_permit(&self, head: &RequestHead) -> Result<Permit, Refusal> {
        let permit = self.receiving.try_acquire_for(|| head.owner());
        permit.map_err(|exhausted| match exhausted {
            Exhausted::Limit => Refusal::busy(format!(
                "the bodies of {} requests are being received, the limit of \
                 RequestLimits::max_receiving; send again later",
                self.options.request_limits.max_receiving
            )),
            Exhausted::Share => Refusal::share("requests that are being received"),
        })
    }

    /// Takes a permit for a subscription. The subscription then needs no permit for a running request.
    pub(crate) fn subscription_permit(&self, owner: Option<KnownOwner>) -> Result<Permit, Refusal> {
        let permit = self.subscriptions.try_acquire_for(|| owner);
        permit.map_err(|exhausted| match exhausted {
            Exhausted::Limit => Refusal::busy(format!(
                "{} subscriptions are open, the limit of RequestLimits::max_subscriptions; \
                 subscribe again later",
                self.options.request_limits.max_subscriptions
            )),
            Exhausted::Share => Refusal::share("subscriptions"),
        })
    }

    /// Takes a permit for the memory of a subscription or GET stream. The memory consists of `bytes` and the head of the request.
    pub(crate) fn stream_permit(
        &self,
        head: &RequestHead,
        bytes: usize,
    ) -> Result<Permit, Refusal> {
        let mut permit = self.streams.permit();
        let taken = permit.try_grow(bytes + head_memory(head), || head.owner());
        taken.map_err(|exhausted| match exhausted {
            Exhausted::Limit => Refusal::busy(format!(
                "the open streams use {} bytes, the limit of MemoryLimits::max_stream_bytes; \
                 subscribe again later",
                self.streams.limit()
            )),
            Exhausted::Share => Refusal::share("bytes of streams"),
        })?;
        Ok(permit)
    }

    /// Finds the session that a request names, and checks that the request may use the session. If `claimed` is set, returns the
    /// session that it guards.
    pub(crate) fn session(
        &self,
        parts: &Parts,
        mcp_headers: &McpHeaders<'_>,
        claimed: Option<&ActivityGuard>,
    ) -> Result<Arc<HttpSession>, Refusal> {
        if !self.options.sessions {
            return self.sessionless(mcp_headers);
        }
        let value = match mcp_headers.session.single() {
            Ok(Some(value)) => value,
            Ok(None) => {
                return Err(Refusal::bad_request(
                    "the Mcp-Session-Id header is missing; send the value from the response to \
                     initialize",
                ));
            }
            Err(DuplicateHeader) => {
                return Err(Refusal::bad_request(
                    "the Mcp-Session-Id header is repeated; send it once",
                ));
            }
        };
        let session = match claimed {
            Some(claimed) => Some(Arc::clone(claimed.session())),
            None if self.options.stored.store.is_some() => None,
            None => self.find_session(parts, value),
        };
        let session = session.ok_or_else(unknown_session)?;
        if session.touch() >= self.options.timeouts.session_lifetime {
            // The running requests of the session finish, but it accepts no new requests.
            return Err(unknown_session());
        }
        let agreed = session.inbound.session().revision();
        if !mcp_headers.version.is(agreed.as_str().as_bytes()) {
            // The header may name another revision than the negotiated one; the session uses the negotiated one.
            self.named_revision(mcp_headers)?;
        }
        Ok(session)
    }

    /// Returns the revision that the version header names. Returns `None` if there is no such header: older revisions do not have
    /// it.
    ///
    /// Specification: transports, protocol version header.
    ///
    /// # Errors
    /// The server does not support the revision.
    pub(crate) fn named_revision(
        &self,
        mcp_headers: &McpHeaders<'_>,
    ) -> Result<Option<Revision>, Refusal> {
        let Some(text) = mcp_headers.version.text(&PROTOCOL_VERSION)? else {
            return Ok(None);
        };
        let revision = text.parse().ok();
        match revision.filter(|revision| self.revisions.contains(revision)) {
            Some(revision) => Ok(Some(revision)),
            None => Err(unsupported(text, &self.revisions)),
        }
    }

    /// Finds a session by its id. Returns `None` if there is no such session, or if it does not belong to the principal of the
    /// request.
    fn find_session(&self, parts: &Parts, id: &HeaderValue) -> Option<Arc<HttpSession>> {
        let session = self.sessions.find(&SessionId::parse(id)?)?;
        if session.principal.as_ref() == parts.extensions.get::<Principal>() {
            Some(session)
        } else {
            tracing::warn!("rejected a session id that belongs to another principal");
            None
        }
    }

    /// Returns whether the request names an open session.
    pub(crate) fn names_session(&self, parts: &Parts, mcp_headers: &McpHeaders<'_>) -> bool {
        let id = mcp_headers.session.first();
        id.is_some_and(|id| self.find_session(parts, id).is_some())
    }

    fn sessionless(&self, mcp_headers: &McpHeaders<'_>) -> Result<Arc<HttpSession>, Refusal> {
        let revision = match self.named_revision(mcp_headers)? {
            None => Revision::ASSUMED,
            Some(revision) if revision.is_stateless() => {
                return Err(unsupported(revision.as_str(), &self.revisions));
            }
            Some(revision) => revision,
        };
        let mut sessions = lock(&self.sessionless);
        if let Some((_, session)) = sessions.iter().find(|(served, _)| *served == revision) {
            return Ok(Arc::clone(session));
        }
        let session = HttpSession::without_id(
            &self.service,
            &self.options,
            &self.responses,
            Some(revision),
        );
        sessions.push((revision, Arc::clone(&session)));
        Ok(session)
    }

    /// Drops the shared session objects, so that the next request uses the current capabilities of the server.
    pub(crate) fn forget_sessionless(&self) {
        lock(&self.sessionless).clear();
    }
}

/// Memory of a session's GET stream and its connection, in bytes.
pub(crate) const SESSION_STREAM: usize = 16 << 10;
/// Memory of a subscription and its connection in bytes, without the client identity. The URIs are counted separately.
pub(crate) const SUBSCRIPTION: usize = 28 << 10;
/// Memory of a header in addition to its text, in bytes.
const HEADER: usize = 128;

/// Returns the memory of a request head in bytes. The head is kept while the stream of the request is open.
fn head_memory(head: &Parts) -> usize {
    let headers = head.headers.iter();
    let headers: usize = headers
        .map(|(name, value)| HEADER + name.as_str().len() + value.len())
        .sum();
    let target = head.uri.path_and_query();
    headers + target.map_or(0, |target| target.as_str().len())
}

fn unknown_session() -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "the session does not exist or has ended; send initialize without Mcp-Session-Id to open a \
         new session",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_head_includes_its_headers_and_its_target() {
        let request = http::Request::get("/mcp?user=1");
        let request = request.header("accept", "a/b").header("x-a", "12345");
        let (head, ()) = request.body(()).unwrap().into_parts();
        let text = ["/mcp?user=1", "accept", "a/b", "x-a", "12345"].concat();
        assert_eq!(head_memory(&head), 2 * HEADER + text.len());
    }
}
