//! Transports over stdin and stdout, child processes, and any pair of byte streams.
//!
//! For servers: [`serve`] uses stdin and stdout, [`serve_io`] any pair of streams. For clients:
//! [`ChildProcess`] starts a server as a child process, [`Pipe`] uses a pair of streams,
//! [`in_memory`] connects to a server in the same process. Each of them is a
//! [`Transport`](mcp_protocol::Transport).
//!
//! ```
//! use std::sync::Arc;
//!
//! use mcp_protocol::{Inbound, Service, Transport};
//! use mcp_transport_stdio::{ChildProcess, Error, serve};
//!
//! async fn run_server(server: impl Service) -> Result<(), Error> {
//!     serve(server).await
//! }
//!
//! async fn run_client(client: Arc<dyn Inbound>) -> Result<(), Box<dyn std::error::Error>> {
//!     let transport = ChildProcess::new("weather-server").arg("--verbose");
//!     let connection = Box::new(transport).start(client).await?;
//!     connection.link().request("ping", None).await?;
//!     connection.close().await?;
//!     Ok(())
//! }
//! ```
//!
//! # Custom transports
//!
//! Any pair of byte streams can carry the protocol: pass it to [`serve_io`] on the server and to
//! [`Pipe`] on the client. Each message is one line of JSON that ends with `\n`. The client sends
//! the first message, and the session ends when either stream ends. A transport that carries
//! messages instead of bytes implements [`Transport`](mcp_protocol::Transport) itself and drives a
//! [`Mux`](mcp_protocol::Mux).
//!
//! # Scope
//!
//! The crate moves bytes and leaves their meaning to `mcp-protocol`. It does not depend on
//! `mcp-server` or `mcp-client`. [`StdioOptions`] has a limit for everything that a peer can
//! enlarge or delay:
//!
//! - the length of a [line](StdioOptions::with_line_limit), and the number of [stray lines](StdioOptions::with_max_stray_lines);
//! - the [requests and bytes](StdioOptions::with_limits) that are held at once;
//! - the number of [blocking handlers](StdioOptions::with_max_blocking_handlers);
//! - the time for which a peer does [not read](StdioOptions::with_write_timeout);
//! - after the end of the input, the time for [handlers](StdioOptions::with_shutdown_timeout) and for the [remaining
//!   output](StdioOptions::with_drain_timeout).
//!
//! Specification: [stdio][stdio], [custom transports][custom].
//!
//! [stdio]: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
//! [custom]: https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#custom-transports

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "child")]
mod child;
mod client;
mod connection;
mod driver;
mod error;
mod lines;
mod memory;
mod options;
mod server;
mod standard;
mod stray;

#[cfg(feature = "child")]
pub use child::{ChildProcess, Stderr};
pub use client::Pipe;
pub use error::{Error, ErrorKind};
pub use lines::{FramedLine, Lines};
pub use memory::{InMemory, ServerEnd, duplex, in_memory};
pub use options::StdioOptions;
pub use server::{serve, serve_io, serve_io_with, serve_with};
pub use standard::protect_stdout;
