//! The Model Context Protocol over [Streamable HTTP][spec], for both roles.
//!
//! [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

#[cfg(feature = "client")]
mod client;
mod headers;
#[cfg(feature = "server")]
mod server;
mod sse;

#[cfg(feature = "client")]
pub use client::{Authorize, Http, Options as ClientOptions};
#[cfg(feature = "server")]
pub use server::{
    Allowed, Body, Endpoint, Error, EventStore, MemoryStore, Options, PeerAddr, Replay, SessionId,
    StoreError, Stored, StreamKey, serve, serve_with,
};
