//! The settings of a connection.

use std::time::Duration;

/// Settings of a [`RedisStore`](crate::RedisStore).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisOptions {
    pub(crate) prefix: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) response_timeout: Duration,
}

impl RedisOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self {
            prefix: "mcp:".to_owned(),
            connect_timeout: Duration::from_secs(2),
            response_timeout: Duration::from_secs(1),
        }
    }

    /// Sets the text before all keys; default `mcp:`. Servers that share their sessions have the same
    /// prefix, other servers at the same Redis another one.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets how long a connection may take to be opened; default 2 s.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long a command may take before it fails; default 1 s. The command may still have
    /// taken effect.
    #[must_use]
    pub fn with_response_timeout(mut self, timeout: Duration) -> Self {
        self.response_timeout = timeout;
        self
    }
}

impl Default for RedisOptions {
    fn default() -> Self {
        Self::new()
    }
}
