//! Sessions in a session store: continued at this endpoint, saved, removed.

use std::sync::Arc;

use http::request::Parts;
use mcp_jsonrpc::{Message, RequestId};
use mcp_protocol::{Closed, Principal, ServerSession};
use mcp_types::method;

use crate::server::request::head::McpHeaders;
use crate::server::response::refusal::Refusal;
use crate::server::session::id::SessionId;
use crate::server::session::store::{SessionStoreError, SessionStoreErrorKind as Kind};
use crate::server::session::store_client::{StoreClient, is_changed};
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::share::Owner;
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
}

impl EndpointState {
    /// Finds the session that a request names, and claims it if another endpoint has its lease.
    /// Returns `None` if the session is unknown or belongs to another principal. The caller keeps
    /// the guard until the request is served, and uses its session: the one in the table can be
    /// another one by then.
    ///
    /// # Errors
    /// The session store failed, or there is no room for the session.
    pub(crate) async fn claimed_session(
        &self,
        client: &StoreClient,
        parts: &Parts,
        mcp_headers: &McpHeaders<'_>,
        owner: Option<Owner>,
    ) -> Result<Option<ActivityGuard>, Refusal> {
        if mcp_headers.names_stateless_revision || !self.has_handshake {
            return Ok(None);
        }
        let id = mcp_headers.session.single().ok().flatten();
        let Some(id) = id.and_then(SessionId::parse) else {
            return Ok(None);
        };
        let principal = parts.extensions.get::<Principal>();
        for _ in 0..CLAIM_ATTEMPTS {
            if let Some(session) = self.sessions.find(&id) {
                if session.principal.as_ref() != principal {
                    tracing::warn!("rejected a session id that belongs to another principal");
                    return Ok(None);
                }
                let guard = session.activity_guard();
                let renewed = self.sessions.renew(client, &id, &session).await;
                if renewed.map_err(|error| unavailable(&error))? {
                    return Ok(Some(guard));
                }
            }
            let claim = self.claim_session(client, id, principal, owner.clone());
            match claim.await? {
                ClaimOutcome::Claimed(guard) => return Ok(Some(guard)),
                ClaimOutcome::Unknown => return Ok(None),
                ClaimOutcome::Concurrent => {}
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
        let claiming = client.claim_lock(&id).await;
        let _claiming = claiming.map_err(|error| unavailable(&error))?;
        if self.sessions.find(&id).is_some() {
            return Ok(ClaimOutcome::Concurrent);
        }
        let reservation = self.reserve_session(owner.clone())?;
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
            principal.cloned(),
        )
        .map_err(|error| Refusal::busy(error.message))?;
        let identity =
            SessionIdentity::continued(id, record.event_tag(), lease.fence).map_err(|error| {
                tracing::error!(%error, "the operating system has no random numbers");
                Refusal::busy("the server cannot continue the session; retry later")
            })?;
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
            // The stored state is the state of the session.
            let changes = session.inbound.session().changes();
            stored
                .saved
                .store(changes, std::sync::atomic::Ordering::Release);
        }
        let guard = session.activity_guard();
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

/// The response to a request whose session cannot be loaded or stored.
fn unavailable(error: &SessionStoreError) -> Refusal {
    tracing::error!(%error, "the session store failed");
    Refusal::busy("the session cannot be loaded or stored; retry later")
}
