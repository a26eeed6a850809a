//! Converts input schemas to the schemas that a model API accepts.

mod narrow;
mod valid;

pub(super) mod gemini;

pub(super) use self::narrow::{ListWork, flat_object, rewrite};
