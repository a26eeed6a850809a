//! Limits and timeouts of one client connection.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mcp_protocol::{MuxLimits, Strictness};

/// Limits and timeouts of one connection. Each has a default. Everything is limited, except the time until a response arrives:
/// the caller limits this time.
#[derive(Debug, Clone)]
pub struct ClientOptions {
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
    pub(crate) strictness: Strictness,
}

/// The policy for reconnecting an interrupted event stream.
#[derive(Debug, Clone)]
pub(crate) struct ReconnectPolicy {
    /// Maximum number of consecutive attempts during which no new event arrives.
    pub(crate) attempts: u32,
    /// Maximum number of attempts for one call. Attempts after which new events arrive count as well.
    pub(crate) total: u32,
    pub(crate) base: Duration,
    pub(crate) cap: Duration,
    random: Random,
}

impl ReconnectPolicy {
    /// Returns the delay before the next attempt, after `attempt` failed attempts. The delay is a random part (full jitter) of an
    /// upper bound that doubles with each attempt. It is random so that many clients do not reconnect to the same server at once.
    pub(crate) fn delay(&self, attempt: u32) -> Duration {
        let bound = self.base.saturating_mul(1 << attempt.min(16)).min(self.cap);
        // The upper 32 bits are random enough, and the product cannot overflow.
        let share = u128::from((self.random.0)() >> 32);
        let nanos = (bound.as_nanos() * share) >> 32;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Default for ClientOptions {
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
                random: Random(Arc::new(|| getrandom::u64().unwrap_or(u64::MAX))),
            },
            redirects: 5,
            retry_after: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(10),
            delivery_timeout: Duration::from_secs(30),
            renewal_timeout: Duration::from_secs(60),
            close_timeout: Duration::from_secs(2),
            idle_connections: 64,
            idle_timeout: Duration::from_secs(60),
            strictness: Strictness::default(),
        }
    }
}

