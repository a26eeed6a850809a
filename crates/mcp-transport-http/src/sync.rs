//! Locks.

pub(crate) use mcp_protocol::lock;
