//! The response to a request, in whichever form it comes.

use crate::client::call::failure::Failure;
use crate::client::call::refusal::{Refusal, is_passing, stateless_refusal};
use crate::client::call::response::Asked;
use crate::client::call::stream;
use crate::client::inbox::receive::Heard;
use crate::client::wire::body::ResponseBody;
use crate::client::wire::content::Form;
use crate::client::wire::events::Events;
use crate::client::wire::service::chain;
use bytes::{Bytes, BytesMut};
use http::{Response, StatusCode};
use mcp_protocol::{Answer, CallError};

/// Room that is made for an answer before it is there.
const MOST_AHEAD: usize = 1 << 20;

/// Waits for the answer.
pub(crate) async fn read(
    asked: &Asked<'_>,
    response: Response<ResponseBody>,
) -> Result<Answer, Failure> {
    let status = response.status();
    if !status.is_success() {
        return Box::pin(refused(asked, response)).await;
    }
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        let problem = format!(
            "answered {} with {status}, which is for messages that need no answer",
            asked.method
        );
        return Err(asked.odd(&problem));
    }
    match Form::of(response.headers()) {
        Form::Json => json(asked, response.into_body()).await,
        Form::Events => {
            let events = Events::new(response.into_body(), &asked.core.options);
            stream::follow(asked, events).await
        }
        Form::Other(problem) => {
            let problem = format!("answered {} with {problem}", asked.method);
            Err(asked.odd(&problem))
        }
    }
}

async fn refused(asked: &Asked<'_>, response: Response<ResponseBody>) -> Result<Answer, Failure> {
    let refusal = Refusal::read(asked.core, response).await;
    if refusal.is_of_session(asked.facts) {
        return Err(Failure::SessionLost { seen: false });
    }
    if asked.facts.claims {
        return stateless_refusal(asked, &refusal);
    }
    if let Some(error) = refusal.error_for(asked.id) {
        return Ok(Err(error));
    }
    let error = refusal.error(asked.core, asked.facts, asked.method);
    Err(if is_passing(refusal.status) {
        Failure::NotNow(refusal.retry_after, error)
    } else {
        Failure::failed(error)
    })
}

async fn json(asked: &Asked<'_>, body: ResponseBody) -> Result<Answer, Failure> {
    let frame = whole(asked, body).await?;
    let problem = match asked.receive(&frame) {
        Heard::Answer(answer) => return answer.map_err(Failure::Final),
        Heard::Unreadable(error) => return Err(Failure::Final(CallError::Malformed(error))),
        Heard::Anonymous(error) if asked.facts.claims => return Ok(Err(error)),
        Heard::Anonymous(error) => return Err(Failure::failed(asked.anonymous(&error))),
        Heard::OtherAnswer(id) => format!(
            "answered {}, request {}, with the answer to request {id}",
            asked.method, asked.id
        ),
        Heard::Batch => format!(
            "answered {} with a batch, which the negotiated revision does not know",
            asked.method
        ),
        Heard::Nothing => format!("answered {} with no answer to it", asked.method),
    };
    Err(asked.odd(&problem))
}

/// A body in one piece, up to the limit.
async fn whole(asked: &Asked<'_>, mut body: ResponseBody) -> Result<Bytes, Failure> {
    let limit = asked.core.options.message_bytes;
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
                    // What is announced need not come.
                    let announced = usize::try_from(announced).unwrap_or(0);
                    rest.reserve(announced.min(MOST_AHEAD).max(length));
                    rest.extend_from_slice(&first);
                }
                rest.extend_from_slice(&data);
            }
            Some(Err(error)) => {
                let problem = format!(
                    "broke off in the middle of the answer to {}: {}",
                    asked.method,
                    chain(&*error)
                );
                return Err(Failure::Lost(asked.error(&problem).with_source(error)));
            }
            None if rest.is_empty() => return Ok(first),
            None => return Ok(rest.freeze()),
        }
    }
    let problem = format!(
        "answered {} with more than {limit} bytes, the limit of \
         ClientOptions::with_message_bytes",
        asked.method
    );
    Err(Failure::failed(asked.error(&problem)))
}
