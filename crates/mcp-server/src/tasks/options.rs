//! What is set for tasks: on a tool, and on the server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_protocol::task::Timestamp;
use mcp_types::TaskSupport;

/// How long a task is kept unless its client asks for another time.
const TTL: Duration = Duration::from_secs(3_600);
/// The longest time a client gets.
const MAX_TTL: Duration = Duration::from_secs(24 * 3_600);
/// The shortest time a client gets: nobody could read the result of less.
const MIN_TTL: Duration = Duration::from_secs(1);
/// How long clients are asked to wait between two looks.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Tasks of one owner that run at once.
const RUNNING: usize = 64;

/// Whether calls of a tool outlive their request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskMode {
    /// They do for clients that know tasks: in 2025-11-25 when the client says so, from
    /// 2026-07-28 on always. Others wait for the result.
    #[default]
    Optional,
    /// They always do; clients that know no tasks are refused.
    Required,
}

/// What a tool says of tasks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskPolicy {
    pub(crate) mode: TaskMode,
    /// The handler itself says when it leaves its request.
    pub(crate) is_detachable: bool,
    /// The handler may be run again after a restart.
    pub(crate) is_resumable: bool,
}

impl TaskPolicy {
    pub(crate) fn support(self) -> TaskSupport {
        match self.mode {
            TaskMode::Optional => TaskSupport::Optional,
            TaskMode::Required => TaskSupport::Required,
        }
    }
}

/// Limits and times of a server's tasks.
///
/// How many tasks are kept is a matter of the store: [`MemoryStore`](crate::MemoryStore) keeps
/// 1,000 of each owner and 10,000 in all. Requests about tasks are limited: in a session to 50 a
/// second after a first burst of 200, where there are no sessions to 400 in four seconds of each
/// verified principal.
///
/// Where nobody is verified, whoever has the id of a task can read its result and end it. An id
/// has 256 random bits; keep it like a password, and prefer a short [time to live](Self::with_ttl).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskOptions {
    pub(crate) ttl: Duration,
    pub(crate) max_ttl: Duration,
    pub(crate) poll_interval: Duration,
    pub(crate) running: usize,
    pub(crate) recovery: bool,
    now: fn() -> SystemTime,
}

impl TaskOptions {
    /// One hour to live, one day at most, a look each second, 64 running tasks of each owner.
    pub fn new() -> Self {
        Self {
            ttl: TTL,
            max_ttl: MAX_TTL,
            poll_interval: POLL_INTERVAL,
            running: RUNNING,
            recovery: true,
            now: SystemTime::now,
        }
    }

    /// Sets how long a task and its result are kept, counted from its start, if the client does
    /// not ask for a time of its own; default one hour. A task that still runs then is ended.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the longest time that a client gets; default 24 hours.
    #[must_use]
    pub fn with_max_ttl(mut self, ttl: Duration) -> Self {
        self.max_ttl = ttl;
        self
    }

    /// Sets how long clients are asked to wait from one look to the next; default one second.
    #[must_use]
    pub fn with_poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Sets how many tasks of one owner run at once; default 64. All who are not verified count as
    /// one owner.
    #[must_use]
    pub fn with_max_running(mut self, tasks: usize) -> Self {
        self.running = tasks;
        self
    }

    /// Whether the server takes up what its store holds unfinished when it starts; default: yes.
    /// Of several processes with one store only one may, and it has to start first.
    #[must_use]
    pub fn with_recovery(mut self, recovery: bool) -> Self {
        self.recovery = recovery;
        self
    }

    /// Sets the clock, for tests of this workspace.
    #[doc(hidden)]
    #[must_use]
    pub fn with_clock(mut self, now: fn() -> SystemTime) -> Self {
        self.now = now;
        self
    }

    pub(crate) fn now(&self) -> Timestamp {
        let since = (self.now)().duration_since(UNIX_EPOCH);
        Timestamp::default().after(since.unwrap_or_default())
    }

    /// The time that a client gets who asks for this one.
    pub(crate) fn effective_ttl(&self, wanted: Option<Duration>) -> Duration {
        let ttl = wanted.unwrap_or(self.ttl).min(self.max_ttl);
        ttl.max(MIN_TTL)
    }
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self::new()
    }
}
