//! Finds a session in this endpoint or in the session store. If necessary, claims the lease of the session.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::Uri;
use mcp_protocol::{Principal, ServerSession};

use crate::permit::share::KnownOwner;
use crate::server::cluster::renewal::renew;
use crate::server::cluster::store_client::{StoreClient, unavailable};
use crate::server::head::RequestHead;
use crate::server::response::refusal::Refusal;
use crate::server::session::reservation::SessionReservation;
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::session_id::SessionId;
use crate::server::session_store::{SessionLease, SessionRecord, SessionStoreErrorKind as Kind};
use crate::server::state::EndpointState;
use crate::server::stream::SessionIdentity;

/// Maximum number of attempts that a request makes to claim its session.
pub(super) const CLAIM_ATTEMPTS: usize = 3;

/// The result of an attempt to claim a session.
pub(super) enum ClaimOutcome {
    Claimed(ActivityGuard),
    /// The session does not exist, or belongs to another principal.
    Unknown,
    /// Another request of this endpoint has claimed the session at the same time.
    Concurrent,
    /// Another endpoint serves the session. The value is the address of that endpoint.
    #[cfg_attr(
        not(feature = "forward"),
        expect(dead_code, reason = "is read to forward")
    )]
    Elsewhere(Uri),
}

impl ClaimOutcome {
    pub(super) fn into_guard(self) -> Option<ActivityGuard> {
        match self {
            Self::Claimed(guard) => Some(guard),
            _ => None,
        }
    }
}

/// A request that needs the lease of its session.
pub(super) struct SessionClaim<'a> {
    state: &'a EndpointState,
    store: &'a Arc<StoreClient>,
    id: SessionId,
    principal: Option<&'a Principal>,
    owner: Option<KnownOwner>,
}

impl<'a> SessionClaim<'a> {
    pub(super) fn new(
        state: &'a EndpointState,
        store: &'a Arc<StoreClient>,
        id: SessionId,
        head: &'a RequestHead,
    ) -> Self {
        Self {
            state,
            store,
            id,
            principal: head.extensions.get(),
            owner: head.owner(),
        }
    }

    /// Finds the session in this endpoint, or claims it. If another endpoint has the lease and the request can be forwarded to
    /// that endpoint, returns its address instead. `tried` contains the addresses that could not be reached. If `tried` is
    /// `None`, the request is never forwarded.
    pub(super) async fn run(&self, tried: Option<&[Uri]>) -> Result<ClaimOutcome, Refusal> {
        for _ in 0..CLAIM_ATTEMPTS {
            if let Some(session) = self.state.sessions.find(&self.id) {
                if session.principal.as_ref() != self.principal {
                    tracing::warn!("rejected a session id that belongs to another principal");
                    return Ok(ClaimOutcome::Unknown);
                }
                let guard = session.activity_guard();
                let renewed = renew(self.store, &self.state.sessions, &self.id, &session).await;
                if renewed.map_err(|error| unavailable(&error))? {
                    return Ok(ClaimOutcome::Claimed(guard));
                }
            }
            match self.run_in_store(tried).await? {
                ClaimOutcome::Concurrent => {}
                outcome => return Ok(outcome),
            }
        }
        Err(Refusal::busy(
            "other endpoints have claimed the session several times during this request; send the request again, and route all requests of a \
             session to one endpoint",
        ))
    }

    /// Claims the session if it is in the store and belongs to the principal.
    async fn run_in_store(&self, tried: Option<&[Uri]>) -> Result<ClaimOutcome, Refusal> {
        let record = self.store.load(self.id, self.owner.as_ref()).await;
        let record = record.map_err(|error| unavailable(&error))?;
        let Some(record) = record.filter(|record| self.can_continue(record)) else {
            return Ok(ClaimOutcome::Unknown);
        };
        if let Some(tried) = tried
            && let Some(address) = self.store.other_address(&self.id, &record)
            && !tried.contains(&address)
        {
            return Ok(ClaimOutcome::Elsewhere(address));
        }
        let claiming = self.store.claim_lock(&self.id).await;
        let _claiming = claiming.map_err(|error| unavailable(&error))?;
        if self.state.sessions.find(&self.id).is_some() {
            return Ok(ClaimOutcome::Concurrent);
        }
        let reservation = self.state.reserve_session(self.owner.clone())?;
        let claimed = self.store.claim(self.id, self.owner.as_ref()).await;
        let claimed = claimed.map_err(|error| unavailable(&error))?;
        let mut claimed = claimed.into_iter();
        match claimed.find(|(_, record)| record.belongs_to(self.principal)) {
            Some((lease, record)) => self.restore(lease, &record, reservation).await,
            None => Ok(ClaimOutcome::Unknown),
        }
    }

    /// Returns whether the session belongs to the principal of the request, and has a revision that this server supports.
    fn can_continue(&self, record: &SessionRecord) -> bool {
        if !record.belongs_to(self.principal) {
            tracing::warn!("rejected a session id that belongs to another principal");
            return false;
        }
        let is_served = self.state.revisions.contains(&record.state().revision());
        if !is_served {
            tracing::debug!("a stored session has a revision that this server does not support");
        }
        is_served
    }

    /// Creates the session in this endpoint from its record, under the new lease.
    async fn restore(
        &self,
        lease: SessionLease,
        record: &SessionRecord,
        mut reservation: SessionReservation<'_>,
    ) -> Result<ClaimOutcome, Refusal> {
        let (state, owner) = (self.state, self.owner.clone());
        let inbound = ServerSession::restore(
            Arc::clone(&state.service),
            record.state(),
            owner.clone().map(Into::into).unwrap_or_default(),
        )
        .map_err(|error| Refusal::busy(error.message))?;
        let identity = SessionIdentity::continued(self.id, record.event_tag(), lease.fence);
        let session = HttpSession::new(
            inbound,
            &state.options,
            &state.responses,
            Some(identity),
            self.principal.cloned(),
            owner,
            Some(Box::new(self.store.claimed_session(lease, record))),
        );
        session.inbound.reopen(record.state());
        if let Some(stored) = &session.stored {
            if self.store.has_other_address(record) {
                // Stores the address of this endpoint, to which other endpoints then forward later requests.
                match self.store.update(&session, stored).await {
                    Err(error) if error.kind() == Kind::Full => {
                        tracing::warn!(%error, "other endpoints do not know that this endpoint serves a session, \
                            because a limit of the session store is reached");
                    }
                    updated => updated.map_err(|error| unavailable(&error))?,
                }
            }
            // The session has the stored state, so it has no unsaved changes.
            let changes = session.inbound.session().changes();
            stored.saved.store(changes, Ordering::Release);
        }
        let guard = session.activity_guard();
        reservation.grow(&session)?;
        reservation.commit();
        state.sessions.insert(self.id, session);
        state
            .sessions
            .ensure_sweeper(&state.options, Some(self.store));
        tracing::debug!(fence = lease.fence, "continued a stored session");
        Ok(ClaimOutcome::Claimed(guard))
    }
}
