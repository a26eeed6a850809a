//! A limit on log messages that peers can cause.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::lock;

/// Maximum number of messages that are logged in each [`INTERVAL`]. Further messages are only counted.
const MAX_PER_INTERVAL: u32 = 20;
const INTERVAL: Duration = Duration::from_secs(1);

/// A rate limit of 20 log messages per second, so that a peer cannot fill the log.
#[derive(Debug, Default)]
pub struct LogLimit(Mutex<Interval>);

impl LogLimit {
    /// Returns the number of messages that were omitted since the last logged message. Returns `None` if this message must be
    /// omitted as well.
    pub fn admit(&self, now: Instant) -> Option<u64> {
        lock(&self.0).admit(now)
    }
}

#[derive(Debug, Default)]
struct Interval {
    start: Option<Instant>,
    logged: u32,
    omitted: u64,
}

impl Interval {
    /// Returns the number of messages that were omitted since the last logged message. Returns `None` if this message must be
    /// omitted as well.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.start.is_none_or(|start| now >= start + INTERVAL) {
            (self.start, self.logged) = (Some(now), 0);
        }
        if self.logged == MAX_PER_INTERVAL {
            self.omitted += 1;
            return None;
        }
        self.logged += 1;
        Some(std::mem::take(&mut self.omitted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_messages_is_counted_and_not_logged() {
        let (mut interval, start) = (Interval::default(), Instant::now());
        for _ in 0..MAX_PER_INTERVAL {
            assert_eq!(interval.admit(start), Some(0));
        }
        for _ in 0..1_000 {
            assert_eq!(interval.admit(start), None);
        }
        assert_eq!(interval.admit(start + INTERVAL), Some(1_000));
        assert_eq!(interval.admit(start + INTERVAL), Some(0));
    }
}
