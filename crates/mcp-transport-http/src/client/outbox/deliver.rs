//! Messages that are answered with no more than a status: notifications and answers.

use std::sync::Arc;
use std::time::Duration;

use crate::client::call::refusal::Refusal;
use crate::client::outbox::queue::{Outbox, QueuedMessage};
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::body::ResponseBody;
use crate::client::wire::connection::SendError;
use bytes::Bytes;
use mcp_protocol::{Delivery, TransportError};
use tokio::time::{sleep, timeout};

/// How much of a body that nobody wants is read for the sake of the connection, and how long.
const DRAIN_BYTES: usize = 64 << 10;
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Why a message was not accepted.
pub(crate) enum DeliveryError {
    /// The server does not know the session.
    SessionLost,
    Failed(TransportError),
}

/// Queues a message, and starts a task to send it if none is at work.
pub(crate) fn enqueue(
    state: &Arc<ClientState>,
    outbox: fn(&ClientState) -> &Outbox,
    note: QueuedMessage,
    delivery: Delivery,
) {
    if outbox(state).push(note, delivery) {
        let shared = Arc::clone(state);
        state.tasks.spawn(async move {
            while let Some(note) = outbox(&shared).next() {
                send(&shared, note).await;
                outbox(&shared).mark_sent();
            }
        });
    }
}

async fn send(state: &Arc<ClientState>, note: QueuedMessage) {
    // At most one more session: the next message finds out about the one after that.
    for _ in 0..2 {
        let session = match &note.session {
            Some(session) => Arc::clone(session),
            None => state.sessions.current().await,
        };
        match deliver(state, &session, note.message.clone()).await {
            Ok(()) => {
                if note.opens {
                    wait_for_listening(state).await;
                }
                return;
            }
            Err(DeliveryError::Failed(error)) => {
                tracing::warn!(%error, "a notification was not delivered");
                return;
            }
            Err(DeliveryError::SessionLost) => {
                state.session_lost(&session);
                // Handshake a session says `initialized` by itself, and what belonged to the lost
                // one is of no use to the next.
                if note.opens || note.session.is_some() {
                    return;
                }
            }
        }
    }
    tracing::warn!("a notification was not delivered, the server forgot the session twice");
}

/// Starts listening, and gives that a lead: a server that asks outside the call it works on loses
/// the question if nobody listens yet.
async fn wait_for_listening(state: &Arc<ClientState>) {
    if state.options.listen {
        state.start_listening();
        let _ = timeout(state.options.listen_wait, state.listening.answered()).await;
    }
}

/// Sends a message within a session and waits until it is accepted. What breaks on the way is
/// sent once more: nothing here does harm if it arrives twice.
pub(crate) async fn deliver(
    state: &ClientState,
    session: &Session,
    message: Bytes,
) -> Result<(), DeliveryError> {
    let limit = state.options.delivery_timeout;
    let attempt = async {
        match once(state, session, message.clone()).await {
            Err(SendError::Unreachable(error) | SendError::Interrupted(error)) => {
                tracing::debug!(%error, "sending a message once more");
                sleep(state.options.reconnect.delay(0)).await;
                once(state, session, message).await
            }
            done => done,
        }
    };
    match timeout(limit, attempt).await {
        Ok(Ok(done)) => done,
        Ok(Err(broken)) => Err(DeliveryError::Failed(broken.into_error())),
        Err(_) => Err(DeliveryError::Failed(TransportError::new(format!(
            "{} did not accept a message within {} s, the limit of \
             ClientOptions::with_delivery_timeout",
            state.http.endpoint,
            limit.as_secs_f64()
        )))),
    }
}

async fn once(
    state: &ClientState,
    session: &Session,
    message: Bytes,
) -> Result<Result<(), DeliveryError>, SendError> {
    let response = state.post(session, message).await?;
    if response.status().is_success() {
        drain(response.into_body()).await;
        return Ok(Ok(()));
    }
    let refusal = Refusal::read(state, response).await;
    if refusal.is_session_lost(session) {
        return Ok(Err(DeliveryError::SessionLost));
    }
    let error = refusal.error(state, session, "a message");
    Ok(Err(DeliveryError::Failed(error)))
}

/// Reads a body to its end, if that is near: the connection can be used again then.
async fn drain(mut body: ResponseBody) {
    let read = async {
        let mut read = 0;
        while let Some(Ok(data)) = body.data().await {
            read += data.len();
            if read > DRAIN_BYTES {
                return;
            }
        }
    };
    let _ = timeout(DRAIN_TIME, read).await;
}
