//! POST: one message, or for one revision a batch.
//!
//! The handler is polled here, in the task of the HTTP connection. Only if it speaks before it
//! answers, or takes its time, the response becomes a stream, and then the handler gets a task of
//! its own: it must not depend on how fast the client reads.

use std::sync::Arc;

use http::{Response, StatusCode};
use mcp_jsonrpc::{
    ErrorObject, Frame, Message, Notification, Request, Response as Answer, parse, write_error,
};
use mcp_protocol::modern::RawRequestMeta;
use mcp_protocol::{AdmissionError, Grant, Inbound as _, Principal, ServerSession, guarded};
use mcp_types::method;

use crate::headers::{PROTOCOL_VERSION, SESSION_ID};
use crate::server::request::admission::{self, BOTH};
use crate::server::request::body;
use crate::server::request::head::{Asked, Field, Heads};
use crate::server::request::revision::{Era, era_of};
use crate::server::response::body::Body;
use crate::server::response::refusal::{Refusal, unsupported};
use crate::server::response::text::{Text, json};
use crate::server::running::pending::{BatchItem, PendingCall, respond};
use crate::server::running::start::{Progress, admit_stateless, start, start_stateless};
use crate::server::session::HttpSession;
use crate::server::session::id::SessionId;
use crate::server::state::Shared;
use crate::server::stream::{Identity, Stream};

pub(crate) async fn serve<B>(
    shared: &Arc<Shared>,
    parts: Box<Asked>,
    content: B,
) -> Result<Response<Body>, Refusal>
where
    B: http_body::Body + Send,
    B::Data: Send,
{
    let heads = Heads::of(&parts.headers);
    shared.admit(&parts, &heads)?;
    admission::check_content(&parts.headers, &heads)?;
    admission::check_accept(&parts.headers, &heads, BOTH)?;
    let whole = body::read(content, &heads, &shared.options, &shared.bodies).await?;
    let frame = match parse(&whole.bytes, &shared.options.frame) {
        Ok(frame) => frame,
        Err(error) => return Err(Refusal::unreadable(&error)),
    };
    let era = era_of(shared, &frame, &parts.headers, &heads)?;
    // By reference: a request is long, and moving it costs more than what is done with most of it.
    let progress = match (&frame, era) {
        (_, Era::Ignored) => Progress::Done(accepted()),
        (Frame::Single(Message::Request(request)), Era::Modern(claim)) => {
            let envelope = admit_stateless(shared, request, &claim, &parts.headers, &heads)?;
            start_stateless(shared, request, envelope, parts)?
        }
        (Frame::Single(Message::Request(request)), _) if request.method == method::INITIALIZE => {
            return initialize(shared, request, parts);
        }
        (Frame::Single(message), _) => {
            let session = shared.session(&parts, &heads);
            let session = session.map_err(|refusal| match message {
                Message::Request(request) => refusal.answering(Some(request.id.clone())),
                _ => refusal,
            })?;
            single_message(shared, &session, message, parts)?
        }
        (Frame::Batch(batch), _) => {
            let session = shared.session(&parts, &heads)?;
            if !session.inbound.accepts_batches() {
                return Err(Refusal::bad_request(
                    "batches are not part of the negotiated revision; send one message per POST",
                ));
            }
            batch_of_messages(shared, &session, batch, parts)?
        }
    };
    match progress {
        Progress::Done(response) => Ok(response),
        Progress::Running(call) => {
            // The memory of the body is free while the call waits.
            drop(frame);
            drop(whole);
            Ok(call.respond().await)
        }
    }
}

fn accepted() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

fn single_message(
    shared: &Arc<Shared>,
    session: &Arc<HttpSession>,
    message: &Message<'_>,
    parts: Box<Asked>,
) -> Result<Progress<Response<Body>, PendingCall>, Refusal> {
    let request = match message {
        Message::Request(request) => request,
        Message::Notification(notification) => {
            notify(session, notification);
            return Ok(Progress::Done(accepted()));
        }
        Message::Response(answer) => {
            complete(session, answer);
            return Ok(Progress::Done(accepted()));
        }
    };
    let slot = shared
        .slot()
        .map_err(|refusal| refusal.answering(Some(request.id.clone())))?;
    let stream = stream_of(session, parts);
    Ok(match run(shared, session, &stream, request)? {
        Progress::Done(text) => {
            Progress::Done(respond(session, stream, Some(text), StatusCode::OK))
        }
        Progress::Running(item) => {
            Progress::Running(PendingCall::single(session, stream, item, slot))
        }
    })
}

