//! The delay before the subscriptions of a lost connection are restored.

use std::time::Duration;

use tokio::time::Instant;

/// First delay. The delay doubles after each loss within [`MIN_LIFETIME`] of the connection's start, up to [`MAX_DELAY`].
const INITIAL_DELAY: Duration = Duration::from_millis(100);
/// Maximum delay before the subscriptions are restored.
const MAX_DELAY: Duration = Duration::from_secs(60);
/// Minimum time for which a connection must be open, so that its loss does not count as a repeated loss. The next delay is then
/// [`INITIAL_DELAY`] again.
const MIN_LIFETIME: Duration = Duration::from_secs(30);

/// The delay before lost subscriptions are restored. The delay grows with each loss, so that a server that crashes repeatedly
/// does not receive all subscriptions each time.
pub(crate) struct ResubscribeDelay {
    next: Duration,
    since: Instant,
}

impl Default for ResubscribeDelay {
    fn default() -> Self {
        Self {
            next: INITIAL_DELAY,
            since: Instant::now(),
        }
    }
}

impl ResubscribeDelay {
    /// Returns the delay after a loss of the subscriptions.
    pub(crate) fn after_loss(&mut self) -> Duration {
        if self.since.elapsed() >= MIN_LIFETIME {
            self.next = INITIAL_DELAY;
        }
        let delay = self.next;
        self.next = MAX_DELAY.min(delay * 2);
        delay
    }

    /// Records the time at which the subscriptions are restored.
    pub(crate) fn record_subscribed(&mut self, at: Instant) {
        self.since = at;
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_delay_grows_until_a_connection_stays_open() {
        let mut delay = ResubscribeDelay::default();
        let mut after = async |lasted| {
            delay.record_subscribed(Instant::now());
            advance(lasted).await;
            delay.after_loss()
        };
        let soon = MIN_LIFETIME / 2;
        assert_eq!(after(soon).await, INITIAL_DELAY);
        assert_eq!(after(soon).await, 2 * INITIAL_DELAY);
        for _ in 0..10 {
            after(soon).await;
        }
        assert_eq!(after(soon).await, MAX_DELAY);
        assert_eq!(after(MIN_LIFETIME).await, INITIAL_DELAY);
    }
}
