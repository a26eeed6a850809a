//! The settings of a connection.

use std::fmt;
use std::time::Duration;

/// The kind of Redis installation that the URL belongs to.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Topology {
    Single,
    /// The URLs of the Sentinels.
    #[cfg(feature = "sentinel")]
    Sentinel(Vec<String>),
    /// The URLs of additional nodes.
    #[cfg(feature = "cluster")]
    Cluster(Vec<String>),
}

impl fmt::Debug for Topology {
    /// Writes the settings without URLs, because URLs may contain passwords.
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
    /// Creates the default settings.
    pub fn new() -> Self {
        Self {
            topology: Topology::Single,
            prefix: "mcp:".to_owned(),
            connect_timeout: Duration::from_secs(2),
            response_timeout: Duration::from_secs(1),
        }
    }

    /// Sets the prefix of all keys. Default: `mcp:`. Processes that share their sessions need the same prefix. Other servers that
    /// use the same Redis need a different prefix.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the URLs of Sentinel processes, such as `redis://10.0.0.1:26379`. The URL of Redis must then have the name of the
    /// master instead of a host, and the user, password and database of the master: `redis://:PASSWORD@mymaster/0`.
    ///
    /// After a failover, operations fail until the Sentinels name the new master. Changes that the old master has not replicated
    /// are lost. The Redis settings `min-replicas-to-write` and `min-replicas-max-lag` limit this loss to the changes of a few
    /// seconds.
    #[cfg(feature = "sentinel")]
    #[must_use]
    pub fn with_sentinels<U: Into<String>>(mut self, urls: impl IntoIterator<Item = U>) -> Self {
        self.topology = Topology::Sentinel(urls.into_iter().map(Into::into).collect());
        self
    }

    /// Connects to a Redis Cluster. The URL of Redis is the URL of any node. `urls` contains the URLs of other nodes, which are
    /// used if the first node cannot be reached. All nodes have the same user and password.
    #[cfg(feature = "cluster")]
    #[must_use]
    pub fn with_cluster<U: Into<String>>(mut self, urls: impl IntoIterator<Item = U>) -> Self {
        self.topology = Topology::Cluster(urls.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the maximum time for opening a connection. Default: 2 s.
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the maximum time for the response to a command. Default: 1 s. A command that has failed for this reason may still
    /// have taken effect.
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
