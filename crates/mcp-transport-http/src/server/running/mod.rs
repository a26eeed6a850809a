//! Requests whose handler was called.

pub(crate) mod pending;
pub(crate) mod start;
pub(crate) mod stateless;
pub(crate) mod table;
