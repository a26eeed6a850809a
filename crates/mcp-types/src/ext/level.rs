//! Log levels as text.

use std::fmt;
use std::str::FromStr;

use crate::LoggingLevel;

/// The error for a text that is not one of the eight log level names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownLoggingLevel;

impl fmt::Display for UnknownLoggingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown log level")
    }
}

impl std::error::Error for UnknownLoggingLevel {}

impl FromStr for LoggingLevel {
    type Err = UnknownLoggingLevel;

    fn from_str(text: &str) -> Result<Self, UnknownLoggingLevel> {
        Self::from_wire(text).ok_or(UnknownLoggingLevel)
    }
}
