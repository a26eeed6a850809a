//! When and how to come back for a stream that broke off.
//!
//! Specification: [resumability](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#resumability-and-redelivery).

use std::time::Duration;

use http::HeaderValue;

use crate::client::options::ReconnectPolicy;
use crate::sse::Event;

/// The part of the first bound that is waited for even if the server wants no waiting: a stream of
/// news that each come with an end must not keep this side busy.
const LEAST: u32 = 16;

/// One stream, over all the connections that carry it.
pub(crate) struct ResumeState<'a> {
    policy: &'a ReconnectPolicy,
    /// The last event seen: where to go on.
    last: Option<HeaderValue>,
    /// How long the server wants to be left alone.
    retry: Option<Duration>,
    /// Tries since the last news.
    attempts: u32,
    /// Tries at all, and how many there may be.
    total: u32,
    most: u32,
}

impl<'a> ResumeState<'a> {
    /// The stream of one call.
    pub(crate) fn of_call(policy: &'a ReconnectPolicy) -> Self {
        Self {
            most: policy.total,
            ..Self::of_connection(policy)
        }
    }

    /// A stream that is wanted for as long as there is a connection.
    pub(crate) fn of_connection(policy: &'a ReconnectPolicy) -> Self {
        Self {
            policy,
            last: None,
            retry: None,
            attempts: 0,
            total: 0,
            most: u32::MAX,
        }
    }

    /// The event to go on after; `None` if the server gave none that can be named.
    pub(crate) fn last(&self) -> Option<&HeaderValue> {
        self.last.as_ref()
    }

    /// Takes note of an event. One that says something, or moves the permit to go on from, is news.
    pub(crate) fn note(&mut self, event: &Event<'_>) {
        let mut is_news = event.is_message();
        if let Some(id) = event.id {
            let last = HeaderValue::from_bytes(id).ok().filter(|_| !id.is_empty());
            is_news |= last.is_some() && last != self.last;
            self.last = last;
        }
        if is_news {
            self.attempts = 0;
        }
    }

    /// Takes note of how long the server wants to be left alone.
    pub(crate) fn set_retry(&mut self, retry: Option<Duration>) {
        self.retry = retry.or(self.retry);
    }

    /// The stream has been silent and well for long enough to start counting again.
    pub(crate) fn is_well(&mut self) {
        self.attempts = 0;
    }

    /// The rest of this stream is not wanted any more; the next one starts anew.
    pub(crate) fn forget(&mut self) {
        self.last = None;
    }

    /// How long to wait before the next try; `None` if there have been enough of them.
    pub(crate) fn next_wait(&mut self) -> Option<Duration> {
        if self.attempts >= self.policy.attempts || self.total >= self.most {
            return None;
        }
        // The server's word is enough as long as coming back brings something.
        let wait = match self.retry {
            Some(retry) if self.attempts == 0 => retry.max(self.policy.base / LEAST),
            retry => self
                .policy
                .delay(self.attempts)
                .max(retry.unwrap_or_default()),
        };
        self.attempts += 1;
        self.total = self.total.saturating_add(1);
        Some(wait)
    }

    /// How many tries there were.
    pub(crate) fn total(&self) -> u32 {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::options::Options;

    fn event<'a>(id: Option<&'a str>, data: &'a str) -> Event<'a> {
        Event {
            id: id.map(str::as_bytes),
            name: b"",
            data: data.as_bytes(),
            retry: None,
        }
    }

    const SECOND: Duration = Duration::from_secs(1);

    fn options() -> Options {
        Options::new()
            .with_max_reconnects(3, 10)
            .with_reconnect_backoff(4 * SECOND, 64 * SECOND)
            .with_random(|| 1 << 63)
    }

    #[test]
    fn tries_without_news_are_counted_and_get_rarer() {
        let options = options();
        let mut resume = ResumeState::of_call(&options.reconnect);
        assert_eq!(resume.next_wait(), Some(2 * SECOND));
        assert_eq!(resume.next_wait(), Some(4 * SECOND));
        resume.note(&event(Some("1"), ""));
        assert_eq!(resume.next_wait(), Some(2 * SECOND));
        // The same id again is no news, neither is a way to wait.
        resume.note(&event(Some("1"), ""));
        resume.note(&event(None, ""));
        assert_eq!(resume.next_wait(), Some(4 * SECOND));
        assert_eq!(resume.next_wait(), Some(8 * SECOND));
        assert_eq!(resume.next_wait(), None);
        assert_eq!(resume.total(), 5);
    }

    #[test]
    fn tries_of_one_call_are_counted_with_news_too() {
        let options = options().with_max_reconnects(3, 5);
        let mut call = ResumeState::of_call(&options.reconnect);
        let mut connection = ResumeState::of_connection(&options.reconnect);
        for n in 0..10 {
            let id = n.to_string();
            call.note(&event(Some(&id), ""));
            connection.note(&event(Some(&id), ""));
            assert_eq!(call.next_wait().is_some(), n < 5);
            assert!(connection.next_wait().is_some());
        }
        assert_eq!(call.total(), 5);
    }

    #[test]
    fn the_server_is_never_asked_earlier_than_it_wants() {
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
    fn an_empty_id_takes_the_place_back() {
        let options = options();
        let mut resume = ResumeState::of_call(&options.reconnect);
        resume.note(&event(Some("a b/é"), ""));
        assert_eq!(resume.last().unwrap().as_bytes(), "a b/é".as_bytes());
        resume.note(&event(None, "{}"));
        assert!(resume.last().is_some());
        resume.note(&event(Some(""), "{}"));
        assert!(resume.last().is_none());
        resume.note(&event(Some("a\u{1}"), "{}"));
        assert!(resume.last().is_none(), "it cannot stand in a header");
    }
}
