//! The options of a store.

#[cfg(feature = "http")]
use std::time::Duration;

/// Limits of a [`RedbStore`](crate::RedbStore).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedbOptions {
    pub(crate) max_tasks: usize,
    pub(crate) max_tasks_per_owner: usize,
    pub(crate) max_task_bytes: usize,
    #[cfg(feature = "http")]
    pub(crate) max_sessions: usize,
    #[cfg(feature = "http")]
    pub(crate) max_session_bytes: usize,
    #[cfg(feature = "http")]
    pub(crate) event_retention: Duration,
    #[cfg(feature = "http")]
    pub(crate) max_session_event_bytes: usize,
    #[cfg(feature = "http")]
    pub(crate) max_event_bytes: usize,
    #[cfg(feature = "http")]
    pub(crate) max_queued_event_bytes: usize,
    pub(crate) cache: usize,
    pub(crate) queue: usize,
}

impl RedbOptions {
    /// Creates the default limits. Each setter names its default.
    pub fn new() -> Self {
        Self {
            max_tasks: 10_000,
            max_tasks_per_owner: 1_000,
            max_task_bytes: 64 << 20,
            #[cfg(feature = "http")]
            max_sessions: 10_000,
            #[cfg(feature = "http")]
            max_session_bytes: 64 << 20,
            #[cfg(feature = "http")]
            event_retention: Duration::from_secs(5 * 60),
            #[cfg(feature = "http")]
            max_session_event_bytes: 10 << 20,
            #[cfg(feature = "http")]
            max_event_bytes: 64 << 20,
            #[cfg(feature = "http")]
            max_queued_event_bytes: 16 << 20,
            cache: 8 << 20,
            queue: 256,
        }
    }

    /// Sets the maximum number of tasks. Default: 10,000.
    #[must_use]
    pub fn with_max_tasks(mut self, tasks: usize) -> Self {
        self.max_tasks = tasks;
        self
    }

    /// Sets the maximum number of tasks per owner; all unauthenticated clients count as one owner.
    /// Default: 1,000.
    #[must_use]
    pub fn with_max_tasks_per_owner(mut self, tasks: usize) -> Self {
        self.max_tasks_per_owner = tasks;
        self
    }

    /// Sets the maximum total size of all tasks in bytes. The file is somewhat larger. It does not shrink, but its free space is
    /// reused. Default: 64 MiB.
    #[must_use]
    pub fn with_max_task_bytes(mut self, bytes: usize) -> Self {
        self.max_task_bytes = bytes;
        self
    }

    /// Sets the maximum number of sessions. Default: 10,000.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Sets the maximum total size of all sessions in bytes. Default: 64 MiB.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_max_session_bytes(mut self, bytes: usize) -> Self {
        self.max_session_bytes = bytes;
        self
    }

    /// Sets the time for which an event is kept. Default: 5 minutes.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_event_retention(mut self, retention: Duration) -> Self {
        self.event_retention = retention;
        self
    }

    /// Sets the maximum size of the events of one session in bytes. The size includes about 160 bytes for each event. Default: 10
    /// MiB.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_max_session_event_bytes(mut self, bytes: usize) -> Self {
        self.max_session_event_bytes = bytes;
        self
    }

    /// Sets the maximum size of the events of all sessions in bytes. Default: 64 MiB.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = bytes;
        self
    }

    /// Sets the maximum size of the events that wait for the disk, in bytes of memory. Further events are sent, but not
    /// stored. Default: 16 MiB.
    #[cfg(feature = "http")]
    #[must_use]
    pub fn with_max_queued_event_bytes(mut self, bytes: usize) -> Self {
        self.max_queued_event_bytes = bytes;
        self
    }

    /// Sets the size of the memory cache in bytes. Default: 8 MiB.
    #[must_use]
    pub fn with_cache_bytes(mut self, bytes: usize) -> Self {
        self.cache = bytes;
        self
    }

    /// Sets the maximum number of queued operations on tasks and sessions. Further callers wait until the queue has room. Default: 256; minimum: 1.
    #[must_use]
    pub fn with_max_queued_operations(mut self, operations: usize) -> Self {
        self.queue = operations.max(1);
        self
    }
}

impl Default for RedbOptions {
    fn default() -> Self {
        Self::new()
    }
}
