//! The session of a connection, and the requests that are replayed in a new session.

pub(crate) mod current;
pub(crate) mod replay;