fn batch_of_messages(
    shared: &Arc<Shared>,
    session: &Arc<HttpSession>,
    batch: &mcp_jsonrpc::Batch<'_>,
    mut parts: Box<Asked>,
) -> Result<Progress<Response<Body>, PendingCall>, Refusal> {
    let slot = shared.slot()?;
    if let Some(grant) = parts.extensions.get::<Grant>().map(Grant::unanswered) {
        parts.extensions.insert(grant);
    }
    let stream = stream_of(session, parts);
    let mut items = Vec::new();
    for message in batch.iter() {
        match message {
            Ok(Message::Request(request)) if RawRequestMeta::of(&request).is_some() => {
                let error = ErrorObject::invalid_request(
                    "a request that names its revision comes alone; send it in a POST of its own",
                );
                items.push(BatchItem::done(error_text(Some(&request.id), &error)));
            }
            Ok(Message::Request(request)) => {
                items.push(match start(session, &stream, &request, &shared.threads) {
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
            Ok(Message::Notification(notification)) => notify(session, &notification),
            Ok(Message::Response(answer)) => complete(session, &answer),
            Err(error) if error.is_response() => {
                tracing::warn!(%error, "the client sent a malformed answer");
            }
            Err(error) => {
                let id = error.id().filter(|id| !session.incoming.contains(id));
                items.push(BatchItem::done(error_text(id, &error.to_error_object())));
            }
        }
    }
    if items.is_empty() {
        return Ok(Progress::Done(accepted()));
    }
    Ok(Progress::Running(PendingCall::batch(
        session, stream, items, slot,
    )))
}

fn error_text(id: Option<&mcp_jsonrpc::RequestId>, error: &ErrorObject) -> Text {
    Text::written(|out| write_error(out, id, error))
}

fn stream_of(session: &Arc<HttpSession>, parts: Box<Asked>) -> Arc<Stream> {
    let principal = parts.extensions.get::<Principal>().cloned();
    let polling = session.inbound.session().revision().rules().polling;
    Stream::of_request(&session.streams, parts, principal, polling)
}

fn run(
    shared: &Arc<Shared>,
    session: &Arc<HttpSession>,
    stream: &Arc<Stream>,
    request: &Request<'_>,
) -> Result<Progress<Text, BatchItem>, Refusal> {
    start(session, stream, request, &shared.threads).map_err(|refused| match refused {
        AdmissionError::Duplicate(error) => Refusal::with_error(StatusCode::BAD_REQUEST, error),
        other => Refusal::busy(other.to_string()).answering(Some(request.id.clone())),
    })
}

fn notify(session: &Arc<HttpSession>, notification: &Notification<'_>) {
    if notification.method == method::NOTIFICATIONS_CANCELLED {
        session.incoming.cancelled(notification.params);
    } else if session.is_kept() && guarded(|| session.inbound.notification(notification)).is_err() {
        tracing::error!("a notification handler panicked");
    }
}

/// An answer to a question of the server. One that nobody waits for is late, which is no fault.
fn complete(session: &Arc<HttpSession>, answer: &Answer<'_>) {
    let Some(id) = &answer.id else {
        let error = answer.outcome.as_ref().err();
        tracing::warn!(?error, "the client reports a message it could not read");
        return;
    };
    let outcome = answer.outcome.clone().map(mcp_jsonrpc::RawJson::copy);
    if !session.streams.outgoing.complete(id, Ok(outcome)) {
        tracing::debug!(%id, "dropped a late or unknown answer");
    }
}

/// Opens a session. Whatever session id the client sends with it means nothing.
fn initialize(
    shared: &Arc<Shared>,
    request: &Request<'_>,
    parts: Box<Asked>,
) -> Result<Response<Body>, Refusal> {
    if let Some(text) = Field::of(&parts.headers, &PROTOCOL_VERSION).text(&PROTOCOL_VERSION)? {
        let known = shared.revisions.iter().any(|it| it.as_str() == text);
        if !known {
            let refusal = unsupported(text, &shared.revisions);
            return Err(refusal.answering(Some(request.id.clone())));
        }
    }
    let _slot = shared.slot()?;
    if !shared.options.sessions {
        shared.forget_sessionless();
        let session = crate::server::session::shared(&shared.service, &shared.options, None);
        let stream = stream_of(&session, parts);
        return Ok(match run(shared, &session, &stream, request)? {
            Progress::Done(answer) => json(answer),
            Progress::Running(_) => not_at_once(),
        });
    }
    let principal = parts.extensions.get::<Principal>().cloned();
    let place = shared
        .place(principal.clone())
        .map_err(|refusal| refusal.answering(Some(request.id.clone())))?;
    let identity = (|| {
        Ok::<_, getrandom::Error>(Identity {
            id: SessionId::random()?,
            tag: getrandom::u64()?,
        })
    })()
    .map_err(|error| {
        tracing::error!(%error, "the system has no random numbers");
        Refusal::busy("no session can be opened now")
    })?;
    let inbound = ServerSession::new(Arc::clone(&shared.service));
    let session = HttpSession::new(inbound, &shared.options, Some(identity), principal);
    let stream = stream_of(&session, parts);
    let answer = match run(shared, &session, &stream, request)? {
        Progress::Done(answer) => answer,
        Progress::Running(_) => return Ok(not_at_once()),
    };
    let mut response = json(answer);
    if session.inbound.is_agreed() {
        place.keep();
        shared.sessions.insert(identity.id, session);
        response
            .headers_mut()
            .insert(SESSION_ID, identity.id.header());
        shared.sessions.keep_swept(&shared.options);
    }
    Ok(response)
}

/// The handshake is answered by the session itself, at once.
fn not_at_once() -> Response<Body> {
    tracing::error!("initialize was not answered at once");
    Refusal::busy("the handshake cannot be answered now").into_response()
}
