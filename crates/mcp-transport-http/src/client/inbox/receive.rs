//! Dispatches messages from the server, from all streams.

use std::sync::Arc;

use crate::client::inbox::server_request;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::MAX_QUOTED;
use mcp_jsonrpc::{
    ErrorObject, Frame, Message, Notification, ParseError, RawJson, RequestId, Response, parse,
    quote,
};
use mcp_protocol::middleware::Discarded;
use mcp_protocol::{Answer, CallError, Deviation, guarded};
use mcp_types::method;

/// The meaning of a received message for the call on whose stream the message arrived.
#[derive(Debug)]
pub(crate) enum Received {
    /// The message is the response to the call.
    Response(Result<Answer, CallError>),
    /// The message is the response to the request with this id.
    OtherResponse(RequestId),
    /// An error without an id: the server could not read a message from this client.
    ErrorWithoutId(ErrorObject),
    /// The message is not valid.
    Malformed(ParseError),
    /// A batch, although the revision has no batches.
    UnexpectedBatch,
    /// The message was not for this call, and has been delivered to its receiver.
    Consumed,
}

/// Delivers one message from the server: to the call `own_id`, to another call, or to the client's `Inbound`.
pub(crate) fn receive(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    frame: &[u8],
    own_id: Option<i64>,
) -> Received {
    if state.closed().is_some() {
        return Received::Consumed;
    }
    match parse(frame, &state.options.limits.frame) {
        Ok(Frame::Single(message)) => single(state, session, message, own_id),
        Ok(Frame::Batch(batch)) if state.inbound.accepts_batches() => {
            let mut received = Received::Consumed;
            for member in batch.iter() {
                let one = match member {
                    Ok(message) => single(state, session, message, own_id),
                    Err(error) => unreadable(state, session, frame, error, own_id),
                };
                if !matches!(received, Received::Response(_)) && !matches!(one, Received::Consumed)
                {
                    received = one;
                }
            }
            received
        }
        Ok(Frame::Batch(batch)) => {
            tracing::warn!("the server sent a batch, which the revision does not allow");
            state.inbound.discarded(Discarded::Batch);
            state.outgoing.fail_batch(&batch);
            Received::UnexpectedBatch
        }
        Err(error) => match state.inbound.repaired(frame, &error) {
            Some(text) => receive(state, session, text.as_bytes(), own_id),
            None => unreadable(state, session, frame, error, own_id),
        },
    }
}

fn single(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    message: Message<'_>,
    own_id: Option<i64>,
) -> Received {
    match message {
        Message::Request(request) if session.is_stateless => {
            tracing::warn!(
                method = %quote(&request.method, MAX_QUOTED),
                "dropped a request of the server, which the stateless revision does not allow"
            );
            Received::Consumed
        }
        Message::Request(request) => {
            server_request::handle(state, session, &request);
            Received::Consumed
        }
        Message::Notification(notification) => {
            notify(state, &notification);
            Received::Consumed
        }
        Message::Response(response) => answer(state, response, own_id),
    }
}

fn notify(state: &ClientState, notification: &Notification<'_>) {
    if notification.method == method::NOTIFICATIONS_CANCELLED {
        state.incoming.cancelled(notification.params);
    } else if guarded(|| state.inbound.notification(notification)).is_err() {
        tracing::error!("a notification handler panicked");
    }
}

fn answer(state: &ClientState, response: Response<'_>, own_id: Option<i64>) -> Received {
    let Response { id, outcome, .. } = response;
    let Some(mut id) = id else {
        let Err(error) = outcome else {
            return Received::Consumed;
        };
        tracing::warn!(
            code = %error.code,
            message = %quote(&error.message, MAX_QUOTED),
            "the server reports that it could not read a message"
        );
        return Received::ErrorWithoutId(error);
    };
    if let Some(number) = state.outgoing.named_by_text(&id)
        && state.inbound.tolerates(Deviation::TextId, &id.to_string())
    {
        id = number;
    }
    let answer = Ok(outcome.map(RawJson::copy));
    if is(&id, own_id) {
        return Received::Response(answer);
    }
    if state.outgoing.complete(&id, answer) {
        tracing::debug!(%id, "a response arrived on the stream of another call");
    } else {
        tracing::debug!(%id, "dropped a late or unknown response");
        state.inbound.discarded(Discarded::UnknownResponse(&id));
    }
    Received::OtherResponse(id)
}

fn unreadable(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    frame: &[u8],
    error: ParseError,
    own_id: Option<i64>,
) -> Received {
    state.inbound.discarded(Discarded::Malformed(&error));
    let limits = &state.options.limits.frame;
    if state.outgoing.fail_unreadable(frame, &error, limits) {
        tracing::warn!(
            error = %quote(&error.to_string(), MAX_QUOTED),
            "the server sent a malformed response"
        );
        // On the stream of a call, a response without a readable id belongs to the call.
        if own_id.is_some() && error.id().is_none() {
            return Received::Response(Err(CallError::Malformed(error)));
        }
    } else {
        tracing::warn!(
            error = %quote(&error.to_string(), MAX_QUOTED),
            "the server sent an invalid message"
        );
        let is_reported = guarded(|| state.inbound.unreadable(frame, &error));
        if let Some(id) = error
            .id()
            .filter(|_| error.is_answerable() && !session.is_stateless)
            && is_reported.unwrap_or(true)
        {
            server_request::refuse(state, session, id, &error.to_error_object());
        }
    }
    Received::Malformed(error)
}

fn is(id: &RequestId, own_id: Option<i64>) -> bool {
    matches!((id, own_id), (RequestId::Number(id), Some(own_id)) if *id == own_id)
}