impl ClientOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum length of a received message in bytes: a JSON body or the data of one
    /// event. Default: 16 MiB. A longer message fails its call.
    #[must_use]
    pub fn with_max_message_bytes(mut self, bytes: usize) -> Self {
        self.message_bytes = bytes;
        self
    }

    /// Sets the maximum length of a session id in bytes. Default: 1,024, which is enough for a signed token.
    #[must_use]
    pub fn with_max_session_id_bytes(mut self, bytes: usize) -> Self {
        self.session_id_bytes = bytes;
        self
    }

    /// Sets the maximum length of an event id in bytes. Default: 256.
    #[must_use]
    pub fn with_max_event_id_bytes(mut self, bytes: usize) -> Self {
        self.event_id_bytes = bytes;
        self
    }

    /// Sets the limits of the connection: the number of calls in flight, the number of server requests in flight, the bytes of
    /// queued notifications, and the limits on one message.
    #[must_use]
    pub fn with_limits(mut self, limits: MuxLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the maximum number of blocking handlers that run at the same time. Default: 64. Further server requests are answered
    /// with an error.
    #[must_use]
    pub fn with_max_blocking_handlers(mut self, threads: usize) -> Self {
        self.blocking = threads;
        self
    }

    /// Sets the maximum number of resource subscriptions that are restored when a new session replaces a lost session. Default:
    /// 1,024.
    #[must_use]
    pub fn with_max_restored_subscriptions(mut self, subscriptions: usize) -> Self {
        self.restored = subscriptions;
        self
    }

    /// Sets whether the client tolerates servers that answer a request with status 202, and then send the response on the GET
    /// stream. The specification does not allow this. Default: tolerated.
    #[must_use]
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Disables the GET stream. The client then does not receive list changes, resource updates and server requests outside of
    /// calls.
    #[must_use]
    pub fn without_listening(mut self) -> Self {
        self.listen = false;
        self
    }

    /// Sets how long the first calls after the handshake wait until the GET stream is open. Default: 1 s. Some servers send the
    /// server requests of a call on this stream, and lose these requests while the stream is not open.
    #[must_use]
    pub fn with_listen_wait(mut self, longest: Duration) -> Self {
        self.listen_wait = longest;
        self
    }

    /// Sets the maximum number of consecutive reconnects of an event stream during which no new event arrives. Default: 8.
    #[must_use]
    pub fn with_max_reconnects(mut self, attempts: u32) -> Self {
        self.reconnect.attempts = attempts;
        self
    }

    /// Sets the maximum number of reconnects of all event streams of one call. Default: 1,000.
    #[must_use]
    pub fn with_max_total_reconnects(mut self, attempts: u32) -> Self {
        self.reconnect.total = attempts;
        self
    }

    /// Sets the upper bound of the delay before the first reconnect. Default: 500 ms. This bound doubles after each failed
    /// attempt, up to
    /// [`with_max_reconnect_delay`](Self::with_max_reconnect_delay). The delay itself is a random part of the bound. The
    /// client always waits at least as long as the server's `retry` says.
    #[must_use]
    pub fn with_reconnect_delay(mut self, delay: Duration) -> Self {
        self.reconnect.base = delay;
        self
    }

    /// Sets the maximum delay before a reconnect. Default: 30 s.
    #[must_use]
    pub fn with_max_reconnect_delay(mut self, delay: Duration) -> Self {
        self.reconnect.cap = delay;
        self
    }

    /// Sets the source of the jitter in reconnect delays. Default: the operating system.
    #[must_use]
    pub fn with_random(mut self, random: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.reconnect.random = Random(Arc::new(random));
        self
    }

    /// Sets the maximum number of redirects that one message follows. All redirects must stay within the same origin. Default: 5.
    #[must_use]
    pub fn with_max_redirects(mut self, redirects: usize) -> Self {
        self.redirects = redirects;
        self
    }

    /// Sets the maximum wait that a `Retry-After` header may request. The header contains a number of seconds or a date. If the
    /// wait is not longer than this maximum, the client repeats the request after the wait. Otherwise, the request fails. Each
    /// request is repeated at most once, and tool calls are never repeated. Default: 5 s.
    #[must_use]
    pub fn with_max_retry_after(mut self, longest: Duration) -> Self {
        self.retry_after = longest;
        self
    }

    /// Sets the timeout for establishing a connection. Default: 10 s. It applies to the built-in HTTP client, not to a client
    /// that was set with [`HttpTransport::service`](crate::HttpTransport::service).
    #[must_use]
    pub fn with_connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets how long the server may take to accept a notification or a response, or to send the
    /// body of an error response. Default: 30 s.
    #[must_use]
    pub fn with_delivery_timeout(mut self, timeout: Duration) -> Self {
        self.delivery_timeout = timeout;
        self
    }

    /// Sets how long opening a new session may take after the server has lost the old session. Default: 60 s. After this time,
    /// the connection is closed.
    #[must_use]
    pub fn with_reinitialize_timeout(mut self, timeout: Duration) -> Self {
        self.renewal_timeout = timeout;
        self
    }

    /// Sets the shutdown timeout. Half of it is for sending queued messages, and half is for ending the session. Default: 2 s.
    #[must_use]
    pub fn with_close_timeout(mut self, timeout: Duration) -> Self {
        self.close_timeout = timeout;
        self
    }

    /// Sets how many idle HTTP connections the built-in HTTP client keeps. Default: 64.
    #[must_use]
    pub fn with_max_idle_connections(mut self, connections: usize) -> Self {
        self.idle_connections = connections;
        self
    }

    /// Sets how long the built-in HTTP client keeps an idle HTTP connection. Default: 60 s.
    #[must_use]
    pub fn with_idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = timeout;
        self
    }
}

/// A source of random numbers.
#[derive(Clone)]
struct Random(Arc<dyn Fn() -> u64 + Send + Sync>);

impl fmt::Debug for Random {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Random")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_the_delay_doubles_up_to_the_maximum() {
        let base = Duration::from_millis(500);
        let cap = Duration::from_secs(30);
        let options = ClientOptions::new()
            .with_reconnect_delay(base)
            .with_max_reconnect_delay(cap);
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
