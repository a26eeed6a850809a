//! The delivery of messages that have no JSON-RPC response: notifications, and responses to server requests. They are sent one
//! after the other.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use mcp_protocol::{Delivery, TransportError};
use tokio::time::{sleep, timeout};

use crate::client::outbox::{Outbox, QueuedMessage};
use crate::client::refusal::Refusal;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::connection::{RequestKind, SendError};
use crate::http_service::ResponseBody;

/// Maximum number of bytes that are read from an unused body. The body is read so that the connection can be used again.
const DRAIN_BYTES: usize = 64 << 10;
/// Maximum time for reading an unused body.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// The reason why the server did not accept a message.
pub(crate) enum DeliveryError {
    /// The server does not know the session.
    SessionLost,
    Failed(TransportError),
}

/// Queues a message, and starts the sending task if it is not running.
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
    // One retry in a new session. If that session is lost too, the message is dropped.
    for _ in 0..2 {
        let session = match &note.session {
            Some(session) => Arc::clone(session),
            None => state.sessions.current().await,
        };
        match deliver(state, &session, note.message.clone()).await {
            Ok(()) => {
                if note.is_initialized {
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
                // Opening the new session sends another `notifications/initialized`. Other messages of the lost session
                // have no meaning in the new session.
                if note.is_initialized || note.session.is_some() {
                    return;
                }
            }
        }
    }
    tracing::warn!("a notification was not delivered: the server lost the session twice");
}

/// Starts listening on the GET stream. Waits until the first GET was answered or has failed, for at most `listen_wait`.
/// Some servers send requests on this stream, and lose these requests while the stream is not open.
async fn wait_for_listening(state: &Arc<ClientState>) {
    if state.options.listen {
        state.start_listening();
        let _ = timeout(state.options.listen_wait, state.listening.answered()).await;
    }
}

/// Sends a message within a session and waits until the server has accepted it. An interrupted delivery is repeated once. This is
/// safe, because notifications and responses can be delivered twice.
pub(crate) async fn deliver(
    state: &ClientState,
    session: &Session,
    message: Bytes,
) -> Result<(), DeliveryError> {
    let limit = state.options.delivery_timeout;
    let attempt = async {
        match once(state, session, message.clone()).await {
            Err(SendError::Unreachable(error) | SendError::Interrupted(error)) => {
                tracing::debug!(%error, "repeating the delivery of a message");
                sleep(state.options.reconnect.delay(0)).await;
                once(state, session, message).await
            }
            done => done,
        }
    };
    match timeout(limit, attempt).await {
        Ok(Ok(done)) => done,
        Ok(Err(broken)) => Err(DeliveryError::Failed(broken.into_error())),
        Err(_) => Err(DeliveryError::Failed(
            TransportError::new(format!(
                "{} did not accept a message within {} s, the limit of \
             ClientOptions::with_delivery_timeout",
                state.http.endpoint,
                limit.as_secs_f64()
            ))
            .as_temporary(),
        )),
    }
}

async fn once(
    state: &ClientState,
    session: &Session,
    message: Bytes,
) -> Result<Result<(), DeliveryError>, SendError> {
    let response = state.send(session, RequestKind::Post(message)).await?;
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

/// Reads a short body to its end, so that the connection can be used again.
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
