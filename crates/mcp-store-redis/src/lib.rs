//! Keeps the sessions, events, tasks and change notifications of MCP servers in Redis or Valkey, so that several processes serve the same
//! sessions behind a load balancer.
//!
//! ```no_run
//! # async fn example(server: impl mcp_protocol::IntoService) -> Result<(), Box<dyn std::error::Error>> {
//! use mcp_store_redis::RedisStore;
//! use mcp_transport_http::{Endpoint, ServerOptions};
//!
//! let redis = RedisStore::connect("redis://127.0.0.1:6379").await?;
//! let options = ServerOptions::new()
//!     .with_event_store(redis.event_store())
//!     .with_session_store(redis.session_store())
//!     // The address of this process for the others.
//!     .with_forwarding("http://10.0.0.7:8000/mcp".parse()?);
//! let endpoint = Endpoint::with_options(server, options)?;
//! # Ok(())
//! # }
//! ```
//!
//! The process that opened a session serves the session. The other processes forward the requests of the session to that process
//! ([`with_forwarding`](mcp_transport_http::ServerOptions::with_forwarding)). If that process has ended, the next process that
//! receives a request continues the session. The session keeps its log level, its subscriptions, and the events that its streams
//! have sent. The calls that ran at the ended process fail. The error says that the handler may have run.
//!
//! [`RedisTaskStore`] keeps tasks, and `RedisChangeBus` (feature `changes`) notifies all processes of changed lists and resources.
//! `RedisReplayCache` (feature `dpop`) stores the DPoP proofs that any process has accepted.
//!
//! # Requirements
//!
//! - Redis 7.0 or Valkey 7.2, or later. A single server, a master that Sentinel watches (feature `sentinel`), or a
//!   cluster (feature `cluster`). In a cluster, each session and each stream of events is one key.
//! - `maxmemory-policy noeviction`: a session must not be removed before it expires. At `maxmemory`
//!   new sessions are rejected, and existing sessions continue.
//! - Persistence (`appendonly yes`), if sessions have to survive a restart of Redis. Without it the
//!   clients of lost sessions receive the status 404 and begin a new session.
//!
//! A [`SessionId`](mcp_transport_http::SessionId) is a secret. Protect Redis with a password, and
//! with TLS (feature `tls`, `rediss://`) outside of one machine.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "changes")]
mod changes;
mod connection;
mod events;
mod options;
mod reopened;
#[cfg(feature = "dpop")]
mod replays;
#[cfg(feature = "sentinel")]
mod sentinel;
mod sessions;
mod store;
mod stored;
mod tasks;

#[cfg(feature = "changes")]
pub use changes::RedisChangeBus;
pub use events::RedisEventStore;
pub use options::RedisOptions;
#[cfg(feature = "dpop")]
pub use replays::RedisReplayCache;
pub use sessions::RedisSessionStore;
pub use store::{ConnectError, RedisStore};
pub use tasks::RedisTaskStore;
