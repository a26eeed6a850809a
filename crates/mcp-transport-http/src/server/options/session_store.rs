//! Settings of the session store.

use std::sync::Arc;

use crate::server::options::ServerOptions;
use crate::server::session_store::SessionStore;

/// The session store, and the address of the endpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoreOptions {
    pub(crate) store: Option<Arc<dyn SessionStore>>,
    /// The address at which other endpoints reach this endpoint.
    pub(crate) address: Option<http::Uri>,
}

impl ServerOptions {
    /// Sets a store that several endpoints share, so that each of them can continue the sessions of the other endpoints. Default:
    /// no store. A session is then known only to the endpoint that opened it.
    ///
    /// The store contains the revision, the client and its capabilities, the log level, the subscriptions and the principal. It
    /// contains no running requests, no events, and no values that handlers keep for a session. For each request of a session,
    /// the endpoint calls `renew` once. With `with_forwarding`, it calls `renew` at most once per second for each session. It
    /// also calls `update` if the message changes the session, and `load` and `claim` if the endpoint must claim the session. If
    /// the store fails, requests of sessions are rejected with 503.
    #[must_use]
    pub fn with_session_store(mut self, store: impl SessionStore) -> Self {
        self.stored.store = Some(Arc::new(store));
        self
    }

    /// Sets the address at which other endpoints of the same server reach this endpoint, such as `http://10.0.0.7:8000/mcp`. Two
    /// kinds of requests are then forwarded to another endpoint, so that a load balancer may send each request to any endpoint:
    ///
    /// - requests of a session that another endpoint serves. This requires a [session store](Self::with_session_store), which
    ///   records the endpoint of each session.
    /// - requests of the stateless revision whose handler [chooses](mcp_protocol::RequestContext::forward) another endpoint. A
    ///   gateway does this for a request that continues a call, if the call waits for input at that endpoint. The bodies of these
    ///   requests are kept while their handlers run.
    ///
    /// The server signs the stored address of a session with its state keys, and forwards a request only to a signed address. All
    /// processes therefore need the same keys.
    ///
    /// Default: no address. A session then moves to the endpoint that receives its next request. A response to a server request
    /// reaches a call only at the endpoint that runs the call. Handlers cannot choose another endpoint.
    ///
    /// All endpoints need an address, and must have the same settings for authentication, `Host` and `Origin`. A forwarded
    /// request has the headers of the client, including `Authorization`, and the other endpoint checks the request again.
    /// Requests are forwarded with HTTP/1.1 without TLS, so the network between the endpoints must be trusted. If the other
    /// endpoint cannot be reached within 1 s or is shutting down, this endpoint claims the session and serves the request. If
    /// a handler chose this other endpoint, the client instead receives the response of the handler. If the other endpoint ends
    /// during a call, the call fails, and the error says that the handler may have run.
    ///
    /// With forwarding, other endpoints claim a session only if they cannot reach its owner. An endpoint therefore checks the
    /// lease of a session at most once per second, instead of before each request.
    #[cfg(feature = "forward")]
    #[must_use]
    pub fn with_forwarding(mut self, address: http::Uri) -> Self {
        self.stored.address = Some(address);
        self
    }
}
