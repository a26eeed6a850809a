//! Connections with the accounts of users.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use mcp_client::Error;
use mcp_jsonrpc::ErrorObject;
use mcp_protocol::{Owner, Principal, Transport, lock};
use tokio::time::Instant;

use super::Core;
use crate::connection::{unavailable, unreachable};

/// How long a user waits after a connection could not be opened. Each attempt can close a connection of another user.
const FAILURE_WAIT: Duration = Duration::from_secs(1);
/// Maximum number of users whose failures are kept.
const MAX_FAILURES: usize = 1_024;

/// The users whose last connection could not be opened, with the time of the next attempt.
#[derive(Default)]
pub(super) struct AccountFailures(Mutex<HashMap<Principal, Instant>>);

impl AccountFailures {
    fn is_waiting(&self, user: &Principal, now: Instant) -> bool {
        lock(&self.0).get(user).is_some_and(|next| now < *next)
    }

    fn record(&self, user: &Principal, has_failed: bool, now: Instant) {
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

impl Core {
    /// Creates the transport of a connection for a client. Call it before other connections are closed for the new one.
    ///
    /// # Errors
    /// The configuration is invalid; or, if users have accounts, the client has none, or its last attempt failed a short time ago.
    pub(super) fn transport_for(&self, client: &Owner) -> Result<Box<dyn Transport>, ErrorObject> {
        let upstream = &self.upstream;
        if let Some(user) = self.user_of(client)
            && self.account_failures.is_waiting(user, Instant::now())
        {
            let name = &*upstream.name;
            let text = format!(
                "the last connection to the server {name:?} with your account has failed; the log of the gateway has the reason; try again in a second"
            );
            return Err(unavailable(name, text));
        }
        upstream
            .transport(Some(client))
            .map_err(|error| self.not_opened(client, error))
    }

    /// Records whether a connection for a client could be opened.
    pub(super) fn record_opened(&self, client: &Owner, has_failed: bool) {
        if let Some(user) = self.user_of(client) {
            self.account_failures
                .record(user, has_failed, Instant::now());
        }
    }

    /// Converts the reason why a connection for a client was not opened.
    pub(super) fn not_opened(&self, client: &Owner, error: Error) -> ErrorObject {
        let server = &*self.upstream.name;
        match error {
            Error::Rejected(reason) if self.upstream.has_accounts() => reason,
            error if self.upstream.has_accounts() => {
                if let Some(omitted) = self.failures.admit(std::time::Instant::now()) {
                    tracing::warn!(server, %client, %error, omitted, "the server cannot be reached with the account of a user");
                }
                let text = format!(
                    "the server {server:?} cannot be reached with your account; the log of the gateway has the reason"
                );
                unavailable(server, text)
            }
            error => unreachable(server, &error, &self.failures),
        }
    }

    fn user_of<'a>(&self, client: &'a Owner) -> Option<&'a Principal> {
        client
            .principal
            .as_ref()
            .filter(|_| self.upstream.has_accounts())
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
        assert!(!failures.is_waiting(&bob, start));
        failures.record(&ada, false, start);
        assert!(!failures.is_waiting(&ada, start));
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
