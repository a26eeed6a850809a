//! Conveniences on the generated types, by area.

mod content;
mod elicitation;
mod icon;
mod level;
mod sampling;
mod tools;

pub use level::UnknownLoggingLevel;
