//! Messages to the server.

pub(crate) mod deliver;
pub(crate) mod queue;
