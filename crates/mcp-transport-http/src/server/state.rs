//! What all requests of an endpoint share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use http::StatusCode;
use http::request::Parts;
use mcp_protocol::{Principal, Revision, Service};

use crate::headers::PROTOCOL_VERSION;
use crate::permit::{Capacity, Permit};
use crate::server::options::Options;
use crate::server::request::admission;
use crate::server::request::head::{Doubled, Heads};
use crate::server::response::refusal::{Refusal, unsupported};
use crate::server::running::table::Modern;
use crate::server::session::id::SessionId;
use crate::server::session::table::{Place, Table};
use crate::server::session::{HttpSession, shared};
use crate::sync::lock;

pub(crate) struct Shared {
    pub(crate) service: Arc<dyn Service>,
    pub(crate) options: Arc<Options>,
    pub(crate) sessions: Arc<Table>,
    /// Without sessions: what serves each revision, for everybody.
    pub(crate) stateless: Mutex<Vec<(Revision, Arc<HttpSession>)>>,
    /// What serves requests that belong to no session.
    pub(crate) modern: Modern,
    pub(crate) revisions: Vec<Revision>,
    /// Whether any of them opens with a handshake.
    pub(crate) has_handshake: bool,
    pub(crate) in_flight: Capacity,
    pub(crate) subscriptions: Capacity,
    /// Bytes of request bodies in memory.
    pub(crate) bodies: Capacity,
    #[cfg(feature = "legacy")]
    pub(crate) legacy: crate::legacy::sessions::LegacySessions,
    pub(crate) threads: Capacity,
    pub(crate) closing: AtomicBool,
}

impl Shared {
    /// Whether anything of this request is looked at.
    pub(crate) fn admit(&self, parts: &Parts, heads: &Heads<'_>) -> Result<(), Refusal> {
        admission::check_source(&self.options, parts, heads)?;
        if self.closing.load(Ordering::Acquire) {
            return Err(Refusal::busy("the server is shutting down"));
        }
        Ok(())
    }

    /// A place for a session.
    pub(crate) fn place(&self, principal: Option<Principal>) -> Result<Place<'_>, Refusal> {
        Place::take(&self.sessions, &self.options, principal)
    }

    /// One of the places for requests that run.
    pub(crate) fn slot(&self) -> Result<Permit, Refusal> {
        self.in_flight.try_acquire().ok_or_else(|| {
            Refusal::busy(format!(
                "{} requests are in flight, the limit of Options::with_in_flight; \
                 send again later",
                self.options.in_flight
            ))
        })
    }

    /// The same place for a request that says it is going to last, as a subscription does.
    pub(crate) fn lasting_slot(&self) -> Result<Permit, Refusal> {
        self.subscriptions.try_acquire().ok_or_else(|| {
            Refusal::busy(format!(
                "{} subscriptions are open, the limit of Options::with_subscriptions; \
                 subscribe again later",
                self.options.subscriptions
            ))
        })
    }

    /// The session a request names; it is looked for only if it may be used by who sends it.
    pub(crate) fn session(
        &self,
        parts: &Parts,
        heads: &Heads<'_>,
    ) -> Result<Arc<HttpSession>, Refusal> {
        if !self.options.sessions {
            return self.sessionless(heads);
        }
        let value = match heads.session.only() {
            Ok(Some(value)) => value,
            Ok(None) => {
                return Err(Refusal::bad_request(
                    "the Mcp-Session-Id header is missing; send the one the answer to initialize \
                     had",
                ));
            }
            Err(Doubled) => {
                return Err(Refusal::bad_request(
                    "the Mcp-Session-Id header comes more than once; send it once",
                ));
            }
        };
        let found = SessionId::parse(value).and_then(|id| self.sessions.find(&id));
        let principal = parts.extensions.get::<Principal>();
        let session = found
            .filter(|session| {
                let own = session.principal.as_ref() == principal;
                if !own {
                    tracing::warn!("refused a session to a principal it does not belong to");
                }
                own
            })
            .ok_or_else(|| {
                Refusal::new(
                    StatusCode::NOT_FOUND,
                    "there is no such session, or it has ended; send initialize without \
                     Mcp-Session-Id to open one",
                )
            })?;
        session.touch();
        check_revision(heads, &session, &self.revisions)?;
        Ok(session)
    }

    fn sessionless(&self, heads: &Heads<'_>) -> Result<Arc<HttpSession>, Refusal> {
        let revision = match heads.version.text(&PROTOCOL_VERSION)? {
            None => Revision::ASSUMED,
            Some(text) => text
                .parse()
                .ok()
                .filter(|revision: &Revision| !revision.is_stateless())
                .filter(|revision| self.revisions.contains(revision))
                .ok_or_else(|| unsupported(text, &self.revisions))?,
        };
        let mut sessions = lock(&self.stateless);
        if let Some((_, session)) = sessions.iter().find(|(it, _)| *it == revision) {
            return Ok(Arc::clone(session));
        }
        let session = shared(&self.service, &self.options, Some(revision));
        sessions.push((revision, Arc::clone(&session)));
        Ok(session)
    }

    /// What can be done may have changed since; the next request looks again.
    pub(crate) fn forget_sessionless(&self) {
        lock(&self.stateless).clear();
    }
}

/// The version header names a revision that is served. It may be missing: older revisions do not
/// know it. One that was not negotiated is no fault either: the session's counts.
///
/// Specification: transports, protocol version header.
fn check_revision(
    heads: &Heads<'_>,
    session: &HttpSession,
    served: &[Revision],
) -> Result<(), Refusal> {
    let agreed = session.inbound.session().revision();
    if heads.version.is(agreed.as_str().as_bytes()) {
        return Ok(());
    }
    let Some(text) = heads.version.text(&PROTOCOL_VERSION)? else {
        return Ok(());
    };
    if text
        .parse()
        .is_ok_and(|revision| served.contains(&revision))
    {
        return Ok(());
    }
    Err(unsupported(text, served))
}
