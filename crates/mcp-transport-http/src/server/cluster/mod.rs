//! Several endpoints that serve the sessions and requests of one server.
//!
//! [`Cluster`] is called before and after each request. An endpoint that works alone has no cluster. This module contains the
//! claims and leases of sessions in a session store, and the forwarding of requests. Parts that are also needed elsewhere are in
//! other modules. The contract of the store is in `session_store`, and its settings are in `options`. The lease is in `session`,
//! and the header of forwarded requests is in `forwarded`.

mod claim;
#[cfg(feature = "forward")]
mod forwarder;
mod renewal;
pub(crate) mod save;
pub(crate) mod store_client;

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use mcp_protocol::Service;

use crate::server::cluster::claim::SessionClaim;
#[cfg(feature = "forward")]
use crate::server::cluster::claim::{CLAIM_ATTEMPTS, ClaimOutcome};
#[cfg(feature = "forward")]
pub use crate::server::cluster::forwarder::ForwardedResponse;
#[cfg(feature = "forward")]
use crate::server::cluster::forwarder::{ForwardError, Forwarder};
use crate::server::cluster::save::PendingSave;
use crate::server::cluster::store_client::{StoreClient, unavailable};
use crate::server::error::Error;
#[cfg(feature = "forward")]
use crate::server::forwarded;
use crate::server::head::{McpHeaders, RequestHead};
use crate::server::options::ServerOptions;
use crate::server::response::body::Body;
#[cfg(feature = "forward")]
use crate::server::response::body::json;
use crate::server::response::refusal::Refusal;
#[cfg(feature = "forward")]
use crate::server::running::outcome::ForwardChoice;
use crate::server::running::outcome::PostOutcome;
use crate::server::session::{ActivityGuard, HttpSession};
use crate::server::session_id::SessionId;
use crate::server::state::EndpointState;

/// The other endpoints of the server, and what this endpoint needs to work with them.
pub(crate) struct Cluster {
    /// The store client, if the endpoint has a session store ([`ServerOptions::with_session_store`]).
    pub(crate) store: Option<Arc<StoreClient>>,
    /// The forwarder, if the endpoint has an address (`ServerOptions::with_forwarding`).
    #[cfg(feature = "forward")]
    forwarder: Option<Forwarder>,
}

/// Where a request is served.
pub(crate) enum Placement {
    /// This endpoint serves the request. If the request names a session in the session store, the guard keeps this session alive.
    /// The caller must keep the guard until the request is served. The caller must use the session in the guard, because the
    /// table of sessions may contain another session object by then.
    Here(Option<ActivityGuard>),
    /// Another endpoint has served the request. This is its response.
    #[cfg(feature = "forward")]
    Elsewhere(Response<Body>),
}

impl Cluster {
    /// Creates the cluster of an endpoint. Returns `None` if the endpoint has neither a session store nor an address.
    ///
    /// # Errors
    /// The operating system has no random numbers, or the address is not an `http` URL with a host.
    pub(crate) fn of(
        options: &Arc<ServerOptions>,
        service: &Arc<dyn Service>,
    ) -> Result<Option<Self>, Error> {
        let store = StoreClient::of(options, service).map_err(|error| {
            Error::invalid_options(format!("the endpoint cannot create its random id: {error}"))
        })?;
        let cluster = Self {
            store,
            #[cfg(feature = "forward")]
            forwarder: Forwarder::of(options)?,
        };
        let is_alone = cluster.store.is_none() && !cluster.can_forward();
        Ok((!is_alone).then_some(cluster))
    }

    /// Returns whether the handler of a stateless request may choose another endpoint.
    pub(crate) fn can_forward(&self) -> bool {
        #[cfg(feature = "forward")]
        return self.forwarder.is_some();
        #[cfg(not(feature = "forward"))]
        false
    }

    /// Finds the session that a request names. If another endpoint serves the session, forwards the request. If that endpoint has
    /// no address or cannot be reached, claims the session. `body` is the body of a POST.
    ///
    /// # Errors
    /// The session store failed, a limit on sessions is reached, or the authentication layer could not add its headers to a
    /// forwarded request.
    pub(crate) async fn before(
        &self,
        state: &EndpointState,
        head: &RequestHead,
        mcp_headers: &McpHeaders<'_>,
        body: Option<&Bytes>,
    ) -> Result<Placement, Refusal> {
        let Some(store) = &self.store else {
            return Ok(Placement::Here(None));
        };
        if mcp_headers.names_stateless_revision || !state.has_handshake {
            return Ok(Placement::Here(None));
        }
        let id = mcp_headers.session.single().ok().flatten();
        let Some(id) = id.and_then(SessionId::parse) else {
            return Ok(Placement::Here(None));
        };
        // Boxed, because the future of a request is as large as its largest branch.
        Box::pin(self.find(state, SessionClaim::new(state, store, id, head), head, body)).await
    }

