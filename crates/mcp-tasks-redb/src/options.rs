//! What a store may take.

/// Limits of a [`RedbStore`](crate::RedbStore).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedbOptions {
    pub(crate) max_tasks: usize,
    pub(crate) max_tasks_per_owner: usize,
    pub(crate) max_bytes: usize,
    pub(crate) cache: usize,
    pub(crate) queue: usize,
}

impl RedbOptions {
    /// 10,000 tasks, 1,000 of one owner, 64 MiB of records; 8 MiB of them in memory; 256 operations
    /// that wait.
    pub fn new() -> Self {
        Self {
            max_tasks: 10_000,
            max_tasks_per_owner: 1_000,
            max_bytes: 64 << 20,
            cache: 8 << 20,
            queue: 256,
        }
    }

    /// Sets how many tasks are kept; default 10,000.
    #[must_use]
    pub fn with_max_tasks(mut self, tasks: usize) -> Self {
        self.max_tasks = tasks;
        self
    }

    /// Sets how many tasks of one owner are kept; default 1,000. All who are nobody in particular
    /// count as one owner.
    #[must_use]
    pub fn with_max_tasks_per_owner(mut self, tasks: usize) -> Self {
        self.max_tasks_per_owner = tasks;
        self
    }

    /// Sets how many bytes the records of all tasks may take; default 64 MiB. The file is somewhat
    /// larger, and does not shrink: what is free in it is used again.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets how many bytes of the file are held in memory; default 8 MiB.
    #[must_use]
    pub fn with_cache(mut self, bytes: usize) -> Self {
        self.cache = bytes;
        self
    }

    /// Sets how many operations wait for the disk before others wait to be taken up; default 256,
    /// at least one.
    #[must_use]
    pub fn with_queue(mut self, operations: usize) -> Self {
        self.queue = operations.max(1);
        self
    }
}

impl Default for RedbOptions {
    fn default() -> Self {
        Self::new()
    }
}
