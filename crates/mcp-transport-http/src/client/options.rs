//! What a connection may cost, and how patient it is.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::MuxLimits;

/// Limits and timeouts of one connection, each with a default. Nothing is unlimited, except how
/// long the answer to a request may take: that is for whoever calls to say, who alone knows.
#[derive(Clone)]
pub struct Options {
    pub(crate) message_bytes: usize,
    pub(crate) session_id_bytes: usize,
    pub(crate) event_id_bytes: usize,
    pub(crate) limits: MuxLimits,
    pub(crate) blocking: usize,
    pub(crate) restored: usize,
    pub(crate) listen: bool,
    pub(crate) listen_wait: Duration,
    pub(crate) reconnect: ReconnectPolicy,
    pub(crate) redirects: usize,
    pub(crate) retry_after: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) delivery_timeout: Duration,
    pub(crate) renewal_timeout: Duration,
    pub(crate) close_timeout: Duration,
    pub(crate) idle_connections: usize,
    pub(crate) idle_timeout: Duration,
}

/// How to come back for a stream that broke off.
#[derive(Clone)]
pub(crate) struct ReconnectPolicy {
    /// Tries without news.
    pub(crate) attempts: u32,
    /// Tries of one call, with news or without.
    pub(crate) total: u32,
    pub(crate) base: Duration,
    pub(crate) cap: Duration,
    random: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl ReconnectPolicy {
    /// How long to wait before the try after `attempt` others in a row: anything up to a bound
    /// that doubles each time, so that clients who lost the same server do not come back at once.
    pub(crate) fn delay(&self, attempt: u32) -> Duration {
        let bound = self.base.saturating_mul(1 << attempt.min(16)).min(self.cap);
        // The upper 32 bits are as good as all of them, and the product cannot overflow.
        let share = u128::from((self.random)() >> 32);
        let nanos = (bound.as_nanos() * share) >> 32;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            message_bytes: 16 << 20,
            session_id_bytes: 1_024,
            event_id_bytes: 256,
            limits: MuxLimits::default(),
            blocking: 64,
            restored: 1_024,
            listen: true,
            listen_wait: Duration::from_secs(1),
            reconnect: ReconnectPolicy {
                attempts: 8,
                total: 1_000,
                base: Duration::from_millis(500),
                cap: Duration::from_secs(30),
                random: Arc::new(|| getrandom::u64().unwrap_or(u64::MAX)),
            },
            redirects: 5,
            retry_after: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(10),
            delivery_timeout: Duration::from_secs(30),
            renewal_timeout: Duration::from_secs(60),
            close_timeout: Duration::from_secs(2),
            idle_connections: 64,
            idle_timeout: Duration::from_secs(60),
        }
    }
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the length of the longest message that is read, in bytes: a JSON body, or the data of
    /// one event. Default 16 MiB; a longer one fails the call it belongs to.
    #[must_use]
    pub fn with_max_message_bytes(mut self, bytes: usize) -> Self {
        self.message_bytes = bytes;
        self
    }

    /// Sets the length of the longest session id that is accepted, in bytes. Default 1,024, which
    /// has room for a signed token.
    #[must_use]
    pub fn with_max_session_id_bytes(mut self, bytes: usize) -> Self {
        self.session_id_bytes = bytes;
        self
    }

    /// Sets the length of the longest event id that is accepted, in bytes. Default 256.
    #[must_use]
    pub fn with_max_event_id_bytes(mut self, bytes: usize) -> Self {
        self.event_id_bytes = bytes;
        self
    }

