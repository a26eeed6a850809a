//! Errors of transports.

use std::fmt;

/// Error of a transport: a connection could not be opened or closed, or a message could not be delivered.
#[derive(Debug)]
pub struct TransportError {
    message: String,
    unknown_protocol: bool,
    inconclusive: bool,
    temporary: bool,
    possibly_executed: bool,
    session_replaced: bool,
    challenge: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl TransportError {
    /// Creates an error with a message.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            unknown_protocol: false,
            inconclusive: false,
            temporary: false,
            possibly_executed: false,
            session_replaced: false,
            challenge: None,
            source: None,
        }
    }

    /// Marks the error: the server was reached, but its response is not MCP. The server may support only another revision. Do not
    /// use it for missing credentials or a failed connection.
    #[must_use]
    pub fn as_unknown_protocol(mut self) -> Self {
        self.unknown_protocol = true;
        self
    }

    /// Returns whether the server was reached, but its response was not MCP.
    pub fn is_unknown_protocol(&self) -> bool {
        self.unknown_protocol
    }

    /// Marks the error as an inconclusive probe: the server was reached, but its response does not show which revisions it
    /// supports. An example is an HTTP status about overload. Do not use it for missing credentials.
    #[must_use]
    pub fn as_inconclusive(mut self) -> Self {
        self.inconclusive = true;
        self
    }

    /// Returns whether the server was reached, but its response does not show which revisions it supports.
    pub fn is_inconclusive(&self) -> bool {
        self.inconclusive
    }

    /// Marks the error as temporary: the peer was unreachable, too busy or interrupted. The peer may accept the same message
    /// later.
    #[must_use]
    pub fn as_temporary(mut self) -> Self {
        self.temporary = true;
        self
    }

    /// Returns whether the peer may accept the same message later.
    pub fn is_temporary(&self) -> bool {
        self.temporary
    }

    /// Marks the error: the request was sent but has no response, so the peer may have executed it.
    #[must_use]
    pub fn as_possibly_executed(mut self) -> Self {
        self.possibly_executed = true;
        self
    }

    /// Returns whether the peer may have executed the request.
    pub fn is_possibly_executed(&self) -> bool {
        self.possibly_executed
    }

    /// Marks the error: the peer had lost the session and did not execute the request. A new session is open, so the request can
    /// be sent again.
    #[must_use]
    pub fn as_session_replaced(mut self) -> Self {
        self.session_replaced = true;
        self
    }

    /// Returns whether the request was not executed because the session was lost. The request can be sent again in the new
    /// session.
    pub fn is_session_replaced(&self) -> bool {
        self.session_replaced
    }

    /// Marks the error: the server refused the message because of a missing or invalid token. `challenge` is the server's
    /// challenge, as in `WWW-Authenticate`. It is empty if the server sent no challenge.
    #[must_use]
    pub fn with_challenge(mut self, challenge: impl Into<String>) -> Self {
        self.challenge = Some(challenge.into());
        self
    }

    /// Returns the challenge of a server that refused a message because of its token.
    pub fn challenge(&self) -> Option<&str> {
        self.challenge.as_deref()
    }

    /// Sets the source of the error.
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
