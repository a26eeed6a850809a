//! What becomes of a task whose server does not answer.

use std::time::Duration;

use mcp_jsonrpc::{ErrorCode, ErrorObject};
use tokio::time::Instant;

use super::state::TaskState;

/// The longest wait between two tries.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// How long to go on asking a server that does not answer.
pub(super) struct RetrySchedule {
    /// When it last answered, or when the asking began.
    answered: Instant,
    /// How long the task may be gone without an answer, where it has no limit of its own.
    max_silence: Duration,
    /// When the task may be forgotten, as far as that is known.
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

    /// The server has answered.
    pub(super) fn answered(&mut self, state: &TaskState, now: Instant) {
        self.answered = now;
        self.failures = 0;
        // An hour that the task has already lasted is an hour too many, and does no harm.
        self.expires = state.ttl.and_then(|ttl| self.began.checked_add(ttl));
    }

    /// The server has not answered; how long to wait, or `None` if it is given up.
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

/// Whether a refusal to say how a task stands is the server's last word: it does not know the
/// task, or not any more. Others (an overload, a failure) may pass.
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
    fn asking_goes_on_ever_slower_until_the_task_may_be_gone() {
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
        // An answer begins it anew; without a limit of the task there is one of the client.
        schedule.answered(&state(None), now);
        assert_eq!(schedule.failed(second, now), Some(second));
        assert!(schedule.failed(second, now + second * 599).is_some());
        assert_eq!(schedule.failed(second, now + second * 600), None);
    }
}
