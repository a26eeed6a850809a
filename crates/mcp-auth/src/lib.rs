//! Authorization for the Model Context Protocol over HTTP, for both roles.
//!
//! A client signs its messages in with [`OAuth`], which is given to
//! [`Http::authorize`](mcp_transport_http::Http::authorize); see [`client`]. A server is put behind
//! [`RequireBearer`](server::RequireBearer), a tower layer, and its handlers take
//! [`Auth`](server::Auth); see [`server`].
//!
//! Nothing here is for stdio, where credentials come from the environment.
//!
//! # Features
//!
//! - `client` (default): [`OAuth`].
//! - `server`: [`RequireBearer`](server::RequireBearer) and [`Auth`](server::Auth).
//! - `tls`: `https` for what either asks of authorization servers.
//!
//! Specification: [authorization](https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization).

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
