//! The requests that run, each with its place among all that may.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mcp_protocol::{Closed, Exchange, Service};

use crate::permit::Permit;
use crate::server::options::Options;
use crate::server::session::{HttpSession, shared};
use crate::sync::lock;

/// What serves these requests, all of them.
pub(crate) struct Modern {
    /// One for everybody: it keeps nothing of any request.
    pub(crate) session: Arc<HttpSession>,
    pub(crate) live: Arc<Live>,
}

impl Modern {
    pub(crate) fn new(service: &Arc<dyn Service>, options: &Arc<Options>) -> Self {
        Self {
            session: shared(service, options, None),
            live: Arc::default(),
        }
    }

    /// Ends what still runs.
    pub(crate) fn close(&self, reason: &Closed) {
        self.session.close(reason);
        self.live.cancel_all();
    }
}

/// The requests that wait for something. They come from anybody, so their ids say nothing; as
/// many as there are slots.
#[derive(Default)]
pub(crate) struct Live {
    next: AtomicU64,
    running: Mutex<HashMap<u64, (Exchange, Permit)>>,
}

impl Live {
    pub(crate) fn enter(self: &Arc<Self>, exchange: &Exchange, slot: Permit) -> Seat {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.running).insert(number, (exchange.clone(), slot));
        Seat {
            live: Arc::clone(self),
            number,
        }
    }

    fn leave(&self, number: u64) {
        let left = lock(&self.running).remove(&number);
        if let Some((exchange, _slot)) = left {
            exchange.cancel();
        }
    }

    pub(crate) fn cancel_all(&self) {
        // The list is taken first: who is woken may look at it.
        let running = std::mem::take(&mut *lock(&self.running));
        for (exchange, _slot) in running.into_values() {
            exchange.cancel();
        }
    }
}

/// Keeps a request running; the first to let go of it cancels it, unless it was answered, and
/// gives its slot back.
pub(crate) struct Seat {
    live: Arc<Live>,
    number: u64,
}

impl Seat {
    /// The same, for another who may end it.
    pub(crate) fn share(&self) -> Self {
        Self {
            live: Arc::clone(&self.live),
            number: self.number,
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.live.leave(self.number);
    }
}
