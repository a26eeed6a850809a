//! Messages to the server that are answered with a status only, notifications and responses: their
//! queue and their delivery, one after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use mcp_protocol::{Delivery, TransportError};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::client::call::refusal::Refusal;
use crate::client::session::current::Session;
use crate::client::state::ClientState;
use crate::client::wire::connection::{RequestKind, SendError};
use crate::http_service::ResponseBody;
use crate::sync::lock;

/// How many bytes of an unused body are read, and for how long, so that the connection can be used
/// again.
const DRAIN_BYTES: usize = 64 << 10;
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// A queue of outgoing messages. The sending task counts the messages that it has sent.
pub(crate) struct Outbox {
    limit: usize,
    state: Mutex<State>,
    sent: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<QueuedMessage>,
    bytes: usize,
    pushed: u64,
    sending: bool,
}

pub(crate) struct QueuedMessage {
    pub(crate) message: Bytes,
    /// The session of the message, or `None` for the current one.
    pub(crate) session: Option<Arc<Session>>,
    /// Whether the message is `notifications/initialized`.
    pub(crate) is_initialized: bool,
}

impl Outbox {
    /// Creates a queue that drops lossy messages above `limit` bytes, and all messages above twice
    /// that.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
            sent: watch::Sender::new(0),
        }
    }

    /// Queues a message. Returns `true` if the caller has to start the sending task.
    pub(crate) fn push(&self, note: QueuedMessage, delivery: Delivery) -> bool {
        let mut state = lock(&self.state);
        let limit = match delivery {
            Delivery::Lossy => self.limit,
            _ => self.limit.saturating_mul(2),
        };
        if state.bytes >= limit {
            if delivery == Delivery::Lossy {
                tracing::trace!("dropped a lossy notification: the queue is full");
            } else {
                tracing::warn!(
                    limit,
                    "dropped a notification: the server does not accept messages, and twice \
                     MuxLimits::queue_bytes are queued"
                );
            }
            return false;
        }
        state.bytes += note.message.len();
        state.pushed += 1;
        state.queue.push_back(note);
        !std::mem::replace(&mut state.sending, true)
    }

    /// Returns the next message, or `None` if the queue is empty and the sending task ends.
    pub(crate) fn next(&self) -> Option<QueuedMessage> {
        let mut state = lock(&self.state);
        let note = state.queue.pop_front();
        match &note {
            Some(note) => state.bytes -= note.message.len(),
            None => state.sending = false,
        }
        note
    }

    /// Counts the message returned by [`next`](Self::next) as sent or given up.
    pub(crate) fn mark_sent(&self) {
        self.sent.send_modify(|sent| *sent += 1);
    }

    /// Returns the number of messages queued so far, for [`sent_up_to`](Self::sent_up_to).
    pub(crate) fn position(&self) -> u64 {
        lock(&self.state).pushed
    }

    /// Completes when all messages up to a position are sent. Cancel safe.
    pub(crate) async fn sent_up_to(&self, position: u64) {
        if *self.sent.borrow() < position {
            let _ = self.sent.subscribe().wait_for(|it| *it >= position).await;
        }
    }

    /// Completes when all messages queued so far are sent. Cancel safe.
    pub(crate) async fn sent(&self) {
        self.sent_up_to(self.position()).await;
    }
}

/// Why a message was not accepted.
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
    // One retry in a new session. The next message handles a session that is lost again.
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
                // Opening a session sends `notifications/initialized` itself, and messages of the
                // lost session are useless in the next.
                if note.is_initialized || note.session.is_some() {
                    return;
                }
            }
        }
    }
    tracing::warn!("a notification was not delivered: the server lost the session twice");
}

/// Starts listening and waits until the GET stream is open, up to `listen_wait`. Some servers send
/// requests on that stream and lose them while it is not open.
async fn wait_for_listening(state: &Arc<ClientState>) {
    if state.options.listen {
        state.start_listening();
        let _ = timeout(state.options.listen_wait, state.listening.answered()).await;
    }
}

/// Sends a message within a session and waits until the server has accepted it. An interrupted
/// delivery is repeated once, which is safe for the messages sent here.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn note(bytes: usize) -> QueuedMessage {
        QueuedMessage {
            message: vec![b'x'; bytes].into(),
            session: None,
            is_initialized: false,
        }
    }

    #[test]
    fn lossy_messages_are_dropped_first() {
        let outbox = Outbox::new(10);
        assert!(outbox.push(note(10), Delivery::Lossy));
        outbox.push(note(5), Delivery::Lossy);
        assert_eq!(outbox.position(), 1);
        outbox.push(note(10), Delivery::Always);
        outbox.push(note(1), Delivery::Always);
        assert_eq!(outbox.position(), 2);
    }

    #[test]
    fn one_sender_is_started_at_a_time() {
        let outbox = Outbox::new(10);
        assert!(outbox.push(note(1), Delivery::Always));
        assert!(!outbox.push(note(1), Delivery::Always));
        assert!(outbox.next().is_some());
        assert!(outbox.next().is_some());
        assert!(!outbox.push(note(1), Delivery::Always));
        assert!(outbox.next().is_some());
        assert!(outbox.next().is_none());
        assert!(outbox.push(note(1), Delivery::Always));
    }
}
