//! The slope of a line through measured values.

use serde::Serialize;

/// A line, fitted with least squares.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Fit {
    pub(super) mean: f64,
    /// Change in an hour, in percent of the mean.
    pub(super) percent_per_hour: f64,
    /// Standard error of the change, in percent.
    pub(super) error: f64,
}

impl Fit {
    /// Fits points of seconds and values, at least three.
    pub(super) fn of(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 3 {
            return None;
        }
        let count = points.len() as f64;
        let mean_of = |part: fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>() / count;
        let (time, mean) = (mean_of(|point| point.0), mean_of(|point| point.1));
        let spread: f64 = points.iter().map(|(x, _)| (x - time).powi(2)).sum();
        let slope = points.iter().map(|(x, y)| (x - time) * (y - mean));
        let slope = slope.sum::<f64>() / spread;
        let rest = points.iter().map(|(x, y)| {
            let line = mean + slope * (x - time);
            (y - line).powi(2)
        });
        let error = (rest.sum::<f64>() / (count - 2.0) / spread).sqrt();
        let percent = |slope: f64| slope * 3_600.0 / mean * 100.0;
        Some(Self {
            mean,
            percent_per_hour: percent(slope),
            error: percent(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_increases_the_error_of_a_fitted_line() {
        let line: Vec<_> = (0..10).map(|x| (f64::from(x) * 360.0, 100.0)).collect();
        let flat = Fit::of(&line).expect("enough points");
        assert!(flat.percent_per_hour.abs() < 1e-9 && flat.error.abs() < 1e-9);
        let grows = [(0.0, 99.0), (1_800.0, 100.0), (3_600.0, 101.0)];
        let grows = Fit::of(&grows).expect("enough points");
        assert!((grows.percent_per_hour - 2.0).abs() < 1e-9, "{grows:?}");
        let noise = [(0.0, 99.0), (1_800.0, 102.0), (3_600.0, 99.0)];
        assert!(Fit::of(&noise).expect("enough points").error > 1.0);
        assert!(Fit::of(&grows_only()).is_none());
    }

    fn grows_only() -> [(f64, f64); 2] {
        [(0.0, 1.0), (1.0, 2.0)]
    }
}
