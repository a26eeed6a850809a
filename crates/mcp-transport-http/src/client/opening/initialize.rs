//! Opening a session with `initialize`.
//!
//! Specification: [session
//! management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).

use std::sync::Arc;

use crate::client::call::failure::{CallFailure, ResponseContext};
use crate::client::call::pending::PendingRequest;
use crate::client::call::read::read;
#[cfg(feature = "legacy")]
use crate::client::opening::legacy;
use crate::client::session::current::{Session, session_id};
use crate::client::state::ClientState;
use ::http::StatusCode;
use mcp_protocol::{Answer, CallError};
#[cfg(feature = "legacy")]
use mcp_protocol::{Extras, Link as _};
use mcp_types::method;

/// Opens the first session of a connection.
pub(crate) async fn open_first(
    state: &Arc<ClientState>,
    params: Option<Vec<u8>>,
) -> Result<Answer, CallError> {
    let mut may_repeat = true;
    loop {
        let mut status = None;
        match attempt(state, params.as_deref(), &mut status).await {
            Ok((answer, session)) => {
                if answer.is_ok() {
                    state.sessions.set_initialize_params(params.as_deref());
                    state.sessions.open(session);
                }
                return Ok(answer);
            }
            #[cfg(feature = "legacy")]
            Err(CallFailure::Final(error)) if status.is_some_and(legacy::may_be_legacy) => {
                return connect_legacy(state, params, error).await;
            }
            // If the first attempt opened a session, the session expires at the server, because it is never used.
            Err(CallFailure::ResponseLost(error)) if may_repeat => {
                tracing::debug!(%error, "sending initialize again, because the response was lost");
                may_repeat = false;
            }
            Err(failure) => {
                return Err(failure.into_error(format!(
                    "the server at {} ended the session during initialization",
                    state.http.endpoint
                )));
            }
        }
    }
}

/// Tries the HTTP+SSE transport of 2024-11-05, after the server has refused `initialize`. If this attempt also fails, returns the
/// error `refused`.
#[cfg(feature = "legacy")]
async fn connect_legacy(
    state: &Arc<ClientState>,
    params: Option<Vec<u8>>,
    refused: CallError,
) -> Result<Answer, CallError> {
    match legacy::connect(state).await {
        Ok(mux) => {
            tracing::debug!(endpoint = %state.http.endpoint, "the server uses the HTTP+SSE \
             transport of 2024-11-05");
            let mux = state.legacy.get_or_init(|| mux);
            if let Some(reason) = state.closed() {
                mux.close(reason.clone());
            }
            mux.request_with(method::INITIALIZE.into(), params, Extras::default())
                .await
        }
        Err(error) => {
            tracing::debug!(%error, "the server does not support the HTTP+SSE transport of \
             2024-11-05 either");
            Err(refused)
        }
    }
}

/// Sends `initialize`. Returns the response and the new session. Stores the HTTP status of the response in `status`.
pub(crate) async fn attempt(
    state: &Arc<ClientState>,
    params: Option<&[u8]>,
    status: &mut Option<StatusCode>,
) -> Result<(Answer, Arc<Session>), CallFailure> {
    let no_session = Arc::default();
    let pending = PendingRequest::open(state, &no_session, method::INITIALIZE, None)?;
    let unopened = pending.context;
    let message = unopened.message(params);
    let mut opened = Arc::clone(&no_session);
    let exchange = async {
        let response = state.post_without_session(message).await?;
        *status = Some(response.status());
        if response.status().is_success() {
            let id = session_id(response.headers(), state.options.session_id_bytes);
            let id = id.map_err(CallFailure::failed)?;
            opened = Arc::new(Session::new(state.sessions.next_generation(), id));
        }
        let context = ResponseContext {
            session: &opened,
            ..unopened
        };
        read(&context, response).await
    };
    let answer = pending.answered_by(exchange).await?;
    Ok((answer, opened))
}
