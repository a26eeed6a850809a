//! Delays the next connection with a user's account after a failure.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use mcp_protocol::{Principal, lock};
use tokio::time::Instant;

/// Minimum delay between a failed connection with a user's account and the next attempt.
const FAILURE_WAIT: Duration = Duration::from_secs(1);
/// Maximum number of users whose failures are recorded.
const MAX_FAILURES: usize = 1_024;

/// The users whose last connection could not be opened, each with the earliest time of the next attempt.
#[derive(Default)]
pub(crate) struct AccountFailures(Mutex<HashMap<Principal, Instant>>);

impl AccountFailures {
    pub(crate) fn is_waiting(&self, user: &Principal, now: Instant) -> bool {
        lock(&self.0).get(user).is_some_and(|next| now < *next)
    }

    /// Returns whether the last connection for a user could not be opened.
    pub(crate) fn has_failed(&self, user: &Principal) -> bool {
        lock(&self.0).contains_key(user)
    }

    pub(crate) fn record(&self, user: &Principal, has_failed: bool, now: Instant) {
        let mut failures = lock(&self.0);
        if !has_failed {
            failures.remove(user);
            return;
        }
        if failures.len() >= MAX_FAILURES {
            failures.retain(|_, next| now < *next);
        }
        if failures.len() < MAX_FAILURES {
            failures.insert(user.clone(), now + FAILURE_WAIT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_user_waits_for_a_second_after_a_failure() {
        let failures = AccountFailures::default();
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        let start = Instant::now();
        failures.record(&ada, true, start);
        let later = |millis| start + Duration::from_millis(millis);
        assert!(failures.is_waiting(&ada, later(999)));
        assert!(!failures.is_waiting(&ada, later(1_000)));
        assert!(!failures.is_waiting(&bob, start) && !failures.has_failed(&bob));
        assert!(failures.has_failed(&ada), "also after the wait");
        failures.record(&ada, false, start);
        assert!(!failures.is_waiting(&ada, start) && !failures.has_failed(&ada));
    }

    #[tokio::test(start_paused = true)]
    async fn the_failures_of_at_most_1024_users_are_kept() {
        let failures = AccountFailures::default();
        let start = Instant::now();
        let user = |number: usize| Principal::new(number.to_string());
        for number in 0..=MAX_FAILURES {
            failures.record(&user(number), true, start);
        }
        assert!(failures.is_waiting(&user(MAX_FAILURES - 1), start));
        assert!(!failures.is_waiting(&user(MAX_FAILURES), start));
        // Expired failures make room.
        failures.record(&user(MAX_FAILURES), true, start + FAILURE_WAIT);
        assert!(failures.is_waiting(&user(MAX_FAILURES), start + FAILURE_WAIT));
    }
}
