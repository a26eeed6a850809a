//! Convenience methods of the generated types, by area.

mod cache;
mod content;
mod elicitation;
mod icon;
mod level;
mod refusal;
mod sampling;
mod tasks;
mod tools;

pub use level::UnknownLoggingLevel;
