//! Limits on the requests of servers.

/// Limits on the sampling requests, elicitation requests and log messages of each server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Maximum number of sampling requests per minute, including denied requests. Default: 10.
    pub sampling_per_minute: u32,
    /// Maximum nesting depth of sampling requests. While a model answers a request, it can call a tool, and the server of the
    /// tool can send a nested request. The value 1 rejects all nested requests. Default: 3.
    pub max_sampling_depth: u32,
    /// Maximum number of tokens of a sampling result. If a request asks for more tokens, its number is reduced. Default: 4,096.
    pub max_sampling_tokens: u64,
    /// Maximum number of elicitation requests that wait for the user. Further requests get the result `cancel`. Default: 2.
    pub max_open_elicitations: usize,
    /// Maximum number of elicitation requests per minute, including denied requests. Default: 20.
    pub elicitations_per_minute: u32,
    /// Maximum number of log messages per second. Further messages are dropped and counted. Default: 30.
    pub logs_per_second: u32,
    /// Maximum total size of the unread log messages of all servers, in bytes of JSON. Further messages are dropped and counted.
    /// Default: 1 MiB.
    pub max_log_bytes: usize,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            sampling_per_minute: 10,
            max_sampling_depth: 3,
            max_sampling_tokens: 4_096,
            max_open_elicitations: 2,
            elicitations_per_minute: 20,
            logs_per_second: 30,
            max_log_bytes: 1 << 20,
        }
    }
}

impl ServerLimits {
    /// Sets [`sampling_per_minute`](Self::sampling_per_minute).
    #[must_use]
    pub fn with_sampling_per_minute(mut self, requests: u32) -> Self {
        self.sampling_per_minute = requests;
        self
    }

    /// Sets [`max_sampling_depth`](Self::max_sampling_depth).
    #[must_use]
    pub fn with_max_sampling_depth(mut self, depth: u32) -> Self {
        self.max_sampling_depth = depth;
        self
    }

    /// Sets [`max_sampling_tokens`](Self::max_sampling_tokens).
    #[must_use]
    pub fn with_max_sampling_tokens(mut self, tokens: u64) -> Self {
        self.max_sampling_tokens = tokens;
        self
    }

    /// Sets [`max_open_elicitations`](Self::max_open_elicitations).
    #[must_use]
    pub fn with_max_open_elicitations(mut self, forms: usize) -> Self {
        self.max_open_elicitations = forms;
        self
    }

    /// Sets [`elicitations_per_minute`](Self::elicitations_per_minute).
    #[must_use]
    pub fn with_elicitations_per_minute(mut self, forms: u32) -> Self {
        self.elicitations_per_minute = forms;
        self
    }

    /// Sets [`logs_per_second`](Self::logs_per_second).
    #[must_use]
    pub fn with_logs_per_second(mut self, messages: u32) -> Self {
        self.logs_per_second = messages;
        self
    }

    /// Sets [`max_log_bytes`](Self::max_log_bytes).
    #[must_use]
    pub fn with_max_log_bytes(mut self, bytes: usize) -> Self {
        self.max_log_bytes = bytes;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setter_changes_only_its_limit() {
        let limits = ServerLimits::default()
            .with_sampling_per_minute(1)
            .with_max_sampling_depth(2)
            .with_max_sampling_tokens(3)
            .with_max_open_elicitations(4)
            .with_elicitations_per_minute(5)
            .with_logs_per_second(6)
            .with_max_log_bytes(7);
        let expected = ServerLimits {
            sampling_per_minute: 1,
            max_sampling_depth: 2,
            max_sampling_tokens: 3,
            max_open_elicitations: 4,
            elicitations_per_minute: 5,
            logs_per_second: 6,
            max_log_bytes: 7,
        };
        assert_eq!(limits, expected);
    }
}
