//! Receives a request: checks its headers, reads its body, and finds the session or the stateless server that serves it.

pub(crate) mod admission;
mod batch;
pub(crate) mod body;
mod buffer;
pub(crate) mod delete;
pub(crate) mod get;
mod initialize;
mod message;
pub(crate) mod post;
pub(crate) mod revision;
