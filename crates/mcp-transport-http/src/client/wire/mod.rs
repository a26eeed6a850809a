//! HTTP requests, responses and their bodies.

pub(crate) mod authorize;
pub(crate) mod body;
pub(crate) mod connect;
pub(crate) mod connection;
pub(crate) mod pool;
pub(crate) mod url;

/// Maximum number of characters of a server's text in a log or error message.
pub(crate) const MAX_QUOTED: usize = 256;
