//! Responses to a batch, collected into one array (2025-03-26 only).

use std::sync::{Arc, Mutex, Weak};

use super::outbox::Outbox;
use crate::sync::lock;

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
