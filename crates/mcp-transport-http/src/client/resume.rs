//! Decides when an interrupted event stream is resumed, and after which event.
//!
//! Specification:
//! [resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery).

use std::time::Duration;

use http::HeaderValue;

use crate::client::options::ReconnectPolicy;
use crate::sse::Event;

/// The base delay divided by this number is the minimum delay, even if the server requests no delay. Without a minimum, a server
/// that closes the stream after every event would cause constant reconnects.
const MIN_DELAY_DIVISOR: u32 = 16;

/// The state of one event stream. It is kept when a new connection carries the stream.
pub(crate) struct ResumeState<'a> {
    policy: &'a ReconnectPolicy,
    /// The id of the last event. The stream is resumed after this event.
    last: Option<HeaderValue>,
    /// The delay that the server requested.
    retry: Option<Duration>,
    /// Number of attempts since the last new event.
    attempts: u32,
    /// Number of all attempts.
    total: u32,
    /// Maximum number of all attempts.
    max_total: u32,
}

impl<'a> ResumeState<'a> {
    /// Creates the state for the stream of one call.
    pub(crate) fn of_call(policy: &'a ReconnectPolicy) -> Self {
        Self {
            max_total: policy.total,
            ..Self::of_connection(policy)
        }
    }

    /// Creates the state for the GET stream, which is kept open until the connection ends.
    pub(crate) fn of_connection(policy: &'a ReconnectPolicy) -> Self {
        Self {
            policy,
            last: None,
            retry: None,
            attempts: 0,
            total: 0,
            max_total: u32::MAX,
        }
    }

    /// Returns the id of the event after which to resume. Returns `None` if the server sent no id that is valid in a header.
    pub(crate) fn last(&self) -> Option<&HeaderValue> {
        self.last.as_ref()
    }

    /// Records an event. Returns whether the event is progress, which means that it is a message or has a new id. Progress resets
    /// the number of attempts.
    pub(crate) fn record(&mut self, event: &Event<'_>) -> bool {
        let mut is_progress = event.is_message();
        if let Some(id) = event.id {
            let last = HeaderValue::from_bytes(id).ok().filter(|_| !id.is_empty());
            is_progress |= last.is_some() && last != self.last;
            self.last = last;
        }
        if is_progress {
            self.attempts = 0;
        }
        is_progress
    }

    /// Records the delay that the server requested.
    pub(crate) fn set_retry(&mut self, retry: Option<Duration>) {
        self.retry = retry.or(self.retry);
    }

    /// Resets the number of attempts. Call it after the stream was open long enough.
    pub(crate) fn reset_attempts(&mut self) {
        self.attempts = 0;
    }

    /// Removes the id of the last event. The next attempt then opens a new stream instead of resuming the old stream.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    /// Returns the delay before the next attempt. Returns `None` if the maximum number of attempts is reached.
    pub(crate) fn next_wait(&mut self) -> Option<Duration> {
        if self.attempts >= self.policy.attempts || self.total >= self.max_total {
            return None;
        }
        // The server's delay applies as long as each reconnect brings new events.
        let wait = match self.retry {
            Some(retry) if self.attempts == 0 => retry.max(self.policy.base / MIN_DELAY_DIVISOR),
            retry => self
                .policy
                .delay(self.attempts)
                .max(retry.unwrap_or_default()),
        };
        self.attempts += 1;
        self.total = self.total.saturating_add(1);
        Some(wait)
    }

    /// Returns the number of attempts.
    pub(crate) fn total(&self) -> u32 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::options::ClientOptions;

    fn event<'a>(id: Option<&'a str>, data: &'a str) -> Event<'a> {
        Event {
            id: id.map(str::as_bytes),
            name: b"",
            data: data.as_bytes(),
            retry: None,
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    fn options() -> ClientOptions {
        ClientOptions::new()
            .with_max_reconnects(3)
            .with_max_total_reconnects(10)
            .with_reconnect_delay(4 * SECOND)
            .with_max_reconnect_delay(64 * SECOND)
            .with_random(|| 1 << 63)
    }

    #[test]
    fn reconnects_without_progress_are_limited_and_increasingly_delayed() {
        let options = options();
        let mut resume = ResumeState::of_call(&options.reconnect);
        assert_eq!(resume.next_wait(), Some(2 * SECOND));
        assert_eq!(resume.next_wait(), Some(4 * SECOND));
        resume.record(&event(Some("1"), ""));
        assert_eq!(resume.next_wait(), Some(2 * SECOND));
        // A repeated id and an event without content do not reset the count.
        resume.record(&event(Some("1"), ""));
        resume.record(&event(None, ""));
        assert_eq!(resume.next_wait(), Some(4 * SECOND));
        assert_eq!(resume.next_wait(), Some(8 * SECOND));
        assert_eq!(resume.next_wait(), None);
        assert_eq!(resume.total(), 5);
    }

    #[test]
    fn reconnects_of_one_call_are_limited_even_with_progress() {
        let options = options()
            .with_max_reconnects(3)
            .with_max_total_reconnects(5);
        let mut call = ResumeState::of_call(&options.reconnect);
        let mut connection = ResumeState::of_connection(&options.reconnect);
        for n in 0..10 {
            let id = n.to_string();
            call.record(&event(Some(&id), ""));
            connection.record(&event(Some(&id), ""));
            assert_eq!(call.next_wait().is_some(), n < 5);
            assert!(connection.next_wait().is_some());
        }
        assert_eq!(call.total(), 5);
    }

    #[test]
    fn the_delay_that_the_server_requests_is_a_minimum() {
        let options = options();
        let mut resume = ResumeState::of_call(&options.reconnect);
        resume.set_retry(Some(SECOND));
        resume.set_retry(None);
        assert_eq!(resume.next_wait(), Some(SECOND));
        assert_eq!(resume.next_wait(), Some(4 * SECOND));
        resume.set_retry(Some(100 * SECOND));
        assert_eq!(resume.next_wait(), Some(100 * SECOND));
    }

    #[test]
    fn an_empty_event_id_clears_the_position_to_resume_from() {
        let options = options();
        let mut resume = ResumeState::of_call(&options.reconnect);
        resume.record(&event(Some("a b/é"), ""));
        assert_eq!(resume.last().unwrap().as_bytes(), "a b/é".as_bytes());
        resume.record(&event(None, "{}"));
        assert!(resume.last().is_some());
        resume.record(&event(Some(""), "{}"));
        assert!(resume.last().is_none());
        resume.record(&event(Some("a\u{1}"), "{}"));
        assert!(resume.last().is_none(), "it is not valid in a header");
    }
}
