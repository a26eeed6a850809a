//! Messages from the server.

pub(crate) mod listen;
pub(crate) mod receive;
pub(crate) mod server_request;
