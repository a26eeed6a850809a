//! The Model Context Protocol over [Streamable HTTP][spec], for both roles.
//!
//! A server is an [`Endpoint`]: a tower service that is mounted in hyper, axum or anything else.
//! Those who have no HTTP server of their own call [`serve`]. A client's transport is [`Http`].
//!
//! ```text
//! request ─► Endpoint ─► admission (Host, Origin, types, limits) ─► session ─► handler
//!                                                                    │
//! response ◄─ JSON, or the events of a stream ◄──────────────────────┘
//! ```
//!
//! # Features
//!
//! - `server` (default): [`Endpoint`] and [`serve`].
//! - `http2` (default): HTTP/2 beside HTTP/1.1 for [`serve`] and its kin, when a connection begins with it.
//! - `client` (default): [`Http`].
//! - `tls`: `https` for the client, by rustls with the certificates of the system.
//! - `legacy`: the two-endpoint transport of revision 2024-11-05, for the roles that are enabled.
//!
//! [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

#[cfg(feature = "client")]
mod client;
#[cfg(any(feature = "client", feature = "server"))]
mod headers;
#[cfg(all(feature = "legacy", any(feature = "client", feature = "server")))]
mod legacy;
#[cfg(any(feature = "client", feature = "server"))]
mod permit;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "client")]
mod sse;
#[cfg(any(feature = "client", feature = "server"))]
mod sync;

#[cfg(feature = "client")]
pub use client::{AfterRefusal, Authorize, Http, Options as ClientOptions, RequestBody};
#[cfg(all(feature = "legacy", feature = "server"))]
pub use legacy::server::LegacyEndpoint;
#[cfg(feature = "server")]
pub use server::{
    Body, Durability, Endpoint, Error, EventStore, McpRoute, MemoryStore, Options, PeerAddr,
    Replay, SessionId, StoreError, StreamKey, serve, serve_layered, serve_with,
};
