//! Token buckets for rate limits. Functions receive the current time as an argument.

use std::time::{Duration, Instant};

/// A rate limit: the number of tokens that can be taken at once, and the number of tokens that are added per second.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "internal to the SDK")]
pub struct Rate {
    /// The number of tokens in a full bucket.
    pub burst: f64,
    /// The number of tokens that are added per second.
    pub per_second: f64,
}

impl Rate {
    /// Creates a rate of `tokens` per `period`. All tokens of a period can be taken at once.
    pub fn per(period: Duration, tokens: u32) -> Self {
        let burst = f64::from(tokens);
        Self {
            burst,
            per_second: burst / period.as_secs_f64(),
        }
    }
}

/// A bucket of tokens, which is full at the beginning. Each call says at which rate the bucket refills.
#[derive(Debug, Default)]
pub struct TokenBucket {
    /// The time at which tokens were last taken, and the number of tokens that were left.
    taken: Option<(Instant, f64)>,
    is_exhausted: bool,
}

/// The error for a bucket that has fewer tokens than requested.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooFewTokens {
    /// The time until the bucket has enough tokens.
    pub wait: Duration,
    /// Whether the previous call of [`take`](TokenBucket::take) received its tokens. The caller can use this to report only the
    /// first refusal of a series.
    pub is_first: bool,
}

impl TokenBucket {
    /// Takes tokens.
    ///
    /// # Errors
    /// The bucket has fewer tokens than requested.
    pub fn take(&mut self, tokens: f64, rate: Rate, now: Instant) -> Result<(), TooFewTokens> {
        let at = self.taken.map_or(now, |(at, _)| at.max(now));
        let left = self.left(rate, now);
        let is_granted = left >= tokens;
        self.taken = Some((at, if is_granted { left - tokens } else { left }));
        let was_exhausted = std::mem::replace(&mut self.is_exhausted, !is_granted);
        if is_granted {
            return Ok(());
        }
        let wait = Duration::try_from_secs_f64((tokens - left) / rate.per_second);
        Err(TooFewTokens {
            wait: wait.unwrap_or(Duration::MAX),
            is_first: !was_exhausted,
        })
    }

    /// Returns whether the bucket is full.
    pub fn is_full(&self, rate: Rate, now: Instant) -> bool {
        self.left(rate, now) >= rate.burst
    }

    fn left(&self, rate: Rate, now: Instant) -> f64 {
        self.taken.map_or(rate.burst, |(at, left)| {
            let passed = now.saturating_duration_since(at).as_secs_f64();
            (left + passed * rate.per_second).min(rate.burst)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_bucket_grants_a_burst_and_then_the_steady_rate() {
        let rate = Rate {
            burst: 3.0,
            per_second: 2.0,
        };
        let (mut bucket, now) = (TokenBucket::default(), Instant::now());
        let mut granted = |at: f64| {
            let now = now + Duration::from_secs_f64(at);
            bucket.take(1.0, rate, now).is_ok()
        };
        let mut many = |at: f64| [at; 4].map(&mut granted);
        assert_eq!(many(0.0), [true, true, true, false]);
        assert_eq!(many(0.6), [true, false, false, false]);
        assert_eq!(many(60.0), [true, true, true, false]);
        assert_eq!(
            many(59.0),
            [false; 4],
            "a clock that goes back grants nothing"
        );
    }

    #[test]
    fn a_flood_is_reported_once_with_the_time_to_wait() {
        let rate = Rate::per(Duration::from_secs(60), 2);
        let (mut bucket, start) = (TokenBucket::default(), Instant::now());
        let mut take = |at| bucket.take(1.0, rate, start + Duration::from_secs(at));
        let empty = |wait, is_first| {
            let wait = Duration::from_secs(wait);
            Err(TooFewTokens { wait, is_first })
        };
        assert_eq!(
            [0; 4].map(&mut take),
            [Ok(()), Ok(()), empty(30, true), empty(30, false)]
        );
        assert_eq!([45; 2].map(&mut take), [Ok(()), empty(15, true)]);
        assert!(!bucket.is_full(rate, start + Duration::from_secs(70)));
        assert!(bucket.is_full(rate, start + Duration::from_secs(3_600)));
        let none = Rate::per(Duration::from_secs(1), 0);
        let refused = TokenBucket::default().take(1.0, none, start);
        assert_eq!(refused.unwrap_err().wait, Duration::MAX);
    }
}
