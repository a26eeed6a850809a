//! Calls: from a JSON-RPC request to its response.

pub(crate) mod failure;
pub(crate) mod pending;
pub(crate) mod read;
pub(crate) mod start;
pub(crate) mod stateless;
pub(crate) mod stream;
