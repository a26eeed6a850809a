//! Computes the delays between restarts of a server.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The backoff between restarts of a failed server, and the number of failures after which the host gives up.
///
/// The delay before a restart starts at 0.25 s and doubles up to 60 s. A random jitter shortens each delay by up to a quarter. A
/// connection that lasts 60 s resets the delay. After 10 failures in 10 min, the server is in state
/// [`Failed`](crate::ServerState::Failed) and is not restarted automatically.
///
/// If a connected server cannot list its tools, the host repeats the request with the same delays. The number of these requests
/// is not limited.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RestartPolicy {
    /// The delay after the first failure. Default: 0.25 s.
    pub initial_delay: Duration,
    /// The maximum delay. Default: 60 s.
    pub max_delay: Duration,
    /// Minimum duration of a connection that resets the delay. Default: 60 s.
    pub reset_after: Duration,
    /// Number of failures within `failure_window` after which the server is not started again. Default: 10.
    pub max_failures: usize,
    /// The period in which failures are counted. Default: 10 min.
    pub failure_window: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self {
            initial_delay: Duration::from_millis(250),
            max_delay: Duration::from_secs(60),
            reset_after: Duration::from_secs(60),
            max_failures: 10,
            failure_window: Duration::from_secs(600),
        }
    }
}

impl RestartPolicy {
    /// Sets the delay after the first failure.
    #[must_use]
    pub fn with_initial_delay(mut self, delay: Duration) -> Self {
        self.initial_delay = delay;
        self
    }

    /// Sets the maximum delay.
    #[must_use]
    pub fn with_max_delay(mut self, delay: Duration) -> Self {
        self.max_delay = delay;
        self
    }

    /// Sets the number of failures within `window` after which the server is not started again.
    #[must_use]
    pub fn with_max_failures(mut self, failures: usize, window: Duration) -> Self {
        (self.max_failures, self.failure_window) = (failures, window);
        self
    }

    /// Returns the delay after a failure that follows `earlier` consecutive failures. `random` is a number from 0 to 255 for the
    /// jitter.
    pub(super) fn wait(&self, earlier: u32, random: u8) -> Duration {
        let wait = self.initial_delay.saturating_mul(1 << earlier.min(20));
        let wait = wait.min(self.max_delay);
        wait - wait / 4 * u32::from(random) / 255
    }
}

/// The failures of one server.
#[derive(Debug, Default)]
pub(super) struct Failures {
    times: VecDeque<Instant>,
    /// Number of failures since the last connection that lasted long enough to reset the delay.
    in_row: u32,
}

impl Failures {
    /// Counts a failure. `lasted` is the time for which the connection was open. `random` is a number from 0 to 255 for the
    /// jitter. Returns the delay before the restart; `None` if there were too many failures.
    pub(super) fn wait(
        &mut self,
        policy: &RestartPolicy,
        now: Instant,
        lasted: Duration,
        random: u8,
    ) -> Option<Duration> {
        if lasted >= policy.reset_after {
            *self = Self::default();
        }
        self.times.push_back(now);
        while self
            .times
            .front()
            .is_some_and(|&time| now - time > policy.failure_window)
        {
            self.times.pop_front();
        }
        if self.times.len() >= policy.max_failures {
            self.times.clear();
            self.in_row = 0;
            return None;
        }
        let wait = policy.wait(self.in_row, random);
        self.in_row += 1;
        Some(wait)
    }
}

/// Returns a random number for the jitter.
pub(super) fn random() -> u8 {
    let mut byte = [0];
    // Without random numbers there is no jitter, which is safe.
    let _ = getrandom::fill(&mut byte);
    byte[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restart_delays_grow_until_the_failure_limit() {
        let (policy, now) = (RestartPolicy::default(), Instant::now());
        let mut failures = Failures::default();
        let mut wait = |after: u64, lasted, random| {
            let now = now + Duration::from_secs(after);
            let wait = failures.wait(&policy, now, Duration::from_secs(lasted), random);
            wait.map(|wait| wait.as_millis())
        };
        assert_eq!(wait(0, 0, 0), Some(250));
        assert_eq!(wait(1, 0, 0), Some(500));
        assert_eq!(
            wait(2, 0, 255),
            Some(750),
            "the jitter shortens by a quarter"
        );
        assert_eq!(wait(3, 60, 0), Some(250), "a connection that lasted resets");
        for expected in [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000] {
            assert_eq!(wait(4, 0, 0), Some(expected));
        }
        assert_eq!(wait(5, 0, 0), None, "the tenth failure in ten minutes");
        assert_eq!(wait(6, 0, 0), Some(250), "asked to start again");
        assert_eq!(wait(700, 0, 0), Some(500));
    }
}
