//! POST: one message, or a batch where the revision has batches.
//!
//! The handler is polled in the task of the HTTP connection. The response is JSON, unless the
//! handler sends a message first or takes longer than a delay: then it becomes an event stream, see
//! [`PendingCall`].

use std::future::poll_fn;
use std::sync::Arc;

use http::{Response, StatusCode};
use mcp_jsonrpc::{
    ErrorObject, Frame, Message, Notification, ParseError, Request, RequestId, Response as Answer,
    TreeSize, parse_measured, write_error,
};
use mcp_protocol::middleware::{Discarded, Role};
use mcp_protocol::modern::RawRequestMeta;
use mcp_protocol::{AdmissionError, Grant, Inbound as _, Principal, ServerSession, guarded};
use mcp_types::method;

use crate::headers::SESSION_ID;
use crate::server::head::{McpHeaders, RequestHead};
use crate::server::request::admission::{self, BOTH};
use crate::server::request::body::{charge_tree, read_body};
use crate::server::request::revision::{MessageClass, classify};
use crate::server::request::stored::{Continued, PendingSave};
use crate::server::response::body::{Body, json};
use crate::server::response::refusal::Refusal;
use crate::server::response::text::JsonText;
use crate::server::running::finished::Finished;
use crate::server::running::items::BatchItem;
use crate::server::running::pending::PendingCall;
use crate::server::running::start::{Progress, admit_stateless, start, start_stateless};
use crate::server::session::HttpSession;
use crate::server::state::EndpointState;
use crate::server::stream::{SessionIdentity, Stream, frames};

pub(crate) async fn serve<B>(
    state: &Arc<EndpointState>,
    head: Box<RequestHead>,
    body: B,
) -> Result<Response<Body>, Refusal>
where
    B: http_body::Body + Send,
    B::Data: Send,
{
    let mcp_headers = McpHeaders::of(&head.headers);
    admission::admit(state, &head, &mcp_headers)?;
    admission::check_content(&head.headers, &mcp_headers)?;
    admission::check_accept(&head.headers, &mcp_headers, BOTH)?;
    let mut request_body = read_body(body, &head, &mcp_headers, state).await?;
    let mut claimed = None;
    if let Some(client) = &state.session_store {
        let body = Some(&request_body.bytes);
        let continued = state.continue_session(client, &head, &mcp_headers, body);
        match Box::pin(continued).await? {
            Continued::Here(guard) => claimed = Some(guard),
            Continued::Unknown => {}
            #[cfg(feature = "forward")]
            Continued::Elsewhere(response) => return Ok(response),
        }
    }
    let mut size = TreeSize::default();
    let limits = &state.options.message_limits;
    let frame = match parse_measured(&request_body.bytes, limits, &mut size) {
        Ok(frame) => frame,
        Err(error) => {
            // The message names no session, so the layers of the service are used.
            if let Some(layers) = state.service.layers() {
                layers.discarded(Role::Server, Discarded::Malformed(&error));
            }
            if error.is_response()
                && let Ok(session) = state.session(&head, &mcp_headers, claimed.as_ref())
            {
                fail_unreadable(state, &session, &request_body.bytes, &error);
            }
            return Err(Refusal::unparsable(&error));
        }
    };
    charge_tree(&mut request_body.memory, &size, &head, &state.bodies)?;
    let class = classify(state, &frame, &mcp_headers)?;
    let mut save = None;
    // Borrowed, because a parsed request is large and moving it costs more than most checks.
    let progress = match (&frame, class) {
        (_, MessageClass::Ignored) => Progress::Done(Finished::Response(accepted())),
        (Frame::Single(Message::Request(request)), MessageClass::Stateless(meta)) => {
            let request_meta = admit_stateless(state, request, &meta, &head.headers, &mcp_headers)?;
            start_stateless(state, request, request_meta, head)?
        }
        (Frame::Single(Message::Request(request)), _) if request.method == method::INITIALIZE => {
            check_initialize(state, request, &head, &mcp_headers, claimed.is_some())?;
            Progress::Done(Finished::Response(initialize(
                state, request, head, &mut save,
            )?))
        }
        (Frame::Single(message), _) => {
            let session = state.session(&head, &mcp_headers, claimed.as_ref());
            let session = session.map_err(|refusal| match message {
                Message::Request(request) => refusal.with_id(Some(request.id.clone())),
                _ => refusal,
            })?;
            if state.session_store.is_some() {
                save = PendingSave::after(&session, message);
            }
            single_message(state, &session, message, head)?
        }
        (Frame::Batch(batch), _) => {
            let session = state.session(&head, &mcp_headers, claimed.as_ref())?;
            if !session.inbound.accepts_batches() {
                session.inbound.discarded(Discarded::Batch);
                session.streams.outgoing.fail_batch(batch);
                return Err(Refusal::bad_request(
                    "batches are not part of the negotiated revision; send one message per POST",
                ));
            }
            save = PendingSave::after_batch(&session);
            batch_of_messages(state, &session, batch, head)?
        }
    };
    let (finished, body) = match progress {
        Progress::Done(Finished::Response(response))
            if save.is_none() && !response.body().is_stream() =>
        {
            return Ok(response);
        }
        Progress::Done(finished) => {
            drop(frame);
            (finished, Some(request_body.into_parts().0))
        }
        Progress::Running(mut call) => {
            drop(frame);
            let (body, memory) = request_body.into_parts();
            call.hold(memory);
            // Frees the memory of the body before waiting, unless the handler may choose another endpoint.
            let may_forward = state.can_forward() && call.is_stateless();
            let body = may_forward.then_some(body);
            (call.respond().await, body)
        }
    };
    let mut response = match (finished, body) {
        (Finished::Response(response), _) => response,
        #[cfg(feature = "forward")]
        (Finished::Forward(chosen), Some(body)) => {
            Box::pin(state.forward_chosen(*chosen, body)).await?
        }
        #[cfg(feature = "forward")]
        (Finished::Forward(chosen), None) => chosen.response,
    };
    if let (Some(save), Some(client)) = (save, &state.session_store) {
        Box::pin(state.save(client, *save)).await?;
    }
    // A client that has the head of a stream but no event id can neither read the response nor resume if the process
    // ends now. Without the head, its request fails.
    poll_fn(|cx| response.body_mut().poll_first(cx)).await;
    Ok(response)
}

fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

fn single_message(
    state: &Arc<EndpointState>,
    session: &Arc<HttpSession>,
    message: &Message<'_>,
    head: Box<RequestHead>,
) -> Result<Progress<Finished, PendingCall>, Refusal> {
    let request = match message {
        Message::Request(request) => request,
        Message::Notification(notification) => {
            notify(state, session, notification);
            return Ok(Progress::Done(Finished::Response(accepted())));
        }
        Message::Response(answer) => {
            complete(state, session, answer);
            return Ok(Progress::Done(Finished::Response(accepted())));
        }
    };
    let permit = state
        .request_permit(&head)
        .map_err(|refusal| refusal.with_id(Some(request.id.clone())))?;
    let requests = stored_requests(session, [&request.id].into_iter());
    let stream = new_stream(session, head, requests);
    Ok(match run(state, session, &stream, request)? {
        Progress::Done(text) => {
            let mut finished = Finished::new(session, stream, Some(text), StatusCode::OK);
            finished.hold(permit);
            Progress::Done(finished)
        }
        Progress::Running(item) => {
            Progress::Running(PendingCall::single(session, stream, item, permit))
        }
    })
}

fn batch_of_messages(
    state: &Arc<EndpointState>,
    session: &Arc<HttpSession>,
    batch: &mcp_jsonrpc::Batch<'_>,
    mut head: Box<RequestHead>,
) -> Result<Progress<Finished, PendingCall>, Refusal> {
    let permit = state.request_permit(&head)?;
    if let Some(grant) = head.extensions.get::<Grant>().map(Grant::unanswered) {
        head.extensions.insert(grant);
    }
    let ids: Vec<RequestId> = batch
        .iter()
        .filter_map(|message| match message {
            Ok(Message::Request(request)) => Some(request.id),
            _ => None,
        })
        .collect();
    let stream = new_stream(session, head, stored_requests(session, ids.iter()));
    let mut items = Vec::new();
    for message in batch.iter() {
        match message {
            Ok(Message::Request(request)) if RawRequestMeta::of(&request).is_some() => {
                let error = ErrorObject::invalid_request(
                    "a request of the stateless revision cannot be part of a batch; send it in a separate POST",
                );
                items.push(BatchItem::done(error_text(Some(&request.id), &error)));
            }
            Ok(Message::Request(request)) => {
                items.push(match start(session, &stream, &request, &state.threads) {
                    Ok(Progress::Done(text)) => BatchItem::done(text),
                    Ok(Progress::Running(item)) => item,
                    Err(AdmissionError::Full(error)) => {
                        BatchItem::done(error_text(Some(&request.id), &error))
                    }
                    Err(AdmissionError::Duplicate(error)) => {
                        BatchItem::done(error_text(None, &error))
                    }
                    Err(other) => {
                        let error = ErrorObject::internal(other.to_string());
                        BatchItem::done(error_text(Some(&request.id), &error))
                    }
                });
            }
            Ok(Message::Notification(notification)) => notify(state, session, &notification),
            Ok(Message::Response(answer)) => complete(state, session, &answer),
            Err(error) if error.is_response() => {
                session.inbound.discarded(Discarded::Malformed(&error));
                fail_unreadable(state, session, &[], &error);
                tracing::warn!(%error, "the client sent a malformed response");
            }
            Err(error) => {
                session.inbound.discarded(Discarded::Malformed(&error));
                let id = error.id().filter(|id| !session.incoming.contains(id));
                items.push(BatchItem::done(error_text(id, &error.to_error_object())));
            }
        }
    }
    if items.is_empty() {
        return Ok(Progress::Done(Finished::Response(accepted())));
    }
    Ok(Progress::Running(PendingCall::batch(
        session, stream, items, permit,
    )))
}

