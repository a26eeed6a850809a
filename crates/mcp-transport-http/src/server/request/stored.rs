//! Sessions in a session store: continued at this endpoint, saved, removed.

use std::sync::Arc;

use bytes::Bytes;
#[cfg(feature = "forward")]
use http::Response;
use http::Uri;
use mcp_jsonrpc::{Message, RequestId};
use mcp_protocol::{Closed, Principal, ServerSession};
use mcp_types::method;

use crate::permit::share::Owner;
#[cfg(feature = "forward")]
use crate::server::forwarded;
#[cfg(feature = "forward")]
use crate::server::forwarder::ForwardError;
use crate::server::head::{McpHeaders, RequestHead};
#[cfg(feature = "forward")]
use crate::server::response::body::{Body, json};
use crate::server::response::refusal::Refusal;
use crate::server::session::store_client::{StoreClient, is_changed};
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::session_id::SessionId;
use crate::server::session_store::{SessionStoreError, SessionStoreErrorKind as Kind};
use crate::server::state::EndpointState;
use crate::server::stream::SessionIdentity;

/// A change of a session that must be stored before the response is sent.
pub(crate) struct PendingSave {
    session: Arc<HttpSession>,
    kind: SaveKind,
    id: Option<RequestId>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SaveKind {
    /// A new session.
    Create,
    /// A message that exists to change the session: it fails if the change cannot be stored.
    Change,
    /// Any other message, whose handler may have had effects: it succeeds, and the next request
    /// stores the change.
    Other,
}

impl PendingSave {
    /// The save of a session that was opened; `None` without a session store.
    pub(crate) fn created(session: &Arc<HttpSession>, id: &RequestId) -> Option<Box<Self>> {
        session.stored.as_ref()?;
        Some(Box::new(Self {
            session: Arc::clone(session),
            kind: SaveKind::Create,
            id: Some(id.clone()),
        }))
    }

    /// The save after a message; `None` without a session store.
    pub(crate) fn after(session: &Arc<HttpSession>, message: &Message<'_>) -> Option<Box<Self>> {
        session.stored.as_ref()?;
        let (name, id) = match message {
            Message::Request(request) => (&*request.method, Some(request.id.clone())),
            Message::Notification(notification) => (&*notification.method, None),
            Message::Response(_) => return None,
        };
        let kind = match name {
            method::LOGGING_SET_LEVEL
            | method::RESOURCES_SUBSCRIBE
            | method::RESOURCES_UNSUBSCRIBE
            | method::NOTIFICATIONS_INITIALIZED => SaveKind::Change,
            _ => SaveKind::Other,
        };
        Some(Box::new(Self {
            session: Arc::clone(session),
            kind,
            id,
        }))
    }

    /// The save after a batch; `None` without a session store.
    pub(crate) fn after_batch(session: &Arc<HttpSession>) -> Option<Box<Self>> {
        session.stored.as_ref()?;
        Some(Box::new(Self {
            session: Arc::clone(session),
            kind: SaveKind::Other,
            id: None,
        }))
    }
}

/// How often a request tries to claim its session.
const CLAIM_ATTEMPTS: usize = 3;

/// The result of an attempt to claim a session.
enum ClaimOutcome {
    Claimed(ActivityGuard),
    /// The session does not exist, or belongs to another principal.
    Unknown,
    /// A concurrent request has claimed it for this endpoint.
    Concurrent,
    /// The endpoint with this address serves it.
    #[cfg_attr(
        not(feature = "forward"),
        expect(dead_code, reason = "is read to forward")
    )]
    Elsewhere(Uri),
}

/// How a request of a session is served.
pub(crate) enum Continued {
    /// This endpoint serves the session.
    Here(ActivityGuard),
    /// The session does not exist, or belongs to another principal.
    Unknown,
    /// Another endpoint has responded.
    #[cfg(feature = "forward")]
    Elsewhere(Response<Body>),
}

impl From<ClaimOutcome> for Continued {
    fn from(outcome: ClaimOutcome) -> Self {
        match outcome {
            ClaimOutcome::Claimed(guard) => Self::Here(guard),
            _ => Self::Unknown,
        }
    }
}

