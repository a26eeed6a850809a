//! Handshake a session.
//!
//! Specification: [session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).

use std::sync::Arc;

use crate::client::call::failure::{CallFailure, failed};
use crate::client::call::pending::PendingRequest;
use crate::client::call::read::read;
use crate::client::call::response::ResponseContext;
use crate::client::session::current::{Session, session_id};
#[cfg(feature = "legacy")]
use crate::client::session::legacy;
use crate::client::state::ClientState;
use ::http::StatusCode;
use mcp_jsonrpc::{RequestId, write_request};
#[cfg(feature = "legacy")]
use mcp_protocol::Link as _;
use mcp_protocol::{Answer, CallError, TransportError};
use mcp_types::method;

/// The first session of a connection, for whoever calls `initialize`.
pub(crate) async fn first(
    state: &Arc<ClientState>,
    params: Option<Vec<u8>>,
) -> Result<Answer, CallError> {
    let mut may_repeat = true;
    loop {
        let mut status = None;
        let error = match attempt(state, params.as_deref(), &mut status).await {
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
            Err(CallFailure::Final(error)) => return Err(error),
            // A session that nobody uses ends by itself.
            Err(CallFailure::ResponseLost(error)) if may_repeat => {
                tracing::debug!(%error, "asking again for a session");
                may_repeat = false;
                continue;
            }
            Err(
                CallFailure::Unreachable(error)
                | CallFailure::ResponseLost(error)
                | CallFailure::Unavailable(_, error),
            ) => error,
            Err(CallFailure::SessionLost { .. }) => TransportError::new(format!(
                "{} forgot the session while it was being opened",
                state.http.endpoint
            )),
        };
        return Err(failed(error));
    }
}

/// A server that refused `initialize` may be of an age that had two endpoints. If it is not, its
/// refusal stands.
#[cfg(feature = "legacy")]
async fn connect_legacy(
    state: &Arc<ClientState>,
    params: Option<Vec<u8>>,
    refused: CallError,
) -> Result<Answer, CallError> {
    match legacy::connect(state).await {
        Ok(mux) => {
            tracing::debug!(endpoint = %state.http.endpoint, "the server is of 2024-11-05");
            let mux = state.legacy.get_or_init(|| mux);
            if let Some(reason) = state.closed() {
                mux.close(reason.clone());
            }
            mux.request(method::INITIALIZE, params).await
        }
        Err(error) => {
            tracing::debug!(%error, "the server is not of 2024-11-05 either");
            Err(refused)
        }
    }
}

/// Opens a session again.
pub(crate) async fn open(
    state: &Arc<ClientState>,
    params: Option<&[u8]>,
) -> Result<(Answer, Arc<Session>), CallFailure> {
    attempt(state, params, &mut None).await
}

/// Sends `initialize` outside any session, and waits for the answer and the session it opens.
/// Tells the status of the response, if there is one.
async fn attempt(
    state: &Arc<ClientState>,
    params: Option<&[u8]>,
    status: &mut Option<StatusCode>,
) -> Result<(Answer, Arc<Session>), CallFailure> {
    let nobody = Arc::default();
    let pending = PendingRequest::open(state, &nobody, method::INITIALIZE)?;
    let id = pending.id;
    let mut message = Vec::new();
    write_request(
        &mut message,
        &RequestId::Number(id),
        method::INITIALIZE,
        params,
    );
    let mut opened = Arc::clone(&nobody);
    let exchange = async {
        let response = state.post_initialize(message.into()).await?;
        *status = Some(response.status());
        if response.status().is_success() {
            let id = session_id(response.headers(), state.options.session_id_bytes);
            opened = Arc::new(Session {
                generation: state.sessions.next_generation(),
                id: id.map_err(CallFailure::failed)?,
                is_stateless: false,
            });
        }
        let context = ResponseContext {
            state,
            session: &opened,
            method: method::INITIALIZE,
            id,
        };
        read(&context, response).await
    };
    let answer = pending.answered_by(exchange).await?;
    Ok((answer, opened))
}
