//! Settings for tasks: the settings of one tool, and the settings of the server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_protocol::task::Timestamp;
use mcp_types::TaskSupport;

/// Default time to live of a task.
const TTL: Duration = Duration::from_secs(3_600);
/// Default maximum time to live that a client may request.
const MAX_TTL: Duration = Duration::from_secs(24 * 3_600);
/// Default maximum time to live of a task of an unauthenticated client on a network.
const MAX_ANONYMOUS_TTL: Duration = Duration::from_secs(3_600);
/// Minimum time to live. With a shorter time, a client could not read the result.
const MIN_TTL: Duration = Duration::from_secs(1);
/// Default poll interval for clients.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Default maximum number of stored tasks of unauthenticated clients at one address.
const MAX_ANONYMOUS: usize = 100;
/// Default maximum size of the stored tasks of one owner, in bytes.
const OWNER_BYTES: usize = 16 << 20;
/// Default maximum memory of the parsed arguments of all running tasks, in bytes.
const RUNNING_BYTES: usize = 64 << 20;
/// Default duration of the lease of a running task.
const LEASE: Duration = Duration::from_secs(30);
/// Default maximum number of running tasks per owner.
const RUNNING: usize = 64;

/// Whether calls of a tool run as tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskMode {
    /// Calls run as tasks if the client supports tasks. Up to 2025-11-25, the client must also request a task. All other calls
    /// run inline.
    #[default]
    Optional,
    /// All calls run as tasks. Calls of clients without support for tasks are rejected.
    Required,
}

/// The settings of a tool for tasks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskPolicy {
    pub(crate) mode: TaskMode,
    /// Whether a call becomes a task only when the handler detaches.
    pub(crate) is_detachable: bool,
    /// Whether the handler may run again after a restart of the server.
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
/// The store limits how many tasks exist: [`MemoryTaskStore`](crate::MemoryTaskStore) holds 1,000 per owner and 10,000 in total.
/// Requests about tasks are rate limited. A session can send 50 per second after a burst of 200. On the stateless revision, each
/// verified principal can send 400 in four seconds.
///
/// Without authentication, any client that has the id of a task can read its result and cancel it.
/// An id has 256 random bits. Keep it secret like a password, and prefer a short [time to
/// live](Self::with_ttl).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskOptions {
    pub(crate) ttl: Duration,
    pub(crate) max_ttl: Duration,
    pub(crate) max_anonymous_ttl: Duration,
    pub(crate) poll_interval: Duration,
    pub(crate) running: usize,
    pub(crate) max_running_bytes: usize,
    pub(crate) max_anonymous: usize,
    pub(crate) max_owner_bytes: usize,
    pub(crate) recovery: bool,
    pub(crate) lease: Duration,
    now: fn() -> SystemTime,
}

impl TaskOptions {
    /// Creates the default options. A task lives for one hour unless the client requests another time: at most one day,
    /// or one hour for a client without authentication. The poll interval is one second, and an owner can have 64 running tasks.
    pub fn new() -> Self {
        Self {
            ttl: TTL,
            max_ttl: MAX_TTL,
            max_anonymous_ttl: MAX_ANONYMOUS_TTL,
            poll_interval: POLL_INTERVAL,
            running: RUNNING,
            max_running_bytes: RUNNING_BYTES,
            max_anonymous: MAX_ANONYMOUS,
            max_owner_bytes: OWNER_BYTES,
            recovery: true,
            lease: LEASE,
            now: SystemTime::now,
        }
    }

    /// Sets the time to live of a task and its result if the client does not request a time. The time starts when the task
    /// starts. The server ends a task that is still running after this time. Default: one hour.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// Sets the maximum time to live that a client may request. Default: 24 hours.
    #[must_use]
    pub fn with_max_ttl(mut self, ttl: Duration) -> Self {
        self.max_ttl = ttl;
        self
    }

    /// Sets the maximum time to live that a client without authentication may request over a network.
    /// Such clients share one limit of stored tasks, so their tasks should end soon. Default: one
    /// hour.
    #[must_use]
    pub fn with_max_anonymous_ttl(mut self, ttl: Duration) -> Self {
        self.max_anonymous_ttl = ttl;
        self
    }

    /// Sets the interval at which clients are asked to poll a task. Default: one second.
    #[must_use]
    pub fn with_poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// Sets the maximum number of running tasks per owner. The owner is the principal or, without a principal, the address of the
    /// client. Clients whose address is unknown count as one owner. Default: 64.
    #[must_use]
    pub fn with_max_running(mut self, tasks: usize) -> Self {
        self.running = tasks;
        self
    }

