//! Running requests of the stateless revision.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use mcp_protocol::{Closed, Exchange, Service};

use crate::permit::{Capacity, Permit};
use crate::server::options::ServerOptions;
use crate::server::session::HttpSession;
use crate::sync::lock;

/// Serves the requests of the stateless revision.
pub(crate) struct StatelessRequests {
    /// The session object for all requests of the stateless revision. It keeps no state between requests.
    pub(crate) session: Arc<HttpSession>,
    pub(crate) running: Arc<RunningRequests>,
}

impl StatelessRequests {
    pub(crate) fn new(
        service: &Arc<dyn Service>,
        options: &Arc<ServerOptions>,
        responses: &Capacity,
    ) -> Self {
        Self {
            session: HttpSession::without_id(service, options, responses, None),
            running: Arc::default(),
        }
    }

    /// Cancels the requests that are still running.
    pub(crate) fn close(&self, reason: &Closed) {
        self.session.close(reason);
        self.running.cancel_all();
    }
}

/// The running requests. They are listed here so that they can be cancelled at shutdown. Request ids are not used as keys,
/// because different clients may choose the same id. The permits limit the number of entries.
#[derive(Default)]
pub(crate) struct RunningRequests {
    next: AtomicU64,
    running: Mutex<HashMap<u64, Entry>>,
}

struct Entry {
    exchange: Exchange,
    permit: Permit,
    /// The permit for the memory of a subscription.
    _memory: Option<Permit>,
}

impl RunningRequests {
    /// Adds a request. `memory` is the permit for the memory of a subscription.
    pub(crate) fn insert(
        self: &Arc<Self>,
        exchange: &Exchange,
        permit: Permit,
        memory: Option<Permit>,
    ) -> RunningGuard {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let entry = Entry {
            exchange: exchange.clone(),
            permit,
            _memory: memory,
        };
        lock(&self.running).insert(number, entry);
        RunningGuard {
            running: Arc::clone(self),
            number,
        }
    }

    /// Removes a request. Returns its permit, or `None` if the request was removed before.
    fn remove(&self, number: u64) -> Option<Permit> {
        let entry = lock(&self.running).remove(&number)?;
        entry.exchange.cancel();
        Some(entry.permit)
    }

    pub(crate) fn cancel_all(&self) {
        // The table is emptied first, because a task that is woken may lock it.
        let running = std::mem::take(&mut *lock(&self.running));
        for entry in running.into_values() {
            entry.exchange.cancel();
        }
    }
}

/// A guard that keeps a request in the table. If a request has several guards, the first guard that is dropped removes the
/// request and releases its permit. If the request has not been answered, it also cancels the request.
pub(crate) struct RunningGuard {
    running: Arc<RunningRequests>,
    number: u64,
}

impl RunningGuard {
    /// Removes a request that was answered. Returns its permit.
    pub(crate) fn into_permit(self) -> Option<Permit> {
        self.running.remove(self.number)
    }

    /// Returns another guard for the same request.
    pub(crate) fn share(&self) -> Self {
        Self {
            running: Arc::clone(&self.running),
            number: self.number,
        }
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.running.remove(self.number);
    }
}
