//! The cost of a run of calls.

use std::time::Duration;

use serde::Serialize;

/// Limit of stored times. Further calls are only counted.
const MOST_TIMES: usize = 4 << 20;

/// The figures of a run, as printed.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Figures {
    /// The number of responses.
    pub calls: u64,
    /// The duration of the run.
    pub seconds: f64,
    /// Processor time of the server per call, in microseconds.
    pub server_us: f64,
    /// Processor time of the client per call, in microseconds.
    pub client_us: f64,
    /// The median duration of a call, in microseconds.
    pub p50_us: f64,
    /// The 99th percentile of the durations, in microseconds.
    pub p99_us: f64,
}

impl Figures {
    /// Computes the figures of these calls.
    pub fn new(times: Times, took: Duration, server: Duration, client: Duration) -> Self {
        let per_call = |cpu: Duration| cpu.as_secs_f64() * 1e6 / times.calls.max(1) as f64;
        let mut sorted = times.nanos;
        sorted.sort_unstable();
        Self {
            calls: times.calls,
            seconds: took.as_secs_f64(),
            server_us: per_call(server),
            client_us: per_call(client),
            p50_us: f64::from(percentile(&sorted, 50)) / 1e3,
            p99_us: f64::from(percentile(&sorted, 99)) / 1e3,
        }
    }
}

/// The duration of each call.
#[derive(Clone, Debug, Default)]
pub struct Times {
    calls: u64,
    nanos: Vec<u32>,
}

impl Times {
    /// Adds one call.
    pub fn note(&mut self, took: Duration) {
        self.calls += 1;
        if self.nanos.len() < MOST_TIMES {
            // Durations are capped at about four seconds.
            self.nanos
                .push(u32::try_from(took.as_nanos()).unwrap_or(u32::MAX));
        }
    }

    /// Adds the calls of another caller.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        let room = MOST_TIMES - self.nanos.len();
        self.nanos
            .extend_from_slice(&other.nanos[..other.nanos.len().min(room)]);
    }

    /// The number of calls.
    pub fn calls(&self) -> u64 {
        self.calls
    }
}

/// Returns the smallest value that this percentage of the values does not exceed.
fn percentile(sorted: &[u32], of_hundred: usize) -> u32 {
    let rank = (sorted.len() * of_hundred).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let hundred: Vec<u32> = (1..=100).collect();
        assert_eq!(percentile(&hundred, 50), 50);
        assert_eq!(percentile(&hundred, 99), 99);
        assert_eq!(percentile(&[7], 50), 7);
        assert_eq!(percentile(&[1, 2, 3], 99), 3);
        assert_eq!(percentile(&[], 99), 0);
    }

    #[test]
    fn cpu_times_are_divided_by_the_number_of_calls() {
        let mut times = Times::default();
        for micros in [10, 20, 30, 40] {
            times.note(Duration::from_micros(micros));
        }
        let mut all = Times::default();
        all.add(&times);
        let [server, client] = [80, 8].map(Duration::from_micros);
        let figures = Figures::new(all, Duration::from_secs(2), server, client);
        assert_eq!(figures.calls, 4);
        assert_eq!((figures.server_us, figures.client_us), (20.0, 2.0));
        assert_eq!((figures.p50_us, figures.p99_us), (20.0, 40.0));
    }
}