    /// Sets the maximum memory, in bytes, of the parsed arguments of all running tasks. The estimate is an upper
    /// bound. One owner can use half of the maximum. Default: 64 MiB.
    #[must_use]
    pub fn with_max_running_bytes(mut self, bytes: usize) -> Self {
        self.max_running_bytes = bytes;
        self
    }

    /// Sets the maximum number of stored tasks of unauthenticated clients at one address or, for IPv6, in one network of 64 bits.
    /// A task counts until it expires. In the store, all unauthenticated clients are one owner. This limit keeps one address from
    /// using all the tasks that this owner may store. Default: 100.
    #[must_use]
    pub fn with_max_anonymous(mut self, tasks: usize) -> Self {
        self.max_anonymous = tasks;
        self
    }

    /// Sets the maximum estimated size of all stored tasks of one owner, in bytes. At this size the owner cannot start another
    /// task. The owner is the principal or, without a principal, the address of the client. A task counts until it expires, with
    /// its arguments and its result. Default: 16 MiB.
    #[must_use]
    pub fn with_max_owner_bytes(mut self, bytes: usize) -> Self {
        self.max_owner_bytes = bytes;
        self
    }

    /// Makes the server not recover the unfinished tasks of processes that have ended. Default: the server recovers them when it
    /// starts and, in a [shared](crate::TaskStore::is_shared) store, also later.
    #[must_use]
    pub fn without_recovery(mut self) -> Self {
        self.recovery = false;
        self
    }

    /// Sets the duration of the lease with which this process holds a running task in a [shared](crate::TaskStore::is_shared)
    /// store. The lease is renewed after each third of this duration. If this process ends, another process takes over the task
    /// within one and a half times this duration. The other process runs the task again if the tool is resumable, and otherwise
    /// ends the task. The clocks of the processes should differ by much less than this duration. Default: 30 s, at least 1 s.
    #[must_use]
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease.max(Duration::from_secs(1));
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

    /// Returns the time to live for a client that requests `wanted`. `is_anonymous` says whether the client is on a network and
    /// is not authenticated.
    pub(crate) fn effective_ttl(&self, wanted: Option<Duration>, is_anonymous: bool) -> Duration {
        let mut ttl = wanted.unwrap_or(self.ttl).min(self.max_ttl);
        if is_anonymous {
            ttl = ttl.min(self.max_anonymous_ttl);
        }
        ttl.max(MIN_TTL)
    }
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setter_changes_only_its_setting() {
        let seconds = Duration::from_secs;
        let options = TaskOptions::new()
            .with_ttl(seconds(11))
            .with_max_ttl(seconds(12))
            .with_max_anonymous_ttl(seconds(13))
            .with_poll_interval(seconds(14))
            .with_max_running(15)
            .with_max_running_bytes(16)
            .with_max_anonymous(17)
            .with_max_owner_bytes(18)
            .without_recovery()
            .with_lease(seconds(18))
            .with_clock(|| UNIX_EPOCH);
        assert_eq!(options.ttl, seconds(11));
        assert_eq!(options.max_ttl, seconds(12));
        assert_eq!(options.max_anonymous_ttl, seconds(13));
        assert_eq!(options.poll_interval, seconds(14));
        assert_eq!(options.running, 15);
        assert_eq!(options.max_running_bytes, 16);
        assert_eq!(options.max_anonymous, 17);
        assert_eq!(options.max_owner_bytes, 18);
        assert!(!options.recovery);
        assert_eq!(options.lease, seconds(18));
        assert_eq!(options.now(), Timestamp::default());
    }

    #[test]
    fn a_time_to_live_is_within_the_limits() {
        let seconds = Duration::from_secs;
        let options = TaskOptions::new()
            .with_ttl(seconds(20))
            .with_max_ttl(seconds(30))
            .with_max_anonymous_ttl(seconds(10));
        let known = |wanted| options.effective_ttl(wanted, false);
        assert_eq!(known(None), seconds(20));
        assert_eq!(known(Some(seconds(30))), seconds(30));
        assert_eq!(known(Some(seconds(31))), seconds(30));
        assert_eq!(known(Some(Duration::ZERO)), MIN_TTL);
        let anonymous = |wanted| options.effective_ttl(wanted, true);
        assert_eq!(anonymous(None), seconds(10));
        assert_eq!(anonymous(Some(seconds(9))), seconds(9));
    }

    #[test]
    fn a_lease_lasts_at_least_one_second() {
        let lease = |millis| {
            TaskOptions::new()
                .with_lease(Duration::from_millis(millis))
                .lease
        };
        assert_eq!(lease(999), Duration::from_secs(1));
        assert_eq!(lease(1_001), Duration::from_millis(1_001));
    }
}
