//! When the subscriptions of a lost connection are made again.

use std::time::Duration;

use tokio::time::Instant;

/// Delay before the subscriptions of a lost connection are made again. It doubles each time that they are lost within [`LASTING`], up to
/// [`MAX_DELAY`].
const INITIAL_DELAY: Duration = Duration::from_millis(100);
const MAX_DELAY: Duration = Duration::from_secs(60);
/// How long subscriptions have to last so that the next loss is not one of several in a row.
const LASTING: Duration = Duration::from_secs(30);

/// The delay before subscriptions are made again, so that a server that ends again and again does not receive all of them each time.
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
    /// Returns how long to wait after the subscriptions were lost.
    pub(crate) fn after_loss(&mut self) -> Duration {
        if self.since.elapsed() >= LASTING {
            self.next = INITIAL_DELAY;
        }
        let delay = self.next;
        self.next = MAX_DELAY.min(delay * 2);
        delay
    }

    /// Records that the server has the subscriptions again.
    pub(crate) fn restart(&mut self) {
        self.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_delay_grows_until_subscriptions_last() {
        let mut delay = ResubscribeDelay::default();
        let mut after = async |lasted| {
            delay.restart();
            advance(lasted).await;
            delay.after_loss()
        };
        let soon = LASTING / 2;
        assert_eq!(after(soon).await, INITIAL_DELAY);
        assert_eq!(after(soon).await, 2 * INITIAL_DELAY);
        for _ in 0..10 {
            after(soon).await;
        }
        assert_eq!(after(soon).await, MAX_DELAY);
        assert_eq!(after(LASTING).await, INITIAL_DELAY);
    }
}
