//! Authorization for the Model Context Protocol over HTTP, for both roles.
//!
//! A client uses [`OAuth`], which obtains tokens and is passed to
//! [`HttpTransport::authorize`](mcp_transport_http::HttpTransport::authorize); see [`client`]. A
//! server uses [`RequireBearer`](server::RequireBearer), a tower layer that verifies tokens, and
//! its handlers receive the caller as [`Auth`](server::Auth); see [`server`].
//!
//! The stdio transport does not use this crate: its credentials come from the environment.
//!
//! # Features
//!
//! - `client` (default): [`OAuth`].
//! - `server`: [`RequireBearer`](server::RequireBearer) and [`Auth`](server::Auth).
//! - `tls`: `https` for requests to authorization servers.
//!
//! Specification:
//! [authorization](https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization).

#[cfg(feature = "client")]
pub mod client;
#[cfg(any(feature = "client", feature = "server"))]
mod digest;
#[cfg(any(feature = "client", feature = "server"))]
mod error;
#[cfg(any(feature = "client", feature = "server"))]
mod scopes;
mod secret;
#[cfg(feature = "server")]
pub mod server;
#[cfg(any(feature = "client", feature = "server"))]
mod sync;
#[cfg(any(feature = "client", feature = "server"))]
mod web;
#[cfg(any(feature = "client", feature = "server"))]
mod well_known;

#[cfg(feature = "client")]
pub use client::OAuth;
pub use secret::Secret;
