//! The part of a stream that changes. A lock protects it.

use std::task::{Context, Waker};

use super::queue::Queue;

/// The state of an open stream.
#[derive(Default)]
pub(super) struct StreamState {
    pub(super) number: u32,
    pub(super) started: bool,
    /// Whether the stream has ended. No event follows.
    pub(super) finished: bool,
    /// Whether an important message was lost, because the queue was full and events are not stored. The connection then ends
    /// after the queued events, so that the client notices the loss.
    pub(super) has_gap: bool,
    /// The sequence number of the last event of the stream.
    pub(super) sequence: u64,
    /// The sequence number of the last event that a connection has taken.
    pub(super) taken: u64,
    /// The number of the connection that carries the stream.
    pub(super) reader: u64,
    pub(super) queue: Option<Queue>,
    pub(super) waker: Option<Waker>,
}

impl StreamState {
    /// Registers the task of `cx`. It is woken at the next change.
    pub(super) fn wait(&mut self, cx: &Context<'_>) {
        match &mut self.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.waker = Some(cx.waker().clone()),
        }
    }

    pub(super) fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}
