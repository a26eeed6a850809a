//! What the server says, whichever stream it says it on.

use std::sync::Arc;

use crate::client::inbox::server_request;
use crate::client::session::current::Facts;
use crate::client::state::Core;
use crate::client::wire::service::quoted;
use mcp_jsonrpc::{
    ErrorObject, Frame, Message, Notification, ParseError, ParseErrorKind, RawJson, RequestId,
    Response, parse,
};
use mcp_protocol::{Answer, CallError, guarded};
use mcp_types::method;

/// What a message means for the call on whose response it came.
#[derive(Debug)]
pub(crate) enum Heard {
    /// It is the answer.
    Answer(Result<Answer, CallError>),
    /// It answers another request, by this id.
    OtherAnswer(RequestId),
    /// It is an error of nobody in particular: a message of this client could not be read.
    Anonymous(ErrorObject),
    /// It is no message.
    Unreadable(ParseError),
    /// It is a batch, and the revision knows none.
    Batch,
    /// It was for somebody else.
    Nothing,
}

/// Hands one message over: to the call `mine`, to another call, or to whoever understands it.
pub(crate) fn hear(core: &Arc<Core>, facts: &Arc<Facts>, frame: &[u8], mine: Option<i64>) -> Heard {
    if core.closed().is_some() {
        return Heard::Nothing;
    }
    match parse(frame, &core.options.limits.frame) {
        Ok(Frame::Single(message)) => single(core, facts, message, mine),
        Ok(Frame::Batch(batch)) if core.inbound.accepts_batches() => {
            let mut heard = Heard::Nothing;
            for member in batch.iter() {
                let one = match member {
                    Ok(message) => single(core, facts, message, mine),
                    Err(error) => unreadable(core, facts, frame, error, mine),
                };
                if !matches!(heard, Heard::Answer(_)) && !matches!(one, Heard::Nothing) {
                    heard = one;
                }
            }
            heard
        }
        Ok(Frame::Batch(_)) => {
            tracing::warn!("the server sent a batch, which the revision does not know");
            Heard::Batch
        }
        Err(error) => unreadable(core, facts, frame, error, mine),
    }
}

fn single(core: &Arc<Core>, facts: &Arc<Facts>, message: Message<'_>, mine: Option<i64>) -> Heard {
    match message {
        Message::Request(request) if facts.claims => {
            let method = quoted(&request.method);
            tracing::warn!(
                method,
                "dropped a request, which this revision does not know"
            );
            Heard::Nothing
        }
        Message::Request(request) => {
            server_request::ask(core, facts, &request);
            Heard::Nothing
        }
        Message::Notification(notification) => {
            notify(core, &notification);
            Heard::Nothing
        }
        Message::Response(response) => answer(core, response, mine),
    }
}

fn notify(core: &Core, notification: &Notification<'_>) {
    if notification.method == method::NOTIFICATIONS_CANCELLED {
        core.incoming.cancelled(notification.params);
    } else if guarded(|| core.inbound.notification(notification)).is_err() {
        tracing::error!("a notification handler panicked");
    }
}

fn answer(core: &Core, response: Response<'_>, mine: Option<i64>) -> Heard {
    let Response { id, outcome, .. } = response;
    let Some(id) = id else {
        let Err(error) = outcome else {
            return Heard::Nothing;
        };
        tracing::warn!(
            code = %error.code,
            message = quoted(&error.message),
            "the server reports a message it could not read"
        );
        return Heard::Anonymous(error);
    };
    let answer = Ok(outcome.map(RawJson::copy));
    if is(&id, mine) {
        return Heard::Answer(answer);
    }
    if core.outgoing.complete(&id, answer) {
        tracing::debug!(%id, "an answer came on the stream of another call");
    } else {
        tracing::debug!(%id, "dropped a late or unknown answer");
    }
    Heard::OtherAnswer(id)
}

fn unreadable(
    core: &Arc<Core>,
    facts: &Arc<Facts>,
    frame: &[u8],
    error: ParseError,
    mine: Option<i64>,
) -> Heard {
    // Text that breaks off has no kind, but it may have got as far as the id.
    let is_answer = error.is_response() || error.kind() == ParseErrorKind::Syntax;
    if let Some(id) = error.id().filter(|_| is_answer) {
        tracing::warn!(
            error = quoted(&error.to_string()),
            "the server sent a malformed answer"
        );
        let failure = Err(CallError::Malformed(error.clone()));
        if is(id, mine) {
            return Heard::Answer(failure);
        }
        core.outgoing.complete(id, failure);
    } else {
        tracing::warn!(
            error = quoted(&error.to_string()),
            "the server sent something that is no message"
        );
        let wanted = guarded(|| core.inbound.unreadable(frame, &error));
        if let Some(id) = error
            .id()
            .filter(|_| error.is_answerable() && !facts.claims)
            && wanted.unwrap_or(true)
        {
            server_request::refuse(core, facts, id, &error.to_error_object());
        }
    }
    Heard::Unreadable(error)
}

fn is(id: &RequestId, mine: Option<i64>) -> bool {
    matches!((id, mine), (RequestId::Number(id), Some(mine)) if *id == mine)
}
