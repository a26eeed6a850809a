//! The HTTP response to a request, as JSON or as an event stream.

use crate::client::call::failure::{CallFailure, ResponseContext};
use crate::client::call::stream;
use crate::client::inbox::receive::{Received, receive};
use crate::client::refusal::{Refusal, is_retryable};
use crate::client::wire::body::{ContentKind, EventReader};
use crate::http_service::{BodyTooLarge, ResponseBody, error_chain};
use bytes::Bytes;
use http::{Response, StatusCode};
use mcp_protocol::{Answer, CallError, Strictness};
use mcp_types::method;

pub(crate) async fn read(
    context: &ResponseContext<'_>,
    response: Response<ResponseBody>,
) -> Result<Answer, CallFailure> {
    let status = response.status();
    if !status.is_success() {
        return Box::pin(refused(context, response)).await;
    }
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        if context.session.id.is_some() && context.state.options.strictness != Strictness::Strict {
            // Some servers send all responses on the GET stream. The call waits for such a response until listening ends. The call waits for such a response until listening ends.
            Box::pin(context.state.listening.ended()).await;
        }
        let problem = format!(
            "answered {} with {status}, which is only valid for notifications and responses",
            context.method
        );
        return Err(context.unexpected(&problem));
    }
    match ContentKind::of(response.headers()) {
        ContentKind::Json => json(context, response.into_body()).await,
        ContentKind::EventReader => {
            let events = EventReader::new(response.into_body(), &context.state.options);
            // Boxed, because this future is large and most responses are JSON.
            Box::pin(stream::follow(context, events)).await
        }
        ContentKind::Other(problem) => {
            let problem = format!("answered {} with {problem}", context.method);
            Err(context.unexpected(&problem))
        }
    }
}

async fn refused(
    context: &ResponseContext<'_>,
    response: Response<ResponseBody>,
) -> Result<Answer, CallFailure> {
    let refusal = Refusal::read(context.state, response).await;
    if refusal.is_session_lost(context.session) {
        return Err(CallFailure::SessionLost { seen: false });
    }
    if context.session.is_stateless {
        return stateless_refusal(context, &refusal);
    }
    if let Some(error) = refusal.error_for(context.id) {
        return Ok(Err(error));
    }
    let error = refusal.error(context.state, context.session, context.method);
    Err(if is_retryable(refusal.status) {
        CallFailure::Unavailable(refusal.retry_after, error)
    } else {
        CallFailure::failed(error)
    })
}

/// Converts an HTTP error response to a request of the stateless revision. Only a status about the message itself shows which
/// revisions the server supports. A status about missing credentials, or about a failure of the server or a proxy, does not show
/// the revisions.
fn stateless_refusal(
    context: &ResponseContext<'_>,
    refusal: &Refusal,
) -> Result<Answer, CallFailure> {
    let status = refusal.status;
    let is_about_message = is_about_message(status);
    if let Some(error) = refusal.error_for_only_request(context.id)
        && (is_about_message || context.method != method::SERVER_DISCOVER)
    {
        return Ok(Err(error));
    }
    let error = refusal.error(context.state, context.session, context.method);
    let is_probe = context.method == method::SERVER_DISCOVER;
    let error = match status.as_u16() {
        401 | 407 => error,
        _ if is_probe => error.as_inconclusive(),
        _ => error,
    };
    Err(if is_about_message {
        CallFailure::failed(error.as_unknown_protocol())
    } else if is_retryable(status) {
        CallFailure::Unavailable(refusal.retry_after, error)
    } else {
        CallFailure::failed(error)
    })
}

/// Returns whether a status is about the message itself, and not about credentials or overload.
fn is_about_message(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status.as_u16(), 401 | 403 | 407 | 408 | 421 | 425 | 429)
}

async fn json(context: &ResponseContext<'_>, body: ResponseBody) -> Result<Answer, CallFailure> {
    let frame = read_body(context, body).await?;
    let problem = match receive(context.state, context.session, &frame, Some(context.id)) {
        Received::Response(answer) => return answer.map_err(CallFailure::Final),
        Received::Malformed(error) => return Err(CallFailure::Final(CallError::Malformed(error))),
        Received::ErrorWithoutId(error) if context.session.is_stateless => return Ok(Err(error)),
        Received::ErrorWithoutId(error) => {
            return Err(CallFailure::failed(context.unreadable_request(&error)));
        }
        Received::OtherResponse(id) => format!(
            "answered {} (request {}) with the response to another request ({id})",
            context.method, context.id
        ),
        Received::UnexpectedBatch => format!(
            "answered {} with a batch, which the negotiated revision does not allow",
            context.method
        ),
        Received::Consumed => format!("answered {} without a response to it", context.method),
    };
    Err(context.unexpected(&problem))
}

/// Reads a body. Fails if it exceeds the maximum message size.
async fn read_body(
    context: &ResponseContext<'_>,
    body: ResponseBody,
) -> Result<Bytes, CallFailure> {
    let limit = context.state.options.message_bytes;
    body.read(limit).await.map_err(|error| {
        let method = context.method;
        if error.is::<BodyTooLarge>() {
            return CallFailure::failed(context.error(&format!(
                "answered {method} with more than {limit} bytes, the limit of \
                 ClientOptions::with_max_message_bytes"
            )));
        }
        let problem = format!(
            "closed the connection in the middle of the response to {method}: {}",
            error_chain(&*error)
        );
        CallFailure::ResponseLost(context.error(&problem).with_source(error))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_client_errors_not_caused_by_credentials_or_overload_are_about_the_message() {
        let is_about_message = |code: u16| is_about_message(StatusCode::from_u16(code).unwrap());
        for code in [400, 404, 405, 406, 409, 415, 422] {
            assert!(is_about_message(code), "{code}");
        }
        for code in [200, 302, 401, 403, 407, 408, 429, 500, 502, 503] {
            assert!(!is_about_message(code), "{code}");
        }
    }
}
