//! Makes one server keep its stores in a file.

use crate::RedbStore;

/// Settings with which a server or an endpoint can keep its state in a [`RedbStore`]: `ServerBuilder` of `mcp-server` (feature
/// `server`) and `ServerOptions` of `mcp-transport-http` (feature `http`).
pub trait Persist: sealed::Sealed + Sized {
    /// Keeps the state in this file. For a `ServerBuilder`, the file contains the tasks and the state keys. For `ServerOptions`,
    /// it contains the sessions and the events.
    #[must_use]
    fn persist(self, store: &RedbStore) -> Self;
}

#[cfg(feature = "server")]
impl<S: Clone + Send + Sync + 'static> Persist for mcp_server::ServerBuilder<S> {
    fn persist(self, store: &RedbStore) -> Self {
        self.task_store(store.task_store())
            .state_keys(store.state_keys())
    }
}

#[cfg(feature = "http")]
impl Persist for mcp_transport_http::ServerOptions {
    fn persist(self, store: &RedbStore) -> Self {
        self.with_session_store(store.session_store())
            .with_event_store(store.event_store())
    }
}

mod sealed {
    pub trait Sealed {}

    #[cfg(feature = "server")]
    impl<S> Sealed for mcp_server::ServerBuilder<S> {}

    #[cfg(feature = "http")]
    impl Sealed for mcp_transport_http::ServerOptions {}
}
