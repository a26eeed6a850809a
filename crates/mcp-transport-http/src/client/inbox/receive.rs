//! What the server says, whichever stream it says it on.

use std::sync::Arc;

use crate::client::inbox::server_request;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::service::quoted;
use mcp_jsonrpc::{
    ErrorObject, Frame, Message, Notification, ParseError, ParseErrorKind, RawJson, RequestId,
    Response, parse,
};
use mcp_protocol::{Answer, CallError, guarded};
use mcp_types::method;

/// What a message means for the call on whose response it came.
#[derive(Debug)]
pub(crate) enum Received {
    /// It is the answer.
    Response(Result<Answer, CallError>),
    /// It answers another request, by this id.
    OtherResponse(RequestId),
    /// It is an error of nobody in particular: a message of this client could not be read.
    ErrorWithoutId(ErrorObject),
    /// It is no message.
    Malformed(ParseError),
    /// It is a batch, and the revision knows none.
    UnexpectedBatch,
    /// It was for somebody else.
    Consumed,
}

/// Hands one message over: to the call `mine`, to another call, or to whoever understands it.
pub(crate) fn receive(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    frame: &[u8],
    mine: Option<i64>,
) -> Received {
    if state.closed().is_some() {
        return Received::Consumed;
    }
    match parse(frame, &state.options.limits.frame) {
        Ok(Frame::Single(message)) => single(state, session, message, mine),
        Ok(Frame::Batch(batch)) if state.inbound.accepts_batches() => {
            let mut received = Received::Consumed;
            for member in batch.iter() {
                let one = match member {
                    Ok(message) => single(state, session, message, mine),
                    Err(error) => unreadable(state, session, frame, error, mine),
                };
                if !matches!(received, Received::Response(_)) && !matches!(one, Received::Consumed)
                {
                    received = one;
                }
            }
            received
        }
        Ok(Frame::Batch(_)) => {
            tracing::warn!("the server sent a batch, which the revision does not know");
            Received::UnexpectedBatch
        }
        Err(error) => unreadable(state, session, frame, error, mine),
    }
}

fn single(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    message: Message<'_>,
    mine: Option<i64>,
) -> Received {
    match message {
        Message::Request(request) if session.is_stateless => {
            let method = quoted(&request.method);
            tracing::warn!(
                method,
                "dropped a request, which this revision does not know"
            );
            Received::Consumed
        }
        Message::Request(request) => {
            server_request::ask(state, session, &request);
            Received::Consumed
        }
        Message::Notification(notification) => {
            notify(state, &notification);
            Received::Consumed
        }
        Message::Response(response) => answer(state, response, mine),
    }
}

fn notify(state: &ClientState, notification: &Notification<'_>) {
    if notification.method == method::NOTIFICATIONS_CANCELLED {
        state.incoming.cancelled(notification.params);
    } else if guarded(|| state.inbound.notification(notification)).is_err() {
        tracing::error!("a notification handler panicked");
    }
}

fn answer(state: &ClientState, response: Response<'_>, mine: Option<i64>) -> Received {
    let Response { id, outcome, .. } = response;
    let Some(id) = id else {
        let Err(error) = outcome else {
            return Received::Consumed;
        };
        tracing::warn!(
            code = %error.code,
            message = quoted(&error.message),
            "the server reports a message it could not read"
        );
        return Received::ErrorWithoutId(error);
    };
    let answer = Ok(outcome.map(RawJson::copy));
    if is(&id, mine) {
        return Received::Response(answer);
    }
    if state.outgoing.complete(&id, answer) {
        tracing::debug!(%id, "an answer came on the stream of another call");
    } else {
        tracing::debug!(%id, "dropped a late or unknown answer");
    }
    Received::OtherResponse(id)
}

fn unreadable(
    state: &Arc<ClientState>,
    session: &Arc<Session>,
    frame: &[u8],
    error: ParseError,
    mine: Option<i64>,
) -> Received {
    // Text that breaks off has no kind, but it may have got as far as the id.
    let is_answer = error.is_response() || error.kind() == ParseErrorKind::Syntax;
    if let Some(id) = error.id().filter(|_| is_answer) {
        tracing::warn!(
            error = quoted(&error.to_string()),
            "the server sent a malformed answer"
        );
        let failure = Err(CallError::Malformed(error.clone()));
        if is(id, mine) {
            return Received::Response(failure);
        }
        state.outgoing.complete(id, failure);
    } else {
        tracing::warn!(
            error = quoted(&error.to_string()),
            "the server sent something that is no message"
        );
        let wanted = guarded(|| state.inbound.unreadable(frame, &error));
        if let Some(id) = error
            .id()
            .filter(|_| error.is_answerable() && !session.is_stateless)
            && wanted.unwrap_or(true)
        {
            server_request::refuse(state, session, id, &error.to_error_object());
        }
    }
    Received::Malformed(error)
}

fn is(id: &RequestId, mine: Option<i64>) -> bool {
    matches!((id, mine), (RequestId::Number(id), Some(mine)) if *id == mine)
}
