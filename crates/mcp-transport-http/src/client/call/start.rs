//! One call: its request, its response, and its repetitions.

use std::sync::Arc;

use crate::client::call::failure::{CallFailure, failed, may_have_run};
use crate::client::call::pending::attempt;
use crate::client::call::stateless;
use crate::client::opening::initialize;
use crate::client::refusal::repeat::is_repeatable;
use crate::client::refusal::reports_lost_session;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Answer, Call, CallError, Extras, MethodName, SentId, TransportError};
use mcp_types::method;
use tokio::time::sleep;

/// Creates a call that is sent when it is first polled.
pub(crate) fn start(
    state: Arc<ClientState>,
    method: MethodName,
    params: Option<Vec<u8>>,
    extras: Extras,
) -> Call {
    // The notifications that were queued earlier are sent before this call.
    let after = state.outbox.position();
    Call::new(async move {
        if method == method::INITIALIZE {
            // Boxed because this branch is rare: the future of a call is as large as its largest branch.
            return Box::pin(initialize::open_first(&state, params)).await;
        }
        state.until_closed(state.outbox.sent_up_to(after)).await?;
        match extras.stateless {
            Some(request) => {
                let headers = stateless::headers(&method, request, extras.headers);
                let headers = headers.map_err(failed)?;
                stateless::run(
                    &state,
                    &method,
                    params,
                    headers,
                    extras.response_timeout,
                    extras.id,
                )
                .await
            }
            None => run(&state, &method, params, extras.id).await,
        }
    })
}

async fn run(
    state: &Arc<ClientState>,
    method: &str,
    params: Option<Vec<u8>>,
    sent: Option<SentId>,
) -> Result<Answer, CallError> {
    let mut may_repeat = is_repeatable(method);
    loop {
        let session = current_session(state, sent.as_ref()).await?;
        let done = attempt(state, &session, method, params.as_deref(), sent.as_ref()).await;
        match done.and_then(|answer| check_session(answer, &session)) {
            Ok(answer) => {
                if answer.is_ok() {
                    session.set_answered();
                    let params = params.as_deref().unwrap_or_default();
                    state.sessions.replay.record(method, params);
                }
                state.resume_listening();
                return Ok(answer);
            }
            Err(CallFailure::Final(error)) => return Err(error),
            Err(CallFailure::SessionLost { seen }) => {
                state.session_lost(&session);
                current_session(state, sent.as_ref()).await?;
                if !may_repeat {
                    return Err(failed(session_lost_error(state, method, seen)));
                }
            }
            Err(CallFailure::ResponseLost(error)) => {
                if !may_repeat {
                    return Err(failed(may_have_run(error, method)));
                }
                tracing::debug!(%error, method, "the response is lost; repeating the request");
            }
            Err(CallFailure::Unreachable(error)) => return Err(failed(error)),
            Err(CallFailure::Unavailable(wait, error)) => match wait {
                Some(wait) if may_repeat && wait <= state.options.retry_after => {
                    state.until_closed(sleep(wait)).await?;
                }
                _ => return Err(failed(error)),
            },
        }
        may_repeat = false;
    }
}

/// Waits for a session. If the caller stops waiting, stores in `sent` the reason why there is no session.
async fn current_session(
    state: &Arc<ClientState>,
    sent: Option<&SentId>,
) -> Result<Arc<Session>, CallError> {
    let mut waiting = SessionWait { state, sent };
    let session = state.until_closed(state.sessions.current()).await?;
    waiting.sent = None;
    Ok(session)
}

/// A guard for a caller that waits for a session. If the guard is dropped early, it stores the reason why there is no session,
/// for the caller's error.
struct SessionWait<'a> {
    state: &'a ClientState,
    sent: Option<&'a SentId>,
}

impl Drop for SessionWait<'_> {
    fn drop(&mut self) {
        if let Some(sent) = self.sent {
            sent.set_problem(self.state.sessions.problem());
        }
    }
}

/// Returns a failure if `answer` is an error that reports a lost session. Some servers report a lost session in the response to a
/// call, and not with an HTTP status.
fn check_session(answer: Answer, session: &Session) -> Result<Answer, CallFailure> {
    match &answer {
        Err(ErrorObject { code, message, .. })
            if matches!(code.0, -32000 | -32001)
                && session.id.is_some()
                && session.has_worked()
                && reports_lost_session(message) =>
        {
            Err(CallFailure::SessionLost { seen: false })
        }
        _ => Ok(answer),
    }
}

fn session_lost_error(state: &ClientState, method: &str, seen: bool) -> TransportError {
    let endpoint = &state.http.endpoint;
    let text = format!(
        "{endpoint} had lost the session; a new session is open; {method} was not repeated"
    );
    let error = match seen {
        true => TransportError::new(text + ", it may have run").as_possibly_executed(),
        false => TransportError::new(text + ", call again").as_session_replaced(),
    };
    error.as_temporary()
}
