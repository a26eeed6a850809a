//! Handles one message of a session.

use std::sync::Arc;

use http::StatusCode;
use mcp_jsonrpc::{Message, Notification, ParseError, Request, RequestId, Response};
use mcp_protocol::middleware::Discarded;
use mcp_protocol::{AdmissionError, Inbound as _, Principal, guarded};
use mcp_types::method;

use crate::server::head::RequestHead;
use crate::server::response::body::accepted;
use crate::server::response::refusal::Refusal;
use crate::server::response::text::JsonText;
use crate::server::running::items::BatchItem;
use crate::server::running::outcome::PostOutcome;
use crate::server::running::pending::PendingCall;
use crate::server::running::start::{Progress, start};
use crate::server::session::HttpSession;
use crate::server::state::EndpointState;
use crate::server::stream::{Stream, frames};

/// Handles a message that is the only message in its POST.
pub(super) fn single_message(
    state: &EndpointState,
    session: &Arc<HttpSession>,
    message: &Message<'_>,
    head: Box<RequestHead>,
) -> Result<Progress<PostOutcome, PendingCall>, Refusal> {
    let request = match message {
        Message::Request(request) => request,
        Message::Notification(notification) => {
            notify(state, session, notification);
            return Ok(Progress::Done(PostOutcome::Response(accepted())));
        }
        Message::Response(answer) => {
            complete(state, session, answer);
            return Ok(Progress::Done(PostOutcome::Response(accepted())));
        }
    };
    let permit = state
        .request_permit(&head)
        .map_err(|refusal| refusal.with_id(Some(request.id.clone())))?;
    let requests = stored_requests(session, [&request.id].into_iter());
    let stream = new_stream(session, head, requests);
    Ok(match run(state, session, &stream, request)? {
        Progress::Done(text) => {
            let mut outcome = PostOutcome::of_call(session, stream, Some(text), StatusCode::OK);
            outcome.hold(permit);
            Progress::Done(outcome)
        }
        Progress::Running(item) => {
            Progress::Running(PendingCall::single(session, stream, item, permit))
        }
    })
}

/// Returns an SSE comment that lists the requests of a stream. Returns `None` unless other endpoints can continue the session and
/// read its events.
pub(super) fn stored_requests<'a>(
    session: &HttpSession,
    ids: impl Iterator<Item = &'a RequestId>,
) -> Option<Box<[u8]>> {
    session.stored.as_ref()?;
    let store = session.streams.options.event_store.as_ref()?;
    store.is_shared().then(|| frames::requests(ids)).flatten()
}

/// Creates the stream that belongs to a POST.
pub(super) fn new_stream(
    session: &Arc<HttpSession>,
    head: Box<RequestHead>,
    requests: Option<Box<[u8]>>,
) -> Arc<Stream> {
    let principal = head.extensions.get::<Principal>().cloned();
    let polling = session.inbound.session().revision().rules().polling;
    Stream::for_request(&session.streams, head, principal, requests, polling)
}

/// Calls the handler of a request.
pub(super) fn run(
    state: &EndpointState,
    session: &Arc<HttpSession>,
    stream: &Arc<Stream>,
    request: &Request<'_>,
) -> Result<Progress<JsonText, BatchItem>, Refusal> {
    start(session, stream, request, &state.threads).map_err(|refused| match refused {
        AdmissionError::Duplicate(error) => Refusal::with_error(StatusCode::BAD_REQUEST, error),
        other => Refusal::busy(other.to_string()).with_id(Some(request.id.clone())),
    })
}

/// Receives a notification.
pub(super) fn notify(
    state: &EndpointState,
    session: &Arc<HttpSession>,
    notification: &Notification<'_>,
) {
    if notification.method == method::NOTIFICATIONS_CANCELLED {
        session.incoming.cancelled(notification.params);
        for earlier in state.sessions.released(session) {
            earlier.incoming.cancelled(notification.params);
        }
    } else if session.has_id() && guarded(|| session.inbound.notification(notification)).is_err() {
        tracing::error!("a notification handler panicked");
    }
}

/// Delivers the client's response to a server request. A late response is dropped without an error.
pub(super) fn complete(state: &EndpointState, session: &Arc<HttpSession>, answer: &Response<'_>) {
    let Some(id) = &answer.id else {
        let error = answer.outcome.as_ref().err();
        tracing::warn!(?error, "the client sent an error without an id");
        return;
    };
    let outcome = || Ok(answer.outcome.clone().map(mcp_jsonrpc::RawJson::copy));
    let is_known = session.streams.outgoing.complete(id, outcome())
        || state
            .sessions
            .released(session)
            .iter()
            .any(|earlier| earlier.streams.outgoing.complete(id, outcome()));
    if !is_known {
        tracing::debug!(%id, "dropped a late or unknown response");
        session.inbound.discarded(Discarded::UnknownResponse(id));
    }
}

/// Fails the server request to which a malformed response belongs.
pub(super) fn fail_unreadable(
    state: &EndpointState,
    session: &Arc<HttpSession>,
    frame: &[u8],
    error: &ParseError,
) {
    let limits = &state.options.request_limits.message;
    let released = state.sessions.released(session);
    for session in std::iter::once(session).chain(released.iter()) {
        session
            .streams
            .outgoing
            .fail_unreadable(frame, error, limits);
    }
}
