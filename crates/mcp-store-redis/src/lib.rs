//! Keeps the sessions of MCP servers in Redis or Valkey, so that several processes serve the same
//! sessions.
//!
//! ```no_run
//! # async fn example(server: impl mcp_protocol::IntoService) -> Result<(), Box<dyn std::error::Error>> {
//! use mcp_store_redis::RedisSessionStore;
//! use mcp_transport_http::{Endpoint, ServerOptions};
//!
//! let sessions = RedisSessionStore::connect("redis://127.0.0.1:6379").await?;
//! let endpoint = Endpoint::with_options(server, ServerOptions::new().with_session_store(sessions))?;
//! # Ok(())
//! # }
//! ```
//!
//! A session that was opened at one process is continued by any other that uses the same Redis and
//! the same prefix; see [`SessionStore`](mcp_transport_http::SessionStore). The calls and streams
//! that run at a process end with it.
//!
//! # Requirements
//!
//! - Redis 7.0 or Valkey 7.2, or later. Each session is one key, so a cluster behind a proxy works; a
//!   client that follows redirections of a cluster is not part of this crate.
//! - `maxmemory-policy noeviction`: a session must not be removed before it expires. At `maxmemory`
//!   new sessions are rejected, and existing ones go on.
//! - Persistence (`appendonly yes`), if sessions have to survive a restart of Redis. Without it the
//!   clients of lost sessions receive the status 404 and begin a new session.
//!
//! A [`SessionId`](mcp_transport_http::SessionId) is a secret. Protect Redis with a password, and
//! with TLS (feature `tls`, `rediss://`) outside of one machine.

mod options;
mod sessions;

pub use options::RedisOptions;
pub use sessions::RedisSessionStore;
