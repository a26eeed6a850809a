//! Messages that wait to be sent, one after the other.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::client::session::current::Session;
use crate::sync::lock;
use bytes::Bytes;
use mcp_protocol::Delivery;
use tokio::sync::watch;

/// A queue in order. Whoever sends what is in it counts how far that has come.
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
    /// A task is at work on it.
    sending: bool,
}

/// One message to deliver.
pub(crate) struct QueuedMessage {
    pub(crate) message: Bytes,
    /// The session it belongs to; `None` for whichever is open.
    pub(crate) session: Option<Arc<Session>>,
    /// It says that the handshake is complete.
    pub(crate) opens: bool,
}

impl Outbox {
    /// A queue that drops what can be dropped from `limit` bytes on, and everything from twice as
    /// many.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
            sent: watch::Sender::new(0),
        }
    }

    /// Queues a message; `true` if somebody has to start sending.
    pub(crate) fn push(&self, note: QueuedMessage, delivery: Delivery) -> bool {
        let mut state = lock(&self.state);
        let limit = match delivery {
            Delivery::Lossy => self.limit,
            _ => self.limit.saturating_mul(2),
        };
        if state.bytes >= limit {
            if delivery == Delivery::Lossy {
                tracing::trace!("dropped a notification, the server does not accept them");
            } else {
                tracing::warn!(
                    limit,
                    "dropped a notification that matters, the server does not accept them; \
                     twice MuxLimits::queue_bytes are waiting"
                );
            }
            return false;
        }
        state.bytes += note.message.len();
        state.pushed += 1;
        state.queue.push_back(note);
        !std::mem::replace(&mut state.sending, true)
    }

    /// The next message; `None` if there is none, and whoever asked is done.
    pub(crate) fn next(&self) -> Option<QueuedMessage> {
        let mut state = lock(&self.state);
        let note = state.queue.pop_front();
        match &note {
            Some(note) => state.bytes -= note.message.len(),
            None => state.sending = false,
        }
        note
    }

    /// The message that [`next`](Self::next) gave was accepted, or was given up.
    pub(crate) fn mark_sent(&self) {
        self.sent.send_modify(|sent| *sent += 1);
    }

    /// What was queued so far, for [`sent_up_to`](Self::sent_up_to).
    pub(crate) fn position(&self) -> u64 {
        lock(&self.state).pushed
    }

    /// Completes when everything up to a position was sent. Cancel safe.
    pub(crate) async fn sent_up_to(&self, position: u64) {
        if *self.sent.borrow() < position {
            let _ = self.sent.subscribe().wait_for(|it| *it >= position).await;
        }
    }

    /// Completes when everything queued so far was sent. Cancel safe.
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
            opens: false,
        }
    }

    #[test]
    fn lossy_messages_give_way_first() {
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
