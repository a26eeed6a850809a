//! What is done with a request before its handler is called.

pub(crate) mod admission;
pub(crate) mod allowed;
pub(crate) mod body;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod head;
pub(crate) mod post;
pub(crate) mod revision;
