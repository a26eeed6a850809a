//! Opening a session.
//!
//! Specification: [session management](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management).

use std::sync::Arc;

use mcp_jsonrpc::{RequestId, write_request};
use mcp_protocol::{Answer, CallError, TransportError};
use mcp_types::method;

use super::answer::{Asked, Failure, failed};
use super::call::Pending;
use super::core::Core;
use super::session::{Facts, session_id};

/// The first session of a connection, for whoever calls `initialize`.
pub(super) async fn first(core: &Arc<Core>, params: Option<Vec<u8>>) -> Result<Answer, CallError> {
    let mut may_repeat = true;
    loop {
        let error = match open(core, params.as_deref()).await {
            Ok((answer, facts)) => {
                if answer.is_ok() {
                    core.session.opened_with(params.as_deref());
                    core.session.open(facts);
                }
                return Ok(answer);
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

/// Sends `initialize` outside any session, and waits for the answer and the session it opens.
///
/// This is the one place where a session begins. The fallback to the transport of 2024-11-05
/// belongs here: a server of that age refuses the message with 400, 404 or 405.
pub(super) async fn open(
    core: &Arc<Core>,
    params: Option<&[u8]>,
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
        if response.status().is_success() {
            let id = session_id(response.headers(), core.options.session_id_bytes);
            opened = Arc::new(Facts {
                generation: core.session.next_generation(),
                id: id.map_err(Failure::failed)?,
            });
        }
        let asked = Asked {
            core,
            facts: &opened,
            method: method::INITIALIZE,
            id,
        };
        asked.read(response).await
    };
    let answer = pending.answered_by(exchange).await?;
    Ok((answer, opened))
}
