//! Answers to a batch, collected into one array (2025-03-26 only).

use std::sync::{Arc, Mutex, Weak};

use super::Mux;
use crate::lock;

/// Shared by the members of one batch; when the last lets go, the array is queued.
pub(super) struct BatchState {
    mux: Weak<Mux>,
    answers: Mutex<Vec<u8>>,
}

impl BatchState {
    pub(super) fn new(mux: &Arc<Mux>) -> Arc<Self> {
        Arc::new(Self {
            mux: Arc::downgrade(mux),
            answers: Mutex::default(),
        })
    }

    /// Adds one answer.
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
            return; // only notifications: nothing is answered
        }
        answers.push(b']');
        if let Some(mux) = self.mux.upgrade() {
            mux.outbox.push(|out| out.extend_from_slice(&answers));
        }
    }
}
