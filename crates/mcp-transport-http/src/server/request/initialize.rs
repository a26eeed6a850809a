//! `initialize`: opens a session.

use std::sync::Arc;

use http::Response;
use mcp_jsonrpc::Request;
use mcp_protocol::{Principal, ServerSession};

use crate::headers::SESSION_ID;
use crate::server::cluster::save::PendingSave;
use crate::server::cluster::store_client::StoreClient;
use crate::server::head::{McpHeaders, RequestHead};
use crate::server::request::message::{new_stream, run};
use crate::server::response::body::{Body, json};
use crate::server::response::refusal::Refusal;
use crate::server::running::start::Progress;
use crate::server::session::HttpSession;
use crate::server::state::EndpointState;
use crate::server::stream::SessionIdentity;

/// Checks the headers of `initialize`. The version header may be missing. The request must not name an open session. The id of an
/// unknown or ended session is ignored.
pub(super) fn check_initialize(
    state: &EndpointState,
    request: &Request<'_>,
    head: &RequestHead,
    mcp_headers: &McpHeaders<'_>,
    is_claimed: bool,
) -> Result<(), Refusal> {
    state
        .named_revision(mcp_headers)
        .map_err(|refusal| refusal.with_id(Some(request.id.clone())))?;
    if is_claimed || state.names_session(head, mcp_headers) {
        let refusal = Refusal::bad_request(
            "the session is initialized already; send initialize without Mcp-Session-Id to open \
             another session",
        );
        return Err(refusal.with_id(Some(request.id.clone())));
    }
    Ok(())
}

/// Opens a session.
pub(super) fn initialize(
    state: &EndpointState,
    store: Option<&Arc<StoreClient>>,
    request: &Request<'_>,
    head: Box<RequestHead>,
    save: &mut Option<Box<PendingSave>>,
) -> Result<Response<Body>, Refusal> {
    let _permit = state.request_permit(&head)?;
    if !state.options.sessions {
        state.forget_sessionless();
        let session =
            HttpSession::without_id(&state.service, &state.options, &state.responses, None);
        let stream = new_stream(&session, head, None);
        return Ok(match run(state, &session, &stream, request)? {
            Progress::Done(answer) => json(answer),
            Progress::Running(_) => unanswered_initialize(),
        });
    }
    let principal = head.extensions.get::<Principal>().cloned();
    let owner = head.owner();
    let refused = |refusal: Refusal| refusal.with_id(Some(request.id.clone()));
    let mut reservation = state.reserve_session(owner.clone()).map_err(refused)?;
    let identity = SessionIdentity::random().map_err(|error| {
        tracing::error!(%error, "the operating system has no random numbers");
        Refusal::busy("the server cannot create a session id; send again later")
    })?;
    let inbound = ServerSession::new(Arc::clone(&state.service));
    let stored = store.map(|store| Box::new(store.new_session(identity.id, identity.tag)));
    let session = HttpSession::new(
        inbound,
        &state.options,
        &state.responses,
        Some(identity),
        principal,
        owner,
        stored,
    );
    let stream = new_stream(&session, head, None);
    let answer = match run(state, &session, &stream, request)? {
        Progress::Done(answer) => answer,
        Progress::Running(_) => return Ok(unanswered_initialize()),
    };
    let mut response = json(answer);
    if session.inbound.is_agreed() {
        reservation.grow(&session).map_err(refused)?;
        reservation.commit();
        *save = PendingSave::created(&session, &request.id);
        state.sessions.insert(identity.id, session);
        response
            .headers_mut()
            .insert(SESSION_ID, identity.id.header());
        state.sessions.ensure_sweeper(&state.options, store);
    }
    Ok(response)
}

/// Returns the error for an `initialize` request that is not answered at once. This never happens, because the session answers
/// `initialize` without a handler.
fn unanswered_initialize() -> Response<Body> {
    tracing::error!("initialize was not answered immediately");
    Refusal::busy("initialize cannot be answered").into_response()
}
