//! What is sent back.

pub(crate) mod body;
pub(crate) mod refusal;
pub(crate) mod text;
