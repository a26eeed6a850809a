//! A new session in the permit of one the server has forgotten.
//!
//! Specification: [session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management), point 4.

use std::sync::Arc;

use crate::client::call::failure::CallFailure;
use crate::client::call::pending::attempt;
use crate::client::call::resume::ResumeState;
use crate::client::outbox::deliver::{DeliveryError, deliver};
use crate::client::session::current::Session;
use crate::client::session::initialize;
use crate::client::state::ClientState;
use crate::client::wire::service::quoted;
use mcp_jsonrpc::{RawJson, write_notification};
use mcp_protocol::{CallError, Closed};
use mcp_types::{InitializeResult, method};
use tokio::time::{sleep, timeout};

/// Opens a new session each time the server has forgotten the current one. Runs until the
/// connection ends.
pub(crate) async fn run(state: Arc<ClientState>) {
    loop {
        state.sessions.wait_lost().await;
        let limit = state.options.renewal_timeout;
        let problem = match timeout(limit, keep_trying(&state)).await {
            Ok(Ok(session)) => {
                state.sessions.open(session);
                state.start_listening();
                continue;
            }
            Ok(Err(problem)) => problem,
            Err(_) => format!(
                "it took longer than {} s, the limit of ClientOptions::with_reinitialize_timeout",
                limit.as_secs_f64()
            ),
        };
        return state.close(Closed::protocol(format!(
            "{} forgot the session, and no new one can be opened: {problem}",
            state.http.endpoint
        )));
    }
}

/// Why a try to open a session failed.
enum ReinitializeError {
    /// The next try may succeed.
    Passing(String),
    Final(String),
}

async fn keep_trying(state: &Arc<ClientState>) -> Result<Arc<Session>, String> {
    let mut resume = ResumeState::of_connection(&state.options.reconnect);
    loop {
        let problem = match begin(state).await {
            Ok(session) => return Ok(session),
            Err(ReinitializeError::Final(problem)) => return Err(problem),
            Err(ReinitializeError::Passing(problem)) => problem,
        };
        let Some(wait) = resume.next_wait() else {
            return Err(problem);
        };
        tracing::debug!(problem, ?wait, "no new session yet");
        sleep(wait).await;
    }
}

/// Opens a session as the first one was, and restores what the server was to remember.
async fn begin(state: &Arc<ClientState>) -> Result<Arc<Session>, ReinitializeError> {
    let Some(params) = state.sessions.initialize_params() else {
        return Err(ReinitializeError::Final(
            "it was never opened by this client".to_owned(),
        ));
    };
    let (answer, session) = initialize::open(state, Some(&params))
        .await
        .map_err(problem)?;
    let result = answer.map_err(|error| {
        let said = quoted(&error.to_string());
        ReinitializeError::Final(format!("it refused initialize: {said}"))
    })?;
    state.sessions.set_next(&session);
    agrees(state, &result)?;

    let mut message = Vec::new();
    write_notification(&mut message, method::NOTIFICATIONS_INITIALIZED, None);
    match deliver(state, &session, message.into()).await {
        Ok(()) => {}
        Err(DeliveryError::Failed(error)) => {
            return Err(ReinitializeError::Passing(error.to_string()));
        }
        Err(DeliveryError::SessionLost) => return Err(forgotten_again()),
    }
    for (method, params) in state.sessions.replay.requests() {
        match attempt(state, &session, method, Some(&params)).await {
            Ok(Ok(_)) => {}
            Err(CallFailure::SessionLost { .. }) => return Err(forgotten_again()),
            Ok(Err(error)) => {
                let error = quoted(&error.to_string());
                tracing::warn!(method, error, "not restored in the new session");
            }
            Err(failure) => tracing::warn!(method, ?failure, "not restored in the new session"),
        }
    }
    Ok(session)
}

fn forgotten_again() -> ReinitializeError {
    ReinitializeError::Passing("the server forgot the new session too".to_owned())
}

/// Checks that the new session speaks the revision of the old one: everything that was decided
/// since depends on it.
fn agrees(state: &ClientState, result: &RawJson) -> Result<(), ReinitializeError> {
    let result: InitializeResult = result
        .decode()
        .map_err(|error| ReinitializeError::Final(format!("the answer does not fit: {error}")))?;
    let agreed = result.protocol_version;
    match state.sessions.revision() {
        Some(revision) if revision != agreed => Err(ReinitializeError::Final(format!(
            "the server now speaks revision {} instead of {revision}; connect again",
            quoted(&agreed)
        ))),
        _ => Ok(()),
    }
}

fn problem(failure: CallFailure) -> ReinitializeError {
    match failure {
        CallFailure::SessionLost { .. } => forgotten_again(),
        CallFailure::Unreachable(error)
        | CallFailure::ResponseLost(error)
        | CallFailure::Unavailable(_, error) => ReinitializeError::Passing(error.to_string()),
        // Calls that fail now make room.
        CallFailure::Final(error @ CallError::Busy { .. }) => {
            ReinitializeError::Passing(error.to_string())
        }
        CallFailure::Final(error) => ReinitializeError::Final(error.to_string()),
    }
}