    /// Forwards a request to the endpoint that serves its session, or claims the session.
    #[cfg_attr(
        not(feature = "forward"),
        expect(unused_variables, reason = "only forwarding needs them")
    )]
    async fn find(
        &self,
        state: &EndpointState,
        claim: SessionClaim<'_>,
        head: &RequestHead,
        body: Option<&Bytes>,
    ) -> Result<Placement, Refusal> {
        #[cfg(feature = "forward")]
        if let Some(forwarder) = &self.forwarder
            && !forwarded::is_forwarded(head)
        {
            // After each attempt the record is read again: another endpoint may have claimed the session in the meantime.
            let mut tried = forwarder.silent();
            for _ in 0..CLAIM_ATTEMPTS {
                let address = match claim.run(Some(&tried)).await? {
                    ClaimOutcome::Elsewhere(address) => address,
                    found => return Ok(Placement::Here(found.into_guard())),
                };
                let permit = match body {
                    Some(_) => Some(state.request_permit(head)?),
                    None => None,
                };
                let bytes = body.cloned().unwrap_or_default();
                match forwarder.send(address.clone(), head, bytes, permit).await {
                    Ok(response) => return Ok(Placement::Elsewhere(response)),
                    Err(ForwardError::Unreachable) => {}
                    Err(ForwardError::Refused(refusal)) => return Err(refusal),
                    Err(ForwardError::Interrupted) => {
                        if let Some(errors) = body.and_then(|body| forwarder.interrupted(body)) {
                            return Ok(Placement::Elsewhere(json(errors)));
                        }
                    }
                }
                tried.push(address);
            }
        }
        Ok(Placement::Here(claim.run(None).await?.into_guard()))
    }

    /// Stores the changes that a request made to its session. If the handler has chosen another endpoint, forwards the request.
    /// Returns the response. `body` is the body of a request that may be forwarded.
    ///
    /// # Errors
    /// The session could not be stored; the bodies of requests use all of `MemoryLimits::max_request_bytes`; or the
    /// authentication layer could not add its headers to a forwarded request.
    pub(crate) async fn after(
        &self,
        state: &EndpointState,
        outcome: PostOutcome,
        body: Option<Bytes>,
        save: Option<Box<PendingSave>>,
    ) -> Result<Response<Body>, Refusal> {
        let response = match (outcome, body) {
            #[cfg(feature = "forward")]
            (PostOutcome::Forward(choice), Some(body)) => {
                self.forward(state, *choice, body).await?
            }
            (outcome, _) => outcome.into_response(),
        };
        if let (Some(store), Some(save)) = (&self.store, save) {
            save.run(store, &state.sessions).await?;
        }
        Ok(response)
    }

    /// Forwards a request whose handler has chosen another endpoint, and returns the response of that endpoint. If that
    /// endpoint cannot be reached, returns the response of the handler.
    #[cfg(feature = "forward")]
    async fn forward(
        &self,
        state: &EndpointState,
        choice: ForwardChoice,
        body: Bytes,
    ) -> Result<Response<Body>, Refusal> {
        let ForwardChoice {
            stream,
            mut response,
        } = choice;
        let (Some(forwarder), Some((head, address))) = (&self.forwarder, stream.forward_target())
        else {
            return Ok(response);
        };
        let mut memory = state.bodies.permit();
        let grown = memory.try_grow(body.len(), || head.owner());
        grown.map_err(|exhausted| exhausted.bodies(&state.bodies))?;
        let permits = (response.body_mut().take_permit(), memory);
        let sent = forwarder.send(address.clone(), head, body.clone(), permits);
        Ok(match sent.await {
            Ok(forwarded) => forwarded,
            Err(ForwardError::Unreachable) => response,
            Err(ForwardError::Refused(refusal)) => return Err(refusal),
            Err(ForwardError::Interrupted) => match forwarder.interrupted(&body) {
                Some(errors) => json(errors),
                None => response,
            },
        })
    }

    /// Removes a session from the session store, because the client has ended the session.
    ///
    /// # Errors
    /// The store failed. The session then continues.
    pub(crate) async fn remove(&self, session: &HttpSession) -> Result<(), Refusal> {
        if let (Some(store), Some(stored)) = (&self.store, &session.stored) {
            let removed = store.remove(stored.lease, session.owner()).await;
            removed.map_err(|error| unavailable(&error))?;
        }
        Ok(())
    }
}
