//! Builds responses.

pub(crate) mod body;
pub(crate) mod refusal;
pub(crate) mod text;
