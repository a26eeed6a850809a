//! Gateways for the Model Context Protocol.
//!
//! - [`Proxy`] makes one server available on another transport and in all revisions: a stdio program over HTTP, a
//!   session-based server to clients of the stateless revision, or the reverse.
//! - [`Gateway`] combines several servers into one, with a name prefix for each server. [`GatewayConfig`] reads the settings of a
//!   gateway from a file.
//!
//! ```no_run
//! use mcp_gateway::{Proxy, Upstream};
//! use mcp_host::ServerConfig;
//! use mcp_protocol::Service;
//!
//! # async fn run() -> Result<(), mcp_client::Error> {
//! let server = ServerConfig::stdio("npx", ["-y", "@modelcontextprotocol/server-everything"]);
//! let proxy = Proxy::connect(Upstream::new("everything", server)).await?;
//! // Serve it like a server of this process, for example with `mcp_transport_http::serve`.
//! fn serve(_: impl Service) {}
//! serve(proxy);
//! # Ok(())
//! # }
//! ```
//!
//! | Client | Server | How requests of the server reach the client |
//! | --- | --- | --- |
//! | session-based | session-based | Each session has its own connection to the server. Requests in both directions are passed on. |
//! | stateless | stateless | All requests share a connection. Requests and results are passed on, with the metadata of the client. |
//! | session-based | stateless | A result that requires input becomes requests to the client, and the gateway repeats the call with the responses. |
//! | stateless | session-based | A request of the server parks the call: the client receives a result that requires input, and its next request continues the call. |
//!
//! Params and results are forwarded as JSON text: unknown members and the notation of numbers are preserved. Tasks are not passed
//! on. The credentials of a client never reach the server: each connection uses the credentials of the
//! [`Connector`](mcp_host::Connector).
//!
//! The guide `gateway.md` in the folder `docs/guide` of the repository explains more.

mod caller;
mod catalog;
mod changes;
mod config;
mod connection;
mod core;
mod debounce;
mod gateway;
mod parked;
mod pool;
mod proxy;
mod repair;
mod resubscribe;
mod results;
mod shared;
mod text;
mod upstream;
mod watched;

pub use catalog::Transform;
pub use config::{AuditArguments, ClientToken, GatewayConfig, TokenSource};
pub use gateway::{
    AccessPolicy, AccessRule, ClientLimits, Gateway, GatewayBuilder, ItemKind, ListCounts, Mount,
    MountStatus, RequestOutcome, ServedRequest,
};
pub use parked::Cluster;
pub use proxy::Proxy;
pub use upstream::{ParkingLimits, Sharing, Upstream};
