//! One call: its request, its answer, and what is tried if that gets lost.

use std::sync::Arc;

use crate::client::call::failure::{Failure, failed, is_harmless_twice, lost};
use crate::client::call::pending::attempt;
use crate::client::call::stateless;
use crate::client::session::initialize;
use crate::client::session::replay::Record;
use crate::client::state::Core;
use mcp_protocol::{Answer, Call, CallError, Extras, TransportError};
use mcp_types::method;
use tokio::time::sleep;

/// A call that is sent when it is first polled.
pub(crate) fn start(
    core: Arc<Core>,
    method: &'static str,
    params: Option<Vec<u8>>,
    extras: Extras,
) -> Call {
    // What was said before this call is heard before it.
    let after = core.outbox.position();
    Call::new(async move {
        if method == method::INITIALIZE {
            // Boxed, like all that is rare: a call is as large as the largest thing it may do.
            return Box::pin(initialize::first(&core, params)).await;
        }
        let said = core.until_closed(core.outbox.sent_up_to(after)).await;
        said.map_err(CallError::Closed)?;
        match stateless::mirrored(method, params.as_deref(), extras.headers) {
            Some(headers) => stateless::run(&core, method, params, headers?, extras.id).await,
            None => run(&core, method, params).await,
        }
    })
}

async fn run(
    core: &Arc<Core>,
    method: &'static str,
    params: Option<Vec<u8>>,
) -> Result<Answer, CallError> {
    let mut may_repeat = is_harmless_twice(method);
    loop {
        let facts = core.until_closed(core.session.current()).await;
        let facts = facts.map_err(CallError::Closed)?;
        match attempt(core, &facts, method, params.as_deref()).await {
            Ok(answer) => {
                if Record::concerns(method) && answer.is_ok() {
                    core.session
                        .record
                        .note(method, params.as_deref().unwrap_or_default());
                }
                core.resume_listening();
                return Ok(answer);
            }
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::SessionLost { seen }) => {
                core.session_lost(&facts);
                let renewed = core.until_closed(core.session.current()).await;
                renewed.map_err(CallError::Closed)?;
                if !may_repeat {
                    return Err(failed(forgotten(core, method, seen)));
                }
            }
            Err(Failure::Lost(error)) => {
                if !may_repeat {
                    return Err(failed(lost(error, method)));
                }
                tracing::debug!(%error, method, "the answer is lost; asking again");
            }
            Err(Failure::Unreached(error)) => return Err(failed(error)),
            Err(Failure::NotNow(wait, error)) => match wait {
                Some(wait) if may_repeat && wait <= core.options.retry_after => {
                    core.until_closed(sleep(wait))
                        .await
                        .map_err(CallError::Closed)?;
                }
                _ => return Err(failed(error)),
            },
        }
        may_repeat = false;
    }
}

fn forgotten(core: &Core, method: &str, seen: bool) -> TransportError {
    let endpoint = &core.wire.endpoint;
    let ran = if seen {
        "it may have run"
    } else {
        "call again"
    };
    TransportError::new(format!(
        "{endpoint} had forgotten the session; a new one is open; {method} was not repeated, {ran}"
    ))
}
