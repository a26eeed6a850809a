//! Handles a batch, if the revision has batches.

use std::sync::Arc;

use mcp_jsonrpc::{Batch, ErrorObject, Message, Request, RequestId, write_error};
use mcp_protocol::middleware::Discarded;
use mcp_protocol::modern::RawRequestMeta;
use mcp_protocol::{AdmissionError, Grant, Inbound as _};

use crate::server::head::RequestHead;
use crate::server::request::message::{
    complete, fail_unreadable, new_stream, notify, stored_requests,
};
use crate::server::response::body::accepted;
use crate::server::response::refusal::Refusal;
use crate::server::response::text::JsonText;
use crate::server::running::items::BatchItem;
use crate::server::running::outcome::PostOutcome;
use crate::server::running::pending::PendingCall;
use crate::server::running::start::{Progress, start};
use crate::server::session::HttpSession;
use crate::server::state::EndpointState;
use crate::server::stream::Stream;

/// Rejects a batch if the negotiated revision has no batches.
pub(super) fn check_batch(session: &HttpSession, batch: &Batch<'_>) -> Result<(), Refusal> {
    if session.inbound.accepts_batches() {
        return Ok(());
    }
    session.inbound.discarded(Discarded::Batch);
    session.streams.outgoing.fail_batch(batch);
    Err(Refusal::bad_request(
        "batches are not part of the negotiated revision; send one message per POST",
    ))
}

/// Receives the messages of a batch.
pub(super) fn batch_of_messages(
    state: &EndpointState,
    session: &Arc<HttpSession>,
    batch: &Batch<'_>,
    mut head: Box<RequestHead>,
) -> Result<Progress<PostOutcome, PendingCall>, Refusal> {
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
            Ok(Message::Request(request)) => {
                items.push(start_item(state, session, &stream, &request));
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
                items.push(failed(id, &error.to_error_object()));
            }
        }
    }
    if items.is_empty() {
        return Ok(Progress::Done(PostOutcome::Response(accepted())));
    }
    Ok(Progress::Running(PendingCall::batch(
        session, stream, items, permit,
    )))
}

/// Calls the handler of one request of a batch.
fn start_item(
    state: &EndpointState,
    session: &Arc<HttpSession>,
    stream: &Arc<Stream>,
    request: &Request<'_>,
) -> BatchItem {
    if RawRequestMeta::of(request).is_some() {
        let error = ErrorObject::invalid_request(
            "a request of the stateless revision cannot be part of a batch; send it in a separate POST",
        );
        return failed(Some(&request.id), &error);
    }
    match start(session, stream, request, &state.threads) {
        Ok(Progress::Done(text)) => BatchItem::done(text),
        Ok(Progress::Running(item)) => item,
        Err(AdmissionError::Full(error)) => failed(Some(&request.id), &error),
        Err(AdmissionError::Duplicate(error)) => failed(None, &error),
        Err(other) => failed(Some(&request.id), &ErrorObject::internal(other.to_string())),
    }
}

fn failed(id: Option<&RequestId>, error: &ErrorObject) -> BatchItem {
    BatchItem::done(JsonText::write(|out| write_error(out, id, error)))
}
