//! Functions for locks.

pub(crate) use mcp_protocol::lock;
