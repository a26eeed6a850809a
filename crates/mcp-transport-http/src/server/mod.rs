//! The server's side: an [`Endpoint`] is a tower service, [`serve`] is for those who have no HTTP
//! server of their own.
//!
//! Specification: [transports](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http).

pub(crate) mod endpoint;
pub(crate) mod error;
mod listener;
pub(crate) mod options;
pub(crate) mod request;
pub(crate) mod response;
pub(crate) mod running;
pub(crate) mod session;
pub(crate) mod state;
pub(crate) mod stream;

pub use endpoint::Endpoint;
pub use error::Error;
pub use listener::route::Site;
pub use listener::{serve, serve_layered, serve_with};
pub use options::Options;
pub use request::head::PeerAddr;
pub use response::body::Body;
pub use session::id::SessionId;
pub use stream::store::{EventStore, MemoryStore, Replay, StoreError, Stored, StreamKey};
