//! Decides how long to poll a task whose server does not respond.

use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use tokio::time::Instant;

use crate::task_status::state::TaskState;

/// Maximum delay between two attempts.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// The schedule of attempts to reach a server that does not respond.
pub(super) struct RetrySchedule {
    /// Time of the last response; before the first response, the time of the first attempt.
    answered: Instant,
    /// Maximum time without a response. Applies to a task without a time to live.
    max_silence: Duration,
    /// Time at which the server may remove the task, if known.
    expires: Option<Instant>,
    began: Instant,
    failures: u32,
}

impl RetrySchedule {
    pub(super) fn new(max_silence: Duration, now: Instant) -> Self {
        Self {
            answered: now,
            max_silence,
            expires: None,
            began: now,
            failures: 0,
        }
    }

    /// Records that the server responded.
    pub(super) fn answered(&mut self, state: &TaskState, now: Instant) {
        self.answered = now;
        self.failures = 0;
        // Counted from the first attempt, although the task may be older: this only extends the
        // polling.
        self.expires = state.ttl.and_then(|ttl| self.began.checked_add(ttl));
    }

    /// Records a failed attempt. Returns the delay before the next attempt, or `None` if no attempt is left.
    pub(super) fn failed(&mut self, pause: Duration, now: Instant) -> Option<Duration> {
        let end = self.expires.unwrap_or(self.answered + self.max_silence);
        if now >= end {
            return None;
        }
        let doubled = pause.saturating_mul(1 << self.failures.min(10));
        self.failures += 1;
        let wait = doubled.min(MAX_DELAY.max(pause));
        Some(wait.min(end - now))
    }
}

/// Returns whether repeating the request is useless, for example because the server does not know the task. Other errors, for
/// example an overload, may be temporary.
pub(super) fn is_final(error: &ErrorObject) -> bool {
    matches!(
        error.code,
        ErrorCode::INVALID_PARAMS
            | ErrorCode::METHOD_NOT_FOUND
            | ErrorCode::INVALID_REQUEST
            | ErrorCode::MISSING_CLIENT_CAPABILITY
            | ErrorCode::HEADER_MISMATCH
            | ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
    )
}

#[cfg(test)]
mod tests {
    use mcp_types::TaskStatus;

    use super::*;

    fn state(ttl: Option<Duration>) -> TaskState {
        TaskState {
            status: TaskStatus::Working,
            message: None,
            created_at: String::new(),
            last_updated_at: String::new(),
            ttl,
            poll_interval: None,
        }
    }

    // proves: M-TASK-029
    #[test]
    fn polling_slows_down_until_the_task_expires() {
        let second = Duration::from_secs(1);
        let start = Instant::now();
        let mut schedule = RetrySchedule::new(second * 600, start);
        schedule.answered(&state(Some(second * 100)), start);
        let mut now = start;
        let mut waits = Vec::new();
        while let Some(wait) = schedule.failed(second, now) {
            waits.push(wait.as_secs());
            now += wait;
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30, 9]);
        assert_eq!(now, start + second * 100);
        // A response restarts the schedule. A task without a time to live has the limit of the
        // client.
        schedule.answered(&state(None), now);
        assert_eq!(schedule.failed(second, now), Some(second));
        assert!(schedule.failed(second, now + second * 599).is_some());
        assert_eq!(schedule.failed(second, now + second * 600), None);
    }
}
