//! Errors of transports.

use std::fmt;

/// Why a connection could not be made, or not be ended in good order.
#[derive(Debug)]
pub struct TransportError {
    message: String,
    unknown_protocol: bool,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl TransportError {
    /// An error with a message for people.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            unknown_protocol: false,
            source: None,
        }
    }

    /// Marks it as what a server says that was reached and does not know what it was asked: it may
    /// speak another revision. A refusal for want of credentials and a failure are no such thing.
    #[must_use]
    pub fn as_unknown_protocol(mut self) -> Self {
        self.unknown_protocol = true;
        self
    }

    /// Whether the server was reached and said nothing of this protocol.
    pub fn is_unknown_protocol(&self) -> bool {
        self.unknown_protocol
    }

    /// Attaches the cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TransportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