impl EndpointState {
    /// Finds the session that a request names. If another endpoint serves it, forwards the request, or claims the session if
    /// that endpoint cannot be reached or has no address. The caller keeps the guard until the request is served, and uses
    /// its session: the one in the table can be another one by then. `body` is the body of a POST.
    ///
    /// # Errors
    /// The session store failed, there is no room for the session, or the authentication layer could not add its headers to a
    /// forwarded request.
    pub(crate) async fn continue_session(
        self: &Arc<Self>,
        client: &StoreClient,
        head: &RequestHead,
        mcp_headers: &McpHeaders<'_>,
        body: Option<&Bytes>,
    ) -> Result<Continued, Refusal> {
        if mcp_headers.names_stateless_revision || !self.has_handshake {
            return Ok(Continued::Unknown);
        }
        let id = mcp_headers.session.single().ok().flatten();
        let Some(id) = id.and_then(SessionId::parse) else {
            return Ok(Continued::Unknown);
        };
        #[cfg(feature = "forward")]
        if let Some(forwarder) = &self.forwarder
            && !forwarded::is_forwarded(head)
        {
            // After each attempt the record is read again: another endpoint may have claimed the session in the meantime.
            let mut tried = Vec::new();
            while tried.len() < CLAIM_ATTEMPTS {
                let found = self.claimed_session(client, id, head, Some(&tried)).await?;
                let ClaimOutcome::Elsewhere(address) = found else {
                    return Ok(found.into());
                };
                let permit = match body {
                    Some(_) => Some(self.request_permit(head)?),
                    None => None,
                };
                let bytes = body.cloned().unwrap_or_default();
                let sent = forwarder.send(address.clone(), head, bytes, permit);
                match sent.await {
                    Ok(response) => return Ok(Continued::Elsewhere(response)),
                    Err(ForwardError::Unreachable) => {}
                    Err(ForwardError::Refused(refusal)) => return Err(refusal),
                    Err(ForwardError::Interrupted) => {
                        if let Some(errors) = body.and_then(|body| forwarder.interrupted(body)) {
                            return Ok(Continued::Elsewhere(json(errors)));
                        }
                    }
                }
                tried.push(address);
            }
        }
        #[cfg(not(feature = "forward"))]
        let _ = body;
        Ok(self.claimed_session(client, id, head, None).await?.into())
    }

    /// Finds a session, and claims it if another endpoint has its lease, unless the request can be forwarded there. `tried` has the
    /// addresses that could not be reached; without it, the request is not forwarded.
    async fn claimed_session(
        &self,
        client: &StoreClient,
        id: SessionId,
        parts: &RequestHead,
        tried: Option<&[Uri]>,
    ) -> Result<ClaimOutcome, Refusal> {
        let owner = parts.owner();
        let principal = parts.extensions.get::<Principal>();
        for _ in 0..CLAIM_ATTEMPTS {
            if let Some(session) = self.sessions.find(&id) {
                if session.principal.as_ref() != principal {
                    tracing::warn!("rejected a session id that belongs to another principal");
                    return Ok(ClaimOutcome::Unknown);
                }
                let guard = session.activity_guard();
                let renewed = self.sessions.renew(client, &id, &session).await;
                if renewed.map_err(|error| unavailable(&error))? {
                    return Ok(ClaimOutcome::Claimed(guard));
                }
            }
            let claim = self.claim_session(client, id, principal, owner.clone(), tried);
            match claim.await? {
                ClaimOutcome::Concurrent => {}
                outcome => return Ok(outcome),
            }
        }
        Err(Refusal::busy(
            "other endpoints have claimed the session several times during this request; send it again, and route all requests of a \
             session to one endpoint",
        ))
    }

