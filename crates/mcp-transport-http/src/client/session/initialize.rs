//! Opening a session.
//!
//! Specification: [session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).

use std::sync::Arc;

use crate::client::call::failure::{Failure, failed};
use crate::client::call::pending::Pending;
use crate::client::call::read::read;
use crate::client::call::response::Asked;
use crate::client::session::current::{Facts, session_id};
#[cfg(feature = "legacy")]
use crate::client::session::legacy;
use crate::client::state::Core;
use ::http::StatusCode;
use mcp_jsonrpc::{RequestId, write_request};
#[cfg(feature = "legacy")]
use mcp_protocol::Link as _;
use mcp_protocol::{Answer, CallError, TransportError};
use mcp_types::method;

/// The first session of a connection, for whoever calls `initialize`.
pub(crate) async fn first(core: &Arc<Core>, params: Option<Vec<u8>>) -> Result<Answer, CallError> {
    let mut may_repeat = true;
    loop {
        let mut status = None;
        let error = match attempt(core, params.as_deref(), &mut status).await {
            Ok((answer, facts)) => {
                if answer.is_ok() {
                    core.session.opened_with(params.as_deref());
                    core.session.open(facts);
                }
                return Ok(answer);
            }
            #[cfg(feature = "legacy")]
            Err(Failure::Final(error)) if status.is_some_and(legacy::may_be_old) => {
                return older(core, params, error).await;
            }
            Err(Failure::Final(error)) => return Err(error),
            // A session that nobody uses ends by itself.
            Err(Failure::Lost(error)) if may_repeat => {
                tracing::debug!(%error, "asking again for a session");
                may_repeat = false;
                continue;
            }
            Err(Failure::Unreached(error) | Failure::Lost(error) | Failure::NotNow(_, error)) => {
                error
            }
            Err(Failure::SessionLost { .. }) => TransportError::new(format!(
                "{} forgot the session while it was being opened",
                core.wire.endpoint
            )),
        };
        return Err(failed(error));
    }
}

/// A server that refused `initialize` may be of an age that had two endpoints. If it is not, its
/// refusal stands.
#[cfg(feature = "legacy")]
async fn older(
    core: &Arc<Core>,
    params: Option<Vec<u8>>,
    refused: CallError,
) -> Result<Answer, CallError> {
    match legacy::connect(core).await {
        Ok(mux) => {
            tracing::debug!(endpoint = %core.wire.endpoint, "the server is of 2024-11-05");
            let mux = core.legacy.get_or_init(|| mux);
            if let Some(reason) = core.closed() {
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
    core: &Arc<Core>,
    params: Option<&[u8]>,
) -> Result<(Answer, Arc<Facts>), Failure> {
    attempt(core, params, &mut None).await
}

/// Sends `initialize` outside any session, and waits for the answer and the session it opens.
/// Tells the status of the response, if there is one.
async fn attempt(
    core: &Arc<Core>,
    params: Option<&[u8]>,
    status: &mut Option<StatusCode>,
) -> Result<(Answer, Arc<Facts>), Failure> {
    let nobody = Arc::default();
    let pending = Pending::open(core, &nobody, method::INITIALIZE)?;
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
        let response = core.post_opening(message.into()).await?;
        *status = Some(response.status());
        if response.status().is_success() {
            let id = session_id(response.headers(), core.options.session_id_bytes);
            opened = Arc::new(Facts {
                generation: core.session.next_generation(),
                id: id.map_err(Failure::failed)?,
                claims: false,
            });
        }
        let asked = Asked {
            core,
            facts: &opened,
            method: method::INITIALIZE,
            id,
        };
        read(&asked, response).await
    };
    let answer = pending.answered_by(exchange).await?;
    Ok((answer, opened))
}
