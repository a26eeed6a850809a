//! The settings of a connection.

use std::fmt;
use std::time::Duration;

/// The kind of Redis that a URL belongs to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Topology {
    Single,
    /// The URLs of the Sentinels.
    #[cfg(feature = "sentinel")]
    Sentinel(Vec<String>),
    /// The URLs of further nodes.
    #[cfg(feature = "cluster")]
    Cluster(Vec<String>),
}

impl fmt::Debug for Topology {
    /// Writes no URLs, because they may contain passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Single => "Single",
            #[cfg(feature = "sentinel")]
            Self::Sentinel(_) => "Sentinel",
            #[cfg(feature = "cluster")]
            Self::Cluster(_) => "Cluster",
        })
    }
}

/// Settings of a [`RedisStore`](crate::RedisStore).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisOptions {
    pub(crate) topology: Topology,
    pub(crate) prefix: String,
    pub(crate) connect_timeout: Duration,
    pub(crate) response_timeout: Duration,
}

impl RedisOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self {
            topology: Topology::Single,
            prefix: "mcp:".to_owned(),
            connect_timeout: Duration::from_secs(2),
            response_timeout: Duration::from_secs(1),
        }
    }

    /// Sets the text before all keys; default `mcp:`. Servers that share their sessions need the same prefix; other servers that
    /// use the same Redis need a different prefix.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the URLs of Sentinel processes, such as `redis://10.0.0.1:26379`. The URL of Redis then has the name of the master instead of a
    /// host, with the user, password and database of the master: `redis://:PASSWORD@mymaster/0`.
    ///
    /// After a failover, operations fail until the Sentinels name the new master. Changes that the old master has not replicated are
    /// lost; its settings `min-replicas-to-write` and `min-replicas-max-lag` limit them to a few seconds.
    #[cfg(feature = "sentinel")]
    #[must_use]
    pub fn with_sentinels<U: Into<String>>(mut self, urls: impl IntoIterator<Item = U>) -> Self {
        self.topology = Topology::Sentinel(urls.into_iter().map(Into::into).collect());
        self
    }

    /// Connects to a Redis Cluster. The URL of Redis is the URL of any node; these URLs are other nodes, which are used if the
    /// first node cannot be reached. All nodes have the same user and password.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn with_cluster<U: Into<String>>(mut self, urls: impl IntoIterator<Item = U>) -> Self {
        self.topology = Topology::Cluster(urls.into_iter().map(Into::into).collect());
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
