//! The server: [`Endpoint`] is a tower service, and [`serve`] is a listener for programs without an
//! HTTP server.
//!
//! A request passes `request`, which checks and parses it, `session` or the stateless path, and
//! `running`, which calls the handler. `response` builds what is sent back, and `stream` carries
//! the messages that a handler sends before its response. `listener` is the HTTP server behind
//! [`serve`]; no other module imports from it.
//!
//! Specification:
//! [transports](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http).

pub(crate) mod block;
mod cors;
pub(crate) mod endpoint;
pub(crate) mod error;
mod listener;
mod memory;
pub(crate) mod options;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod running;
pub(crate) mod session;
pub(crate) mod state;
pub(crate) mod stream;

pub use cors::{CORS_METHODS, CORS_REQUEST_HEADERS, CORS_RESPONSE_HEADERS};
pub use endpoint::Endpoint;
pub use error::{Error, ErrorKind};
pub use listener::connection::McpRoute;
pub use listener::{serve, serve_layered, serve_with, shutdown_signal};
pub use options::ServerOptions;
pub use request::head::PeerAddr;
pub use response::body::Body;
pub use session::id::SessionId;
pub use session::store::{
    EndpointId, MemorySessionStore, SessionLease, SessionRecord, SessionStore, SessionStoreError,
    SessionStoreErrorKind,
};
pub use stream::store::{
    Durability, EventStore, EventStoreError, MemoryEventStore, Replay, StreamKey,
};
