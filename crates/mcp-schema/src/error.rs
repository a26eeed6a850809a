//! Errors of schemas and of values.

use std::fmt;

/// The cargo feature that enables the full engine.
const FEATURE: &str = "validate";

/// The error for an invalid or unsupported schema. The text names the keyword, dialect or limit, and what to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    text: Box<str>,
    feature: bool,
}

impl SchemaError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into().into_boxed_str(),
            feature: false,
        }
    }

    /// The schema is valid, but this build lacks the feature that is needed to use it.
    #[cfg_attr(
        feature = "validate",
        expect(dead_code, reason = "the full engine supports all keywords")
    )]
    pub(super) fn needs_feature(what: impl fmt::Display) -> Self {
        Self {
            text: format!(
                "{what} needs the cargo feature {FEATURE:?} of mcp-sdk, mcp-server, \
                 mcp-client or mcp-schema: enable the feature, or write the schema without {what}"
            )
            .into_boxed_str(),
            feature: true,
        }
    }

    /// Returns whether the cargo feature `validate` would make the schema usable.
    pub fn is_missing_feature(&self) -> bool {
        self.feature
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for SchemaError {}

/// The error for a value that does not match its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The JSON pointer of the position in the value. It is empty for the value itself. Names longer than 64 characters are
    /// clipped.
    pub pointer: String,
    /// A description of the expected value. It quotes at most 64 characters of the found value.
    pub message: String,
}

impl Violation {
    /// Creates a violation from a JSON pointer and a message.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            message: message.into(),
        }
    }

    pub(super) fn here(message: impl Into<String>) -> Self {
        Self::new(String::new(), message)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.pointer, self.message)
        }
    }
}

impl std::error::Error for Violation {}
