//! The queue of messages that have no JSON-RPC response: notifications, and responses to server requests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use mcp_protocol::Delivery;
use tokio::sync::watch;

use crate::client::session::current::Session;
use crate::sync::lock;

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
    /// The session in which the message is sent. `None` means the current session.
    pub(crate) session: Option<Arc<Session>>,
    /// Whether the message is `notifications/initialized`.
    pub(crate) is_initialized: bool,
}

impl Outbox {
    /// Creates a queue. If the queued messages have `limit` bytes or more, further messages with [`Delivery::Lossy`] are dropped.
    /// If they have twice this number of bytes or more, all further messages are dropped.
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
                tracing::trace!(
                    "dropped a notification that may be lost, because the queue has reached MuxLimits::queue_bytes"
                );
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

    /// Returns the total size of the queued messages, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.state).bytes
    }

    /// Returns the next message. Returns `None` if the queue is empty. The sending task then ends.
    pub(crate) fn next(&self) -> Option<QueuedMessage> {
        let mut state = lock(&self.state);
        let note = state.queue.pop_front();
        match &note {
            Some(note) => state.bytes -= note.message.len(),
            None => state.sending = false,
        }
        note
    }

    /// Records that the message from [`next`](Self::next) was sent or given up.
    pub(crate) fn mark_sent(&self) {
        self.sent.send_modify(|sent| *sent += 1);
    }

    /// Returns the number of messages that were queued so far. Pass it to [`sent_up_to`](Self::sent_up_to).
    pub(crate) fn position(&self) -> u64 {
        lock(&self.state).pushed
    }

    /// Waits until all messages up to `position` are sent. Cancel safe.
    pub(crate) async fn sent_up_to(&self, position: u64) {
        if *self.sent.borrow() < position {
            let _ = self.sent.subscribe().wait_for(|it| *it >= position).await;
        }
    }

    /// Waits until all messages that were queued so far are sent. Cancel safe.
    pub(crate) async fn sent(&self) {
        self.sent_up_to(self.position()).await;
    }
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
    fn a_full_outbox_drops_lossy_messages_first() {
        let outbox = Outbox::new(10);
        assert!(outbox.push(note(10), Delivery::Lossy));
        outbox.push(note(5), Delivery::Lossy);
        assert_eq!(outbox.position(), 1);
        outbox.push(note(10), Delivery::Always);
        outbox.push(note(1), Delivery::Always);
        assert_eq!(outbox.position(), 2);
    }

    #[test]
    fn an_outbox_starts_only_one_sending_task_at_a_time() {
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
