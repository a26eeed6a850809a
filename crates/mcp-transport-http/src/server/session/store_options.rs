//! Settings of the session store.

use std::sync::Arc;
use std::time::Duration;

use crate::server::options::ServerOptions;
use crate::server::session::store::SessionStore;

/// The session store, and the limits on its calls.
#[derive(Debug, Clone)]
pub(crate) struct StoreOptions {
    pub(crate) store: Option<Arc<dyn SessionStore>>,
    pub(crate) timeout: Duration,
    pub(crate) max_calls: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            store: None,
            timeout: Duration::from_secs(5),
            max_calls: 1_024,
        }
    }
}

impl ServerOptions {
    /// Sets a store that several endpoints share, so that each of them can continue the sessions of
    /// the others. Default: none; a session is known only to the endpoint that opened it.
    ///
    /// The store contains the revision, the client and its capabilities, the log level, the
    /// subscriptions and the principal. It contains no running requests, no events, and no values
    /// that handlers keep for a session. Each request of a session calls `renew` once, and also `update`
    /// if its message changes the session. A request that claims the session also calls `load` and `claim`. If the store fails,
    /// requests of sessions are rejected with 503.
    #[must_use]
    pub fn with_session_store(mut self, store: impl SessionStore) -> Self {
        self.stored.store = Some(Arc::new(store));
        self
    }

    /// Sets the timeout of one call of the session store. A request whose call times out is rejected with 503. Default: 5 s.
    #[must_use]
    pub fn with_session_store_timeout(mut self, limit: Duration) -> Self {
        self.stored.timeout = limit;
        self
    }

    /// Sets the maximum number of calls of the session store that run at once. Default 1,024;
    /// further requests of sessions are rejected with 503.
    #[must_use]
    pub fn with_max_session_store_calls(mut self, calls: usize) -> Self {
        self.stored.max_calls = calls;
        self
    }
}