    /// Claims a session, if it exists and belongs to the principal.
    async fn claim_session(
        &self,
        client: &StoreClient,
        id: SessionId,
        principal: Option<&Principal>,
        owner: Option<Owner>,
        tried: Option<&[Uri]>,
    ) -> Result<ClaimOutcome, Refusal> {
        let record = client.load(id, owner.as_ref()).await;
        let Some(record) = record.map_err(|error| unavailable(&error))? else {
            return Ok(ClaimOutcome::Unknown);
        };
        if !record.belongs_to(principal) {
            tracing::warn!("rejected a session id that belongs to another principal");
            return Ok(ClaimOutcome::Unknown);
        }
        if !self.revisions.contains(&record.state().revision()) {
            tracing::debug!("a stored session has a revision that this server does not support");
            return Ok(ClaimOutcome::Unknown);
        }
        if let Some(tried) = tried
            && let Some(address) = client.other_address(&id, &record)
            && !tried.contains(&address)
        {
            return Ok(ClaimOutcome::Elsewhere(address));
        }
        let claiming = client.claim_lock(&id).await;
        let _claiming = claiming.map_err(|error| unavailable(&error))?;
        if self.sessions.find(&id).is_some() {
            return Ok(ClaimOutcome::Concurrent);
        }
        let mut reservation = self.reserve_session(owner.clone())?;
        let claimed = client
            .claim(id, owner.as_ref())
            .await
            .map_err(|error| unavailable(&error))?;
        let Some((lease, record)) = claimed.filter(|(_, record)| record.belongs_to(principal))
        else {
            return Ok(ClaimOutcome::Unknown);
        };
        let inbound = ServerSession::restore(
            Arc::clone(&self.service),
            record.state(),
            owner.clone().map(Into::into).unwrap_or_default(),
        )
        .map_err(|error| Refusal::busy(error.message))?;
        let identity = SessionIdentity::continued(id, record.event_tag(), lease.fence);
        let session = HttpSession::new(
            inbound,
            &self.options,
            &self.responses,
            Some(identity),
            principal.cloned(),
            owner,
            Some(Box::new(client.claimed_session(lease, &record))),
        );
        session.inbound.reopen(record.state());
        if let Some(stored) = &session.stored {
            if client.has_other_address(&record) {
                // Later requests at other endpoints are forwarded to this one.
                match client.update(&session, stored).await {
                    Err(error) if error.kind() == Kind::Full => {
                        tracing::warn!(%error, "other endpoints do not learn which one continues a session");
                    }
                    updated => updated.map_err(|error| unavailable(&error))?,
                }
            }
            // The stored state is the state of the session.
            let changes = session.inbound.session().changes();
            stored
                .saved
                .store(changes, std::sync::atomic::Ordering::Release);
        }
        let guard = session.activity_guard();
        reservation.grow(&session)?;
        reservation.commit();
        self.sessions.insert(id, session);
        self.sessions
            .ensure_sweeper(&self.options, self.session_store.as_ref());
        tracing::debug!(fence = lease.fence, "continued a stored session");
        Ok(ClaimOutcome::Claimed(guard))
    }

    /// Returns what is left of a session under earlier leases of this endpoint.
    pub(crate) fn released(&self, session: &HttpSession) -> Vec<Arc<HttpSession>> {
        match &session.stored {
            Some(stored) => self.sessions.released(&stored.lease.session),
            None => Vec::new(),
        }
    }

    /// Stores the changes of a session after a message.
    ///
    /// # Errors
    /// The state could not be stored, and the client has to send the message again.
    pub(crate) async fn save(
        &self,
        client: &StoreClient,
        save: PendingSave,
    ) -> Result<(), Refusal> {
        let PendingSave { session, kind, id } = save;
        let Some(stored) = session.stored.as_deref() else {
            return Ok(());
        };
        let saved = match kind {
            SaveKind::Create => client.create(&session, stored).await,
            _ if !is_changed(&session, stored) => return Ok(()),
            _ => client.renew(&session, stored).await,
        };
        let Err(error) = saved else {
            return Ok(());
        };
        let id_in_table = &stored.lease.session;
        if kind == SaveKind::Create {
            if self.sessions.remove_same(id_in_table, &session) {
                session.close(&Closed::protocol("the session could not be stored"));
            }
        } else if error.kind() == Kind::LeaseLost {
            self.sessions.yield_session(id_in_table, &session);
        }
        if kind == SaveKind::Other {
            tracing::warn!(%error, "the state of a session was not stored; the next request stores it");
            return Ok(());
        }
        Err(unavailable(&error).with_id(id))
    }

    /// Removes a session that the client ended.
    ///
    /// # Errors
    /// The store failed, and the session continues.
    pub(crate) async fn remove_stored(
        &self,
        client: &StoreClient,
        session: &HttpSession,
    ) -> Result<(), Refusal> {
        match &session.stored {
            Some(stored) => client
                .remove(session, stored)
                .await
                .map_err(|error| unavailable(&error)),
            None => Ok(()),
        }
    }
}

/// Returns the response to a request whose session cannot be loaded or stored.
fn unavailable(error: &SessionStoreError) -> Refusal {
    tracing::error!(%error, "the session store failed");
    Refusal::busy("the session cannot be loaded or stored; retry later")
}
