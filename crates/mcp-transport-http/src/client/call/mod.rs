//! Calls.

pub(crate) mod refusal;
pub(crate) mod response;
pub(crate) mod resume;
pub(crate) mod start;
pub(crate) mod stateless;
pub(crate) mod stream;
