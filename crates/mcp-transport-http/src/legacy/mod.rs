//! The two-endpoint transport of 2024-11-05: everything the server says comes on one stream of
//! events, everything the client says goes to an address the stream tells first.
//!
//! The stream is a pipe like any other, so a [`Mux`](mcp_protocol::Mux) does the work, and the
//! end of the stream is the end of the session.
//!
//! Specification: [HTTP with SSE](https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse).

#[cfg(feature = "server")]
pub(crate) mod server;
#[cfg(feature = "server")]
pub(crate) mod sessions;
pub(crate) mod work;
