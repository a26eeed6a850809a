//! Receives a request: checks its headers, reads its body, and finds what serves it.

pub(crate) mod admission;
pub(crate) mod body;
mod buffer;
pub(crate) mod delete;
#[cfg(feature = "forward")]
pub(crate) mod forward;
pub(crate) mod get;
pub(crate) mod post;
pub(crate) mod revision;
pub(crate) mod stored;
