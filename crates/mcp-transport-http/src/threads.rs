//! Threads for handlers that block.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The threads for blocking handlers: how many are at work, and how many may be.
#[derive(Debug, Clone)]
pub(crate) struct Threads {
    busy: Arc<AtomicUsize>,
    pub(crate) limit: usize,
}

impl Threads {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            busy: Arc::default(),
            limit,
        }
    }

    /// One of them, given back on drop.
    pub(crate) fn take(&self) -> Option<Thread> {
        // It exists first, so that a refused one is given back by its `Drop`.
        let thread = Thread(Arc::clone(&self.busy));
        (self.busy.fetch_add(1, Ordering::AcqRel) < self.limit).then_some(thread)
    }
}

pub(crate) struct Thread(Arc<AtomicUsize>);

impl Drop for Thread {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
