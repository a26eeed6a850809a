//! The HTTP response to a request, as JSON or as an event stream.

use crate::client::call::failure::CallFailure;
use crate::client::call::refusal::{Refusal, is_retryable, stateless_refusal};
use crate::client::call::response::ResponseContext;
use crate::client::call::stream;
use crate::client::inbox::receive::{Received, receive};
use crate::client::wire::content::ContentKind;
use crate::client::wire::events::EventReader;
use crate::http_service::{BodyTooLarge, ResponseBody, error_chain};
use bytes::Bytes;
use http::{Response, StatusCode};
use mcp_protocol::{Answer, CallError};

/// Reads the response to a request.
pub(crate) async fn read(
    context: &ResponseContext<'_>,
    response: Response<ResponseBody>,
) -> Result<Answer, CallFailure> {
    let status = response.status();
    if !status.is_success() {
        return Box::pin(refused(context, response)).await;
    }
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
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
            stream::follow(context, events).await
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
            "answered {}, request {}, with the response to request {id}",
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

/// Reads a body up to the limit.
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
