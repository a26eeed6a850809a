// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Log messages and their levels.

use crate::Meta;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// The severity of a log message; the levels of RFC 5424, ordered by severity.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging>
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "closed on purpose, see overrides.toml"
)]
pub enum LoggingLevel {
    /// Details for debugging.
    Debug,
    /// Normal operation.
    Info,
    /// Normal but significant events.
    Notice,
    /// A possible problem.
    Warning,
    /// A failure.
    Error,
    /// The failure of a component.
    Critical,
    /// A problem that requires immediate action.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LoggingLevel {
    /// All values, in order.
    pub const ALL: &'static [Self] = &[
        Self::Debug,
        Self::Info,
        Self::Notice,
        Self::Warning,
        Self::Error,
        Self::Critical,
        Self::Alert,
        Self::Emergency,
    ];
    /// The value on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }

    /// Reads the value on the wire.
    pub fn from_wire(text: &str) -> Option<Self> {
        match text {
            "debug" => Some(Self::Debug),
            "info" => Some(Self::Info),
            "notice" => Some(Self::Notice),
            "warning" => Some(Self::Warning),
            "error" => Some(Self::Error),
            "critical" => Some(Self::Critical),
            "alert" => Some(Self::Alert),
            "emergency" => Some(Self::Emergency),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for LoggingLevel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::closed(
            deserializer,
            "a LoggingLevel, one of `debug`, `info`, `notice`, `warning`, `error`, `critical`, `alert`, `emergency`",
            Self::from_wire,
        )
    }
}

impl fmt::Display for LoggingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for LoggingLevel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A log message.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LoggingMessageNotificationParams {
    /// The severity.
    pub level: LoggingLevel,
    /// The name of the logger in the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// The content: any JSON value.
    pub data: Value,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl LoggingMessageNotificationParams {
    /// Creates a value from its required members.
    pub fn new(level: impl Into<LoggingLevel>, data: impl Into<Value>) -> Self {
        Self {
            level: level.into(),
            logger: None,
            data: data.into(),
            meta: None,
        }
    }

    /// Sets [`logger`](Self::logger).
    #[must_use]
    pub fn with_logger(mut self, logger: impl Into<String>) -> Self {
        self.logger = Some(logger.into());
        self
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}

/// The minimum severity of the log messages that a client receives.
///
/// Specification: <https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/logging>
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SetLevelRequestParams {
    /// The minimum severity.
    pub level: LoggingLevel,
    /// Free metadata; keys follow the grammar of [`MetaKey`](crate::MetaKey).
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SetLevelRequestParams {
    /// Creates a value from its required members.
    pub fn new(level: impl Into<LoggingLevel>) -> Self {
        Self {
            level: level.into(),
            meta: None,
        }
    }

    /// Sets [`meta`](Self::meta).
    #[must_use]
    pub fn with_meta(mut self, meta: Meta) -> Self {
        self.meta = Some(meta);
        self
    }
}
