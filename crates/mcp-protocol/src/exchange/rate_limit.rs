//! Rate limits. The clock is an argument.

use std::sync::Mutex;
use std::time::Instant;

use crate::sync::lock;

/// A token bucket: allows a burst, then a steady rate.
#[derive(Debug)]
pub(crate) struct RateLimit {
    burst: f64,
    per_second: f64,
    state: Mutex<Option<(Instant, f64)>>,
}

impl RateLimit {
    pub(crate) const fn new(burst: f64, per_second: f64) -> Self {
        Self {
            burst,
            per_second,
            state: Mutex::new(None),
        }
    }

    /// Takes a token; returns whether there was one.
    pub(crate) fn take(&self, now: Instant) -> bool {
        let mut state = lock(&self.state);
        let (at, left) = state.unwrap_or((now, self.burst));
        let passed = now.saturating_duration_since(at).as_secs_f64();
        let left = (left + passed * self.per_second).min(self.burst);
        let granted = left >= 1.0;
        *state = Some((at.max(now), if granted { left - 1.0 } else { left }));
        granted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_burst_is_granted_and_then_the_steady_rate() {
        let limit = RateLimit::new(3.0, 2.0);
        let now = Instant::now();
        let granted = |at: f64| limit.take(now + Duration::from_secs_f64(at));
        assert_eq!([0.0; 5].map(granted), [true, true, true, false, false]);
        assert!(granted(0.6));
        assert!(!granted(0.7));
        assert_eq!([60.0; 4].map(granted), [true, true, true, false]);
        assert!(!granted(59.0), "a clock that goes back grants nothing");
    }
}
