//! The Model Context Protocol over [Streamable HTTP][spec], for both roles.
//!
//! A server is an [`Endpoint`]: a tower service that can be mounted in hyper, axum or any other
//! HTTP server. [`serve`] runs one for programs without an HTTP server. A client uses the transport
//! [`HttpTransport`].
//!
//! ```text
//! request ─► Endpoint ─► admission (Host, Origin, types, limits) ─► session ─► handler
//!                                                                    │
//! response ◄─ JSON or an event stream ◄──────────────────────────────┘
//! ```
//!
//! # Features
//!
//! - `server` (default): [`Endpoint`] and [`serve`].
//! - `http2` (default): HTTP/2 with prior knowledge, in addition to HTTP/1.1, for [`serve`] and
//!   related functions.
//! - `client` (default): [`HttpTransport`].
//! - `proxy`: [`ClientProxy`], the proxy of a client. `client` enables it.
//! - `tls`: `https` for the client, with rustls, the certificates of the operating system, and those of [`ClientTls`].
//! - `forward`: `ServerOptions::with_forwarding`, for several endpoints behind a load balancer.
//! - `testing`: [`testing`], tests for implementations of [`SessionStore`] and [`EventStore`].
//! - `legacy`: the HTTP+SSE transport of revision 2024-11-05, for the enabled roles.
//!
//! The guide `http.md` in the folder `docs/guide` of the repository explains more.
//!
//! [spec]: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "client")]
mod client;
#[cfg(any(feature = "client", feature = "server"))]
mod headers;
#[doc(hidden)]
pub mod http_service;
#[cfg(all(feature = "legacy", any(feature = "client", feature = "server")))]
mod legacy;
#[cfg(any(feature = "client", feature = "server"))]
mod permit;
#[cfg(feature = "proxy")]
mod proxy;
#[cfg(feature = "server")]
mod server;
#[cfg(feature = "client")]
mod sse;
mod sync;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "tls")]
mod tls;

#[cfg(feature = "client")]
pub use client::{AfterRefusal, Authorize, ClientOptions, HttpTransport};
pub use http_service::{RemovedAuthorization, RequestBody};
#[cfg(all(feature = "legacy", feature = "server"))]
pub use legacy::server::LegacyEndpoint;
#[cfg(feature = "proxy")]
pub use proxy::{ClientProxy, ProxyDecision};
#[cfg(feature = "proxy")]
#[doc(hidden)]
pub use proxy::{ClientStream, Tunnel};
#[cfg(feature = "forward")]
pub use server::ForwardedResponse;
#[cfg(feature = "server")]
pub use server::{
    Body, CORS_METHODS, CORS_REQUEST_HEADERS, CORS_RESPONSE_HEADERS, ConnectionLimits, Durability,
    Endpoint, EndpointId, Error, ErrorKind, EventStore, EventStoreError, McpRoute,
    MemoryEventStore, MemoryLimits, MemorySessionStore, PeerAddr, Replay, RequestLimits,
    ServerOptions, ServerTimeouts, SessionId, SessionLease, SessionLimits, SessionRecord,
    SessionStore, SessionStoreError, SessionStoreErrorKind, StreamKey, StreamOptions, serve,
    serve_layered, serve_with, shutdown_signal,
};
#[cfg(feature = "tls")]
pub use tls::ClientTls;
#[cfg(feature = "tls")]
#[doc(hidden)]
pub use tls::TlsFailure;
