//! The output queue of a pipe. It is one buffer of whole frames, and each frame ends with a newline. The responses to a batch are
//! collected into one frame (2025-03-26 only).

use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Waker};

use crate::Kept;
use crate::sync::lock;

/// Maximum capacity of an empty buffer that is kept, in bytes. A larger buffer is freed.
const KEEP: usize = 256 << 10;

pub(super) struct Outbox {
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    bytes: Vec<u8>,
    /// Number of bytes that the writer has taken and has not written yet.
    writing: usize,
    /// The values that are dropped when their frames are written. `None` until a frame has such a value.
    kept: Option<Box<KeptValues>>,
    closed: bool,
    writer: Option<Waker>,
    waiting: Vec<Waker>,
}

#[derive(Default)]
struct KeptValues {
    queued: Vec<Kept>,
    writing: Vec<Kept>,
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
        self.append(write, false, None);
    }

    /// Appends one frame as [`push`](Self::push) does, and keeps a value until the frame is written.
    pub(super) fn push_keeping(&self, kept: Option<Kept>, write: impl FnOnce(&mut Vec<u8>)) {
        self.append(write, false, kept);
    }

    /// Appends one frame that contains no line breaks.
    pub(super) fn push_line(&self, write: impl FnOnce(&mut Vec<u8>)) {
        self.append(write, true, None);
    }

    fn append(&self, write: impl FnOnce(&mut Vec<u8>), is_line: bool, kept: Option<Kept>) {
        let mut state = lock(&self.state);
        if state.closed {
            return;
        }
        if let Some(kept) = kept {
            let values = state.kept.get_or_insert_default();
            values.queued.push(kept);
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
        lock(&self.state).bytes.len() >= self.limit
    }

    /// Returns the number of bytes that are not yet written.
    pub(super) fn bytes(&self) -> usize {
        let state = lock(&self.state);
        state.bytes.len() + state.writing
    }

    /// Waits until the queue has capacity for a new request.
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
        if spare.capacity() > KEEP {
            *spare = Vec::new();
        }
        let mut state = lock(&self.state);
        state.writing = state.bytes.len();
        if let Some(kept) = &mut state.kept {
            kept.writing = std::mem::take(&mut kept.queued);
        }
        if state.bytes.is_empty() {
            if state.closed {
                return Poll::Ready(false);
            }
            state.writer = Some(cx.waker().clone());
            return Poll::Pending;
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

/// The responses of one batch. All requests of the batch share this value. When the last request drops it, the responses are
/// queued as one array.
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn a_kept_value_is_dropped_when_its_frame_is_written() {
        let outbox = Outbox::new(16);
        let kept = Arc::new(());
        let cx = Context::from_waker(Waker::noop());
        let mut taken = Vec::new();
        outbox.push_keeping(Some(Box::new(Arc::clone(&kept))), |out| {
            out.extend_from_slice(b"1");
        });
        assert!(outbox.poll_take(&cx, &mut taken).is_ready());
        assert_eq!((outbox.bytes(), Arc::strong_count(&kept)), (2, 2));
        taken.clear();
        assert!(outbox.poll_take(&cx, &mut taken).is_pending());
        assert_eq!((outbox.bytes(), Arc::strong_count(&kept)), (0, 1));
        outbox.push_keeping(Some(Box::new(Arc::clone(&kept))), |_| ());
        drop(outbox);
        assert_eq!(Arc::strong_count(&kept), 1);
    }

    #[test]
    fn a_large_buffer_is_freed_after_it_was_written() {
        let outbox = Outbox::new(16);
        let cx = Context::from_waker(Waker::noop());
        let mut taken = Vec::new();
        outbox.push(|out| out.resize(2 * KEEP, b'x'));
        assert!(outbox.poll_take(&cx, &mut taken).is_ready());
        taken.clear();
        assert!(outbox.poll_take(&cx, &mut taken).is_pending());
        assert!(taken.capacity() <= KEEP);
    }
}
