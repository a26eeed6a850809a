//! The session of a connection, and what is repeated in a new one.

pub(crate) mod current;
pub(crate) mod replay;
