//! Authorization for the Model Context Protocol over HTTP, for both roles.
//!
//! A client uses [`OAuth`], which obtains tokens and is passed to
//! [`HttpTransport::authorize`](mcp_transport_http::HttpTransport::authorize); see [`client`]. A
//! server uses [`RequireBearer`](server::RequireBearer), a tower layer that verifies tokens, and
//! its handlers receive the caller as [`Auth`](server::Auth); see [`server`].
//!
//! ```no_run
//! use mcp_auth::OAuth;
//! use mcp_auth::client::{FileTokenStore, Loopback};
//! use mcp_transport_http::HttpTransport;
//!
//! # fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let url = "https://mcp.example.com/mcp";
//! let browser = Loopback::new(|page| eprintln!("Please open {page}"));
//! let auth = OAuth::client(url).user_agent(browser).store(FileTokenStore::new("tokens.json")).build()?;
//! let transport = HttpTransport::new(url)?.authorize(auth);
//! # drop(transport);
//! # Ok(())
//! # }
//! ```
//!
//! The stdio transport does not use this crate: its credentials come from the environment.
//!
//! # Features
//!
//! - `client` (default): [`OAuth`].
//! - `server`: [`RequireBearer`](server::RequireBearer) and [`Auth`](server::Auth).
//! - `tls`: `https` for requests to authorization servers.
//!
//! The guide `authorization.md` in the folder `docs/guide` of the repository explains more.
//!
//! Specification:
//! [authorization](https://modelcontextprotocol.io/specification/2025-11-25/basic/authorization).

#![cfg_attr(docsrs, feature(doc_cfg))]

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
mod web;
#[cfg(any(feature = "client", feature = "server"))]
mod well_known;

#[cfg(feature = "client")]
pub use client::OAuth;
pub use secret::Secret;
