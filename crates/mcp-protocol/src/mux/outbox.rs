//! The output queue of a pipe: whole frames in one buffer, each terminated by a newline. The
//! responses to a batch are collected into one frame (2025-03-26 only).

use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use crate::sync::lock;

/// Empty buffers larger than this are freed.
const KEEP: usize = 256 << 10;

pub(super) struct Outbox {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    closed: bool,
    writer: Option<Waker>,
    waiting: Vec<Waker>,
}

impl Outbox {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            state: Mutex::default(),
        }
    }

    /// Appends one frame, written by `write`.
    pub(super) fn push(&self, write: impl FnOnce(&mut Vec<u8>)) {
        self.append(write, false);
    }

    /// Appends one frame that contains no line breaks.
    pub(super) fn push_line(&self, write: impl FnOnce(&mut Vec<u8>)) {
        self.append(write, true);
    }

    fn append(&self, write: impl FnOnce(&mut Vec<u8>), is_line: bool) {
        let mut state = lock(&self.state);
        if state.closed {
            return;
        }
        let start = state.bytes.len();
        write(&mut state.bytes);
        // Raw JSON may contain newlines as white space; inside strings they are always escaped.
        if !is_line && memchr::memchr2(b'\n', b'\r', &state.bytes[start..]).is_some() {
            for byte in &mut state.bytes[start..] {
                if matches!(*byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
        }
        state.bytes.push(b'\n');
        let writer = state.writer.take();
        drop(state);
        if let Some(writer) = writer {
            writer.wake();
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes() >= self.limit
    }

    pub(super) fn bytes(&self) -> usize {
        lock(&self.state).bytes.len()
    }

    /// Completes when there is room for a new request.
    pub(super) fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.closed || state.bytes.len() < self.limit {
            return Poll::Ready(());
        }
        if !state
            .waiting
            .iter()
            .any(|waker| waker.will_wake(cx.waker()))
        {
            state.waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }

    pub(super) fn poll_take(&self, cx: &Context<'_>, spare: &mut Vec<u8>) -> Poll<bool> {
        debug_assert!(
            spare.is_empty(),
            "spare must be empty: its bytes would be lost"
        );
        let mut state = lock(&self.state);
        if state.bytes.is_empty() {
            if state.closed {
                return Poll::Ready(false);
            }
            state.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        if spare.capacity() > KEEP {
            *spare = Vec::new();
        }
        std::mem::swap(&mut state.bytes, spare);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        Poll::Ready(true)
    }

    /// Rejects further frames. Queued frames can still be taken.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let writer = state.writer.take();
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().chain(writer).for_each(Waker::wake);
    }
}

/// The responses of one batch, shared by its requests. The array is queued when the last request
/// drops it.
pub(super) struct BatchState {
    outbox: Weak<Outbox>,
    answers: Mutex<Vec<u8>>,
}

impl BatchState {
    pub(super) fn new(outbox: &Arc<Outbox>) -> Arc<Self> {
        Arc::new(Self {
            outbox: Arc::downgrade(outbox),
            answers: Mutex::default(),
        })
    }

    /// Adds one response.
    pub(super) fn push(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut answers = lock(&self.answers);
        let separator = if answers.is_empty() { b'[' } else { b',' };
        answers.push(separator);
        write(&mut answers);
    }
}

impl Drop for BatchState {
    fn drop(&mut self) {
        let mut answers = std::mem::take(&mut *lock(&self.answers));
        if answers.is_empty() {
            return; // a batch of notifications has no response
        }
        answers.push(b']');
        if let Some(outbox) = self.outbox.upgrade() {
            outbox.push(|out| out.extend_from_slice(&answers));
        }
    }
}