fn error_text(id: Option<&RequestId>, error: &ErrorObject) -> JsonText {
    JsonText::write(|out| write_error(out, id, error))
}

/// Returns the line about the requests of a stream, if other endpoints may continue the session and read its events.
fn stored_requests<'a>(
    session: &HttpSession,
    ids: impl Iterator<Item = &'a RequestId>,
) -> Option<Box<[u8]>> {
    session.stored.as_ref()?;
    let store = session.streams.options.event_store.as_ref()?;
    store.is_shared().then(|| frames::requests(ids)).flatten()
}

fn new_stream(
    session: &Arc<HttpSession>,
    head: Box<RequestHead>,
    requests: Option<Box<[u8]>>,
) -> Arc<Stream> {
    let principal = head.extensions.get::<Principal>().cloned();
    let polling = session.inbound.session().revision().rules().polling;
    Stream::for_request(&session.streams, head, principal, requests, polling)
}

fn run(
    state: &Arc<EndpointState>,
    session: &Arc<HttpSession>,
    stream: &Arc<Stream>,
    request: &Request<'_>,
) -> Result<Progress<JsonText, BatchItem>, Refusal> {
    start(session, stream, request, &state.threads).map_err(|refused| match refused {
        AdmissionError::Duplicate(error) => Refusal::with_error(StatusCode::BAD_REQUEST, error),
        other => Refusal::busy(other.to_string()).with_id(Some(request.id.clone())),
    })
}

fn notify(state: &EndpointState, session: &Arc<HttpSession>, notification: &Notification<'_>) {
    if notification.method == method::NOTIFICATIONS_CANCELLED {
        session.incoming.cancelled(notification.params);
        for earlier in state.released(session) {
            earlier.incoming.cancelled(notification.params);
        }
    } else if session.has_id() && guarded(|| session.inbound.notification(notification)).is_err() {
        tracing::error!("a notification handler panicked");
    }
}

/// Delivers the client's response to a server request. A late response is dropped without an error.
fn complete(state: &EndpointState, session: &Arc<HttpSession>, answer: &Answer<'_>) {
    let Some(id) = &answer.id else {
        let error = answer.outcome.as_ref().err();
        tracing::warn!(?error, "the client sent an error without an id");
        return;
    };
    let outcome = || Ok(answer.outcome.clone().map(mcp_jsonrpc::RawJson::copy));
    let is_known = session.streams.outgoing.complete(id, outcome())
        || state
            .released(session)
            .iter()
            .any(|earlier| earlier.streams.outgoing.complete(id, outcome()));
    if !is_known {
        tracing::debug!(%id, "dropped a late or unknown response");
        session.inbound.discarded(Discarded::UnknownResponse(id));
    }
}

/// Fails the server request that a malformed response was meant to answer.
fn fail_unreadable(
    state: &EndpointState,
    session: &Arc<HttpSession>,
    frame: &[u8],
    error: &ParseError,
) {
    let limits = &state.options.message_limits;
    let released = state.released(session);
    for session in std::iter::once(session).chain(released.iter()) {
        session
            .streams
            .outgoing
            .fail_unreadable(frame, error, limits);
    }
}

/// Checks the headers of `initialize`: the version may be missing, and the request must not name an
/// open session. The id of an unknown or ended session is ignored.
fn check_initialize(
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
             another one",
        );
        return Err(refusal.with_id(Some(request.id.clone())));
    }
    Ok(())
}

/// Opens a session.
fn initialize(
    state: &Arc<EndpointState>,
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
            Progress::Running(_) => not_at_once(),
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
    let client = state.session_store.as_ref();
    let stored = client.map(|client| Box::new(client.new_session(identity.id, identity.tag)));
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
        Progress::Running(_) => return Ok(not_at_once()),
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
        state.sessions.ensure_sweeper(&state.options, client);
    }
    Ok(response)
}

/// The session answers `initialize` itself and never waits.
fn not_at_once() -> Response<Body> {
    tracing::error!("initialize was not answered immediately");
    Refusal::busy("initialize cannot be answered").into_response()
}
