//! Errors and warnings of configuration files.

use std::fmt;

/// The error of a file, or of one server in a file. The text names the file, the server and the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    kind: ConfigErrorKind,
    message: String,
}

/// The cause of a [`ConfigError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigErrorKind {
    /// The file cannot be read.
    File,
    /// The text is not JSON or TOML, or does not have the structure of the format.
    Syntax,
    /// A server lacks a key, or a value has the wrong type.
    Server,
    /// A variable has no value.
    Variable,
    /// A policy has a syntax error, or a rule with an invalid member.
    Policy,
}

impl ConfigError {
    pub(crate) fn new(kind: ConfigErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }

    pub(super) fn server(message: impl Into<String>) -> Self {
        Self::new(ConfigErrorKind::Server, message)
    }

    /// Returns the cause.
    pub fn kind(&self) -> ConfigErrorKind {
        self.kind
    }

    /// Returns the error with the name of a file or server in front of the message.
    pub(super) fn within(self, name: impl fmt::Display) -> Self {
        let message = format!("{name}: {}", self.message);
        Self { message, ..self }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}
