//! Opening a new session after the server has lost the old session.
//!
//! Specification: [session
//! management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management),
//! point 4.

use std::sync::Arc;

use crate::client::call::failure::CallFailure;
use crate::client::call::pending::attempt;
use crate::client::deliver::{DeliveryError, deliver};
use crate::client::opening::initialize;
use crate::client::resume::ResumeState;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::MAX_QUOTED;
use mcp_jsonrpc::{RawJson, quote, write_notification};
use mcp_protocol::{CallError, Closed};
use mcp_types::{InitializeResult, method};
use tokio::time::{sleep, timeout};

/// Opens a new session each time the current session is lost. Runs until the connection ends.
///
/// Each session costs the server memory. If several consecutive sessions are lost before they [have worked](Session::has_worked),
/// the delay before the next session increases. At the maximum number of reconnects, the connection ends.
pub(crate) async fn run(state: Arc<ClientState>) {
    let reconnect = &state.options.reconnect;
    let mut losses = 0;
    loop {
        let lost = state.sessions.wait_lost().await;
        losses = if lost.has_worked() { 0 } else { losses + 1 };
        if losses > reconnect.attempts {
            return state.close(Closed::protocol(format!(
                "{} lost {losses} sessions in a row, and answered no call in any of them; the server, \
                 or a proxy in front of it, does not keep sessions",
                state.http.endpoint
            )));
        }
        state.sessions.set_problem(match losses {
            0 | 1 => "the server has lost the session, and no new session is open yet".to_owned(),
            _ => format!("the server has lost {losses} sessions in a row"),
        });
        if losses > 1 {
            sleep(reconnect.delay(losses - 2)).await;
        }
        let limit = state.options.renewal_timeout;
        let problem = match timeout(limit, open_with_retries(&state)).await {
            Ok(Ok(session)) => {
                state.sessions.open(session);
                state.start_listening();
                continue;
            }
            Ok(Err(problem)) => problem,
            Err(_) => format!(
                "opening a new session took longer than {} s, the limit of ClientOptions::with_reinitialize_timeout",
                limit.as_secs_f64()
            ),
        };
        return state.close(Closed::protocol(format!(
            "{} lost the session, and no new session can be opened: {problem}",
            state.http.endpoint
        )));
    }
}

/// The reason why a session could not be opened.
enum ReinitializeError {
    /// The attempt failed, but the next attempt may succeed.
    Retryable(String),
    Final(String),
}

async fn open_with_retries(state: &Arc<ClientState>) -> Result<Arc<Session>, String> {
    let mut resume = ResumeState::of_connection(&state.options.reconnect);
    loop {
        let problem = match open_session(state).await {
            Ok(session) => return Ok(session),
            Err(ReinitializeError::Final(problem)) => return Err(problem),
            Err(ReinitializeError::Retryable(problem)) => problem,
        };
        let Some(wait) = resume.next_wait() else {
            return Err(problem);
        };
        tracing::debug!(problem, ?wait, "could not open a new session; trying again");
        state.sessions.set_problem(format!(
            "the server has lost the session, and no new session can be opened: {problem}"
        ));
        sleep(wait).await;
    }
}

/// Opens a session that replaces the lost session. Restores the log level and the subscriptions of the lost session.
async fn open_session(state: &Arc<ClientState>) -> Result<Arc<Session>, ReinitializeError> {
    let Some(params) = state.sessions.initialize_params() else {
        return Err(ReinitializeError::Final(
            "this client never opened the lost session".to_owned(),
        ));
    };
    let (answer, session) = initialize::attempt(state, Some(&params), &mut None)
        .await
        .map_err(reinitialize_error)?;
    let result = answer.map_err(|error| {
        let error = error.to_string();
        let said = quote(&error, MAX_QUOTED);
        ReinitializeError::Final(format!("the server refused initialize: {said}"))
    })?;
    state.sessions.set_next(&session);
    check_revision(state, &result)?;

    let mut message = Vec::new();
    write_notification(&mut message, method::NOTIFICATIONS_INITIALIZED, None);
    match deliver(state, &session, message.into()).await {
        Ok(()) => {}
        Err(DeliveryError::Failed(error)) => {
            return Err(ReinitializeError::Retryable(error.to_string()));
        }
        Err(DeliveryError::SessionLost) => return Err(lost_again()),
    }
    for (method, params) in state.sessions.replay.requests() {
        match attempt(state, &session, method, Some(&params), None).await {
            Ok(Ok(_)) => {}
            Err(CallFailure::SessionLost { .. }) => return Err(lost_again()),
            Ok(Err(error)) => {
                let error = error.to_string();
                let error = quote(&error, MAX_QUOTED);
                tracing::warn!(
                    method,
                    %error,
                    "could not restore a request in the new session"
                );
            }
            Err(failure) => tracing::warn!(
                method,
                ?failure,
                "could not restore a request in the \
             new session"
            ),
        }
    }
    Ok(session)
}

fn lost_again() -> ReinitializeError {
    ReinitializeError::Retryable("the server lost the new session too".to_owned())
}

/// Checks that the new session has the same revision as the old session. Earlier decisions depend on the revision.
fn check_revision(state: &ClientState, result: &RawJson) -> Result<(), ReinitializeError> {
    let result: InitializeResult = result.decode().map_err(|error| {
        ReinitializeError::Final(format!(
            "the result of initialize does not \
         match the schema: {error}"
        ))
    })?;
    let agreed = result.protocol_version;
    match state.sessions.revision() {
        Some(revision) if revision != agreed => Err(ReinitializeError::Final(format!(
            "the server negotiated revision {} instead of {revision}; connect again",
            quote(&agreed, MAX_QUOTED)
        ))),
        _ => Ok(()),
    }
}

fn reinitialize_error(failure: CallFailure) -> ReinitializeError {
    match failure {
        CallFailure::SessionLost { .. } => lost_again(),
        CallFailure::Unreachable(error)
        | CallFailure::ResponseLost(error)
        | CallFailure::Unavailable(_, error) => ReinitializeError::Retryable(error.to_string()),
        // The maximum number of calls is reached. The calls of the lost session fail now, so the next attempt may succeed.
        CallFailure::Final(error @ CallError::Busy { .. }) => {
            ReinitializeError::Retryable(error.to_string())
        }
        CallFailure::Final(error) => ReinitializeError::Final(error.to_string()),
    }
}