    /// Sets what the connection may hold at once: calls under way, questions of the server under
    /// way, bytes of notifications that wait to be sent, and the limits on one message.
    #[must_use]
    pub fn with_limits(mut self, limits: MuxLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how many blocking handlers may run at once. Default 64; one more is answered with an
    /// error.
    #[must_use]
    pub fn with_max_blocking_handlers(mut self, threads: usize) -> Self {
        self.blocking = threads;
        self
    }

    /// Sets how many resource subscriptions are restored when the server forgot the session.
    /// Default 1,024.
    #[must_use]
    pub fn with_max_restored_subscriptions(mut self, subscriptions: usize) -> Self {
        self.restored = subscriptions;
        self
    }

    /// Does not open a stream for what the server says outside any call: list changes, resource
    /// updates, questions of its own. Those are not received then.
    #[must_use]
    pub fn without_listening(mut self) -> Self {
        self.listen = false;
        self
    }

    /// Sets how long, once the handshake is complete, the first calls wait for that stream to be
    /// open. Default 1 s. Some servers ask the questions of a call there, and lose them as long as
    /// nobody listens.
    #[must_use]
    pub fn with_listen_wait(mut self, longest: Duration) -> Self {
        self.listen_wait = longest;
        self
    }

    /// Sets how often to come back for a stream that broke off: `attempts` in a row that bring
    /// nothing new, and `total` for one call. Default 8 and 1,000.
    #[must_use]
    pub fn with_max_reconnects(mut self, attempts: u32, total: u32) -> Self {
        self.reconnect.attempts = attempts;
        self.reconnect.total = total;
        self
    }

    /// Sets the bound on the wait before coming back: `base` at first, twice as much each time it
    /// is in vain, never more than `cap`. Default 500 ms and 30 s. The wait itself is drawn at
    /// random below the bound. A server that says how long to wait is waited for at least as long.
    #[must_use]
    pub fn with_reconnect_backoff(mut self, base: Duration, cap: Duration) -> Self {
        self.reconnect.base = base;
        self.reconnect.cap = cap;
        self
    }

    /// Sets where the random part of a wait comes from. Default: the operating system.
    #[must_use]
    pub fn with_random(mut self, random: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.reconnect.random = Arc::new(random);
        self
    }

    /// Sets how many redirects one message follows, all within the origin. Default 5.
    #[must_use]
    pub fn with_max_redirects(mut self, redirects: usize) -> Self {
        self.redirects = redirects;
        self
    }

    /// Sets up to what `Retry-After` a request is repeated, once, if the server is too busy for
    /// it. Default 5 s. Tools are never called again.
    #[must_use]
    pub fn with_max_retry_after(mut self, longest: Duration) -> Self {
        self.retry_after = longest;
        self
    }

    /// Sets how long connecting may take. Default 10 s. It applies to the HTTP client that comes
    /// with this crate, not to one given with [`Http::service`](crate::Http::service).
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long the server may take to accept a notification or an answer, or to explain why
    /// it refuses a message. Default 30 s.
    #[must_use]
    pub fn with_delivery_timeout(mut self, timeout: Duration) -> Self {
        self.delivery_timeout = timeout;
        self
    }

    /// Sets how long opening a new session may take once the server forgot the old one. Default
    /// 60 s; the connection is closed then.
    #[must_use]
    pub fn with_reinitialize_timeout(mut self, timeout: Duration) -> Self {
        self.renewal_timeout = timeout;
        self
    }

    /// Sets how long the last messages may take once the connection is closed: half of it for
    /// notifications that wait, half for ending the session. Default 2 s.
    #[must_use]
    pub fn with_close_timeout(mut self, timeout: Duration) -> Self {
        self.close_timeout = timeout;
        self
    }

    /// Sets how many unused connections are kept, and how long. Default 64 and 60 s. It applies
    /// to the HTTP client that comes with this crate.
    #[must_use]
    pub fn with_max_idle_connections(mut self, connections: usize, timeout: Duration) -> Self {
        self.idle_connections = connections;
        self.idle_timeout = timeout;
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("message_bytes", &self.message_bytes)
            .field("session_id_bytes", &self.session_id_bytes)
            .field("event_id_bytes", &self.event_id_bytes)
            .field("limits", &self.limits)
            .field("blocking", &self.blocking)
            .field("restored", &self.restored)
            .field("listen", &self.listen)
            .field("listen_wait", &self.listen_wait)
            .field("reconnect", &self.reconnect)
            .field("redirects", &self.redirects)
            .field("retry_after", &self.retry_after)
            .field("connect_timeout", &self.connect_timeout)
            .field("delivery_timeout", &self.delivery_timeout)
            .field("renewal_timeout", &self.renewal_timeout)
            .field("close_timeout", &self.close_timeout)
            .field("idle_connections", &self.idle_connections)
            .field("idle_timeout", &self.idle_timeout)
            .finish()
    }
}

impl fmt::Debug for ReconnectPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReconnectPolicy")
            .field("attempts", &self.attempts)
            .field("total", &self.total)
            .field("base", &self.base)
            .field("cap", &self.cap)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_the_wait_doubles_up_to_the_cap() {
        let base = Duration::from_millis(500);
        let cap = Duration::from_secs(30);
        let options = Options::new().with_reconnect_backoff(base, cap);
        let most = options.clone().with_random(|| u64::MAX).reconnect;
        let half = options.clone().with_random(|| 1 << 63).reconnect;
        let none = options.with_random(|| 0).reconnect;
        for (attempt, bound) in [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
            .into_iter()
            .map(Duration::from_millis)
            .enumerate()
        {
            let attempt = u32::try_from(attempt).unwrap();
            assert!(most.delay(attempt) < bound);
            assert!(most.delay(attempt) > bound.mul_f64(0.999));
            assert_eq!(half.delay(attempt), bound / 2);
            assert_eq!(none.delay(attempt), Duration::ZERO);
        }
        assert!(most.delay(u32::MAX) < cap);
    }
}
