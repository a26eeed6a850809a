//! The HTTP+SSE transport of revision 2024-11-05. The server sends all messages on one event stream. The first event of this
//! stream contains the URL to which the client posts its messages.
//!
//! A [`Mux`](mcp_protocol::Mux) handles the messages, as for any byte stream. The session ends with
//! the event stream.
//!
//! Specification: [HTTP with
//! SSE](https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse).

#[cfg(feature = "server")]
pub(crate) mod server;
#[cfg(feature = "server")]
pub(crate) mod sessions;
pub(crate) mod work;
