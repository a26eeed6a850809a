//! The HTTP response to a request, as JSON or as an event stream.

use crate::client::call::failure::CallFailure;
use crate::client::call::refusal::{Refusal, is_retryable, stateless_refusal};
use crate::client::call::response::ResponseContext;
use crate::client::call::stream;
use crate::client::inbox::receive::{Received, receive};
use crate::client::wire::content::ContentKind;
use crate::client::wire::events::EventReader;
use crate::http_service::ResponseBody;
use crate::http_service::error_chain;
use bytes::{Bytes, BytesMut};
use http::{Response, StatusCode};
use mcp_protocol::{Answer, CallError};

/// Maximum memory that is reserved for a body before it arrives.
const MAX_RESERVED: usize = 1 << 20;

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
    mut body: ResponseBody,
) -> Result<Bytes, CallFailure> {
    let limit = context.state.options.message_bytes;
    let announced = body.announced().unwrap_or(0);
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    let mut length = 0;
    let mut too_long = announced > limit as u64;
    while !too_long {
        match body.data().await {
            Some(Ok(data)) => {
                length += data.len();
                too_long = length > limit;
                if first.is_empty() {
                    first = data;
                    continue;
                }
                if rest.is_empty() {
                    // The body may be shorter than announced.
                    let announced = usize::try_from(announced).unwrap_or(0);
                    rest.reserve(announced.min(MAX_RESERVED).max(length));
                    rest.extend_from_slice(&first);
                }
                rest.extend_from_slice(&data);
            }
            Some(Err(error)) => {
                let problem = format!(
                    "closed the connection in the middle of the response to {}: {}",
                    context.method,
                    error_chain(&*error)
                );
                return Err(CallFailure::ResponseLost(
                    context.error(&problem).with_source(error),
                ));
            }
            None if rest.is_empty() => return Ok(first),
            None => return Ok(rest.freeze()),
        }
    }
    let problem = format!(
        "answered {} with more than {limit} bytes, the limit of \
         ClientOptions::with_max_message_bytes",
        context.method
    );
    Err(CallFailure::failed(context.error(&problem)))
}
