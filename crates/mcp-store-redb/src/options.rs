//! The options of a store.

/// Limits of a [`RedbTaskStore`](crate::RedbTaskStore).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedbOptions {
    pub(crate) max_tasks: usize,
    pub(crate) max_tasks_per_owner: usize,
    pub(crate) max_bytes: usize,
    #[cfg(feature = "sessions")]
    pub(crate) max_sessions: usize,
    #[cfg(feature = "sessions")]
    pub(crate) max_session_bytes: usize,
    pub(crate) cache: usize,
    pub(crate) queue: usize,
}

impl RedbOptions {
    /// Creates the default limits: 10,000 tasks, 1,000 per owner, 64 MiB of task records, 10,000 sessions, 64 MiB of session
    /// records, a cache of 8 MiB and a queue of 256 operations.
    pub fn new() -> Self {
        Self {
            max_tasks: 10_000,
            max_tasks_per_owner: 1_000,
            max_bytes: 64 << 20,
            #[cfg(feature = "sessions")]
            max_sessions: 10_000,
            #[cfg(feature = "sessions")]
            max_session_bytes: 64 << 20,
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

    /// Sets the maximum total size of all records in bytes. The file is somewhat larger and does
    /// not shrink; free space in it is reused. Default: 64 MiB.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the maximum number of sessions. Default: 10,000.
    #[cfg(feature = "sessions")]
    #[must_use]
    pub fn with_max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions;
        self
    }

    /// Sets the maximum total size of all sessions in bytes. Default: 64 MiB.
    #[cfg(feature = "sessions")]
    #[must_use]
    pub fn with_max_session_bytes(mut self, bytes: usize) -> Self {
        self.max_session_bytes = bytes;
        self
    }

    /// Sets the size of the memory cache in bytes. Default: 8 MiB.
    #[must_use]
    pub fn with_cache_bytes(mut self, bytes: usize) -> Self {
        self.cache = bytes;
        self
    }

    /// Sets the maximum number of queued operations. Further callers wait until the queue has room. Default: 256; minimum: 1.
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
