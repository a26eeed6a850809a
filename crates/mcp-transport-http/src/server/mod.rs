//! The server: [`Endpoint`] is a tower service, and [`serve`] is a listener for programs without an
//! HTTP server.
//!
//! The module `request` checks and parses each request. `session` has the sessions and the stateless path. `running` calls the
//! handler. `response` creates the HTTP response. `stream` carries the messages that a handler sends before its response.
//! `listener` is the HTTP server behind [`serve`], and no other module imports from it.
//!
//! Specification:
//! [transports](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http).

pub(crate) mod allow_list;
pub(crate) mod block;
pub(crate) mod cluster;
mod cors;
pub(crate) mod endpoint;
pub(crate) mod error;
pub(crate) mod event_store;
#[cfg(feature = "forward")]
pub(crate) mod forwarded;
pub(crate) mod head;
mod listener;
mod memory;
pub(crate) mod options;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod running;
pub(crate) mod session;
pub(crate) mod session_id;
pub(crate) mod session_store;
pub(crate) mod standard_headers;
pub(crate) mod state;
pub(crate) mod stream;

#[cfg(feature = "forward")]
pub use cluster::ForwardedResponse;
pub use cors::{CORS_METHODS, CORS_REQUEST_HEADERS, CORS_RESPONSE_HEADERS};
pub use endpoint::Endpoint;
pub use error::{Error, ErrorKind};
pub use event_store::{
    Durability, EventStore, EventStoreError, MemoryEventStore, Replay, StreamKey,
};
pub use head::PeerAddr;
pub use listener::connection::McpRoute;
pub use listener::{serve, serve_layered, serve_with, shutdown_signal};
pub use options::{
    ConnectionLimits, MemoryLimits, RequestLimits, ServerOptions, ServerTimeouts, SessionLimits,
    StreamOptions,
};
pub use response::body::Body;
pub use session_id::SessionId;
pub use session_store::{
    EndpointId, MemorySessionStore, SessionLease, SessionRecord, SessionStore, SessionStoreError,
    SessionStoreErrorKind,
};
