//! Timeouts of calls. Functions receive the current time as an argument.

use std::time::{Duration, Instant};

/// The timeouts of a call.
///
/// Specification: lifecycle, timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Idle timeout. It starts with the call, and starts again with each progress notification. Default 60 s.
    pub idle: Duration,
    /// Total timeout, which progress does not extend. Default 10 min.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(60),
            total: Duration::from_secs(600),
        }
    }
}

impl Timeouts {
    /// Creates timeouts.
    pub fn new(idle: Duration, total: Duration) -> Self {
        Self { idle, total }
    }

    /// Returns the deadline of a call that starts at `now`.
    pub fn start(self, now: Instant) -> Deadline {
        Deadline {
            total: now + self.total,
            idle: now + self.idle,
            timeouts: self,
        }
    }
}

/// The time at which a running call times out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    timeouts: Timeouts,
    idle: Instant,
    total: Instant,
}

impl Deadline {
    /// Records a progress notification: restarts the idle timeout, but not the total timeout.
    pub fn progress(&mut self, now: Instant) {
        self.idle = now + self.timeouts.idle;
    }

    /// Returns the time at which the call times out if there is no further progress.
    pub fn at(&self) -> Instant {
        self.idle.min(self.total)
    }

    /// Returns the name and the value of the timeout that has expired at `now`.
    pub fn expired(&self, now: Instant) -> Option<(&'static str, Duration)> {
        if now >= self.total {
            Some(("Timeouts::total", self.timeouts.total))
        } else if now >= self.idle {
            Some(("Timeouts::idle", self.timeouts.idle))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves: LIFE-032, LIFE-033
    #[test]
    fn progress_extends_the_idle_timeout_but_not_the_total_timeout() {
        let second = Duration::from_secs(1);
        let start = Instant::now();
        let mut deadline = Timeouts::new(second * 10, second * 25).start(start);
        assert_eq!(deadline.at(), start + second * 10);
        assert_eq!(deadline.expired(start + second * 9), None);
        deadline.progress(start + second * 9);
        assert_eq!(deadline.at(), start + second * 19);
        deadline.progress(start + second * 18);
        assert_eq!(deadline.at(), start + second * 25);
        assert_eq!(
            deadline.expired(start + second * 25),
            Some(("Timeouts::total", second * 25))
        );
        let quiet = Timeouts::default().start(start);
        assert_eq!(
            quiet.expired(start + second * 60),
            Some(("Timeouts::idle", second * 60))
        );
    }
}
