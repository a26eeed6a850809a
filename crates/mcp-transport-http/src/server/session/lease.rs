//! The additional state that a session has if its endpoint has a session store.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mcp_protocol::task::Timestamp;
use tokio::time::Instant;

use crate::server::session_store::SessionLease;
use crate::sync::lock;

/// The lease of a session, and the version of its state that was last stored.
pub(crate) struct StoredSession {
    pub(crate) lease: SessionLease,
    pub(crate) created: Timestamp,
    /// The secret number in the event ids under the first lease of the session.
    pub(crate) event_tag: u64,
    /// The age that the session had when this endpoint began to serve it.
    pub(crate) initial_age: Duration,
    /// The value of `Session::changes` when the state was last stored.
    pub(crate) saved: AtomicU64,
    /// A lock that is held while the state is written, so that an older state does not replace a newer state.
    pub(crate) saving: tokio::sync::Mutex<()>,
    /// The time at which the store last confirmed the lease.
    confirmed: Mutex<Instant>,
    is_released: AtomicBool,
}

impl StoredSession {
    pub(crate) fn new(
        lease: SessionLease,
        created: Timestamp,
        event_tag: u64,
        initial_age: Duration,
    ) -> Self {
        Self {
            lease,
            created,
            event_tag,
            initial_age,
            saved: AtomicU64::new(0),
            saving: tokio::sync::Mutex::new(()),
            confirmed: Mutex::new(Instant::now()),
            is_released: AtomicBool::new(false),
        }
    }

    /// Records that the store confirmed the lease.
    pub(crate) fn confirm(&self) {
        *lock(&self.confirmed) = Instant::now();
    }

    /// Returns the time since the store last confirmed the lease.
    pub(crate) fn unconfirmed(&self) -> Duration {
        lock(&self.confirmed).elapsed()
    }

    /// Records that another endpoint serves the session.
    pub(crate) fn release(&self) {
        self.is_released.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_released(&self) -> bool {
        self.is_released.load(Ordering::SeqCst)
    }
}
