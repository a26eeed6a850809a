//! Talk to Model Context Protocol servers: typed calls over any transport.
//!
//! ```no_run
//! # async fn run(transport: impl mcp_protocol::Transport) -> Result<(), mcp_client::Error> {
//! use mcp_client::Client;
//! use serde_json::json;
//!
//! let client = Client::builder("my-host", "1.0.0").connect(transport).await?;
//! let sum = client.call_tool("add", json!({ "a": 2, "b": 3 })).await?;
//! println!("{}", sum.joined_text());
//! client.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! A call is sent when it is awaited; dropping it cancels it on the wire. Every call has a
//! timeout that progress extends up to a cap ([`Timeouts`]). When the connection ends, every
//! pending call fails at once with the reason.
//!
//! Which revision a server speaks is found out when connecting ([`Negotiation`]); all calls are the
//! same whatever it is.
//!
//! What the server may ask (forms, URLs, sampling, roots) is declared by giving the
//! [`Builder`] a handler for it, and refused otherwise.
//!
//! Specification: [client features](https://modelcontextprotocol.io/specification/2025-11-25/client).

mod agreed;
mod builder;
mod cache;
mod call;
mod client;
mod connect;
mod envelope;
mod error;
mod exchange;
mod inbound;
mod known;
mod listen;
mod lists;
mod negotiation;
mod progress;
mod questions;
mod roots;
mod rounds;
mod subscription;
mod tasks;
mod tools;

pub use builder::{Builder, KeepAlive};
pub use cache::CacheLimits;
pub use call::Call;
pub use client::Client;
pub use error::Error;
pub use inbound::TaskLimits;
pub use mcp_protocol::Timeouts;
pub use negotiation::{Era, Negotiation, Verdict};
pub use progress::Progress;
pub use questions::{Changed, ElicitForm, ElicitUrl, Sample};
pub use roots::InvalidRoot;
pub use subscription::Subscription;
pub use tasks::{Started, TaskHandle, TaskState, TaskTicket};
pub use tools::{ToolCall, ToolRound};

pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
