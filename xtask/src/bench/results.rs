//! Everything that a run measures.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::subject::Subject;
use super::workloads::Workload;

/// Figures of calls, as `bench-load` and the clients print them.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Figures {
    pub(super) calls: u64,
    pub(super) seconds: f64,
    pub(super) server_us: f64,
    pub(super) client_us: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

/// Exact counts per call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) instructions: u64,
    pub(super) allocations: f64,
    pub(super) bytes: f64,
}

/// The values of one row: of each subject, or the reason why it has none.
pub(super) type Cells<T> = BTreeMap<Subject, Result<T, String>>;

/// Rows of calls, with the figures of every round.
pub(super) type Calls = Vec<(Workload, Cells<Vec<Figures>>)>;

/// The rows about memory, start time and size.
pub(super) const WEIGHTS: [&str; 10] = [
    "resident memory at rest, KiB",
    "more for each open connection after a call, KiB",
    "more for each session, KiB",
    "more for each session with its stream and connection, KiB",
    "start to first answer over stdio, ms",
    "start to first answer over HTTP, ms",
    "CPU until then, ms",
    "program, stripped, MB",
    "crates in the tree, both transports",
    "clean release build, s",
];

/// All measured values.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) machine: String,
    /// Title and rows.
    pub(super) groups: Vec<(String, Calls)>,
    pub(super) clients: Calls,
    pub(super) counts: Vec<(Workload, Cells<Counts>)>,
    /// Memory, start time and size.
    pub(super) weights: Vec<(&'static str, Cells<f64>)>,
    /// KiB of a session with its stream, by the number of sessions; of a connection for the baseline.
    pub(super) growth: Cells<Vec<(u32, f64)>>,
    /// Uses of the SDK, with the number of crates and its limit.
    pub(super) crates: Vec<(&'static str, usize, usize)>,
}

impl Results {
    /// The rows below a title.
    pub(super) fn group(&self, title: &str) -> &[(Workload, Cells<Vec<Figures>>)] {
        let group = self.groups.iter().find(|(known, _)| known == title);
        group.map_or(&[], |(_, rows)| rows)
    }
}

/// The median CPU time of a server per call.
pub(super) fn cpu(cells: &Cells<Vec<Figures>>, subject: Subject) -> Option<f64> {
    let rounds = cells.get(&subject)?.as_ref().ok()?;
    Some(Spread::of(rounds, |figures| figures.server_us).median)
}

/// Median, minimum and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
}

impl Spread {
    /// The spread of a figure over all rounds; zero if there are no rounds.
    pub(super) fn of<T>(rounds: &[T], figure: impl Fn(&T) -> f64) -> Self {
        let mut sorted: Vec<f64> = rounds.iter().map(figure).collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        // The same element twice if the number of rounds is odd.
        let [low, high] = [(sorted.len() - 1) / 2, sorted.len() / 2];
        Self {
            min: *min,
            median: f64::midpoint(sorted[low], sorted[high]),
            max: *max,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::subject::ALL;
    use super::super::workloads::Workloads;
    use super::*;

    /// Results in which every call costs 10 µs on the baseline, 20 on this SDK and 40 on rmcp; tower-mcp has no figures.
    pub(in crate::bench) fn example() -> Results {
        let costs = [Ok(10.0), Ok(20.0), Ok(40.0), Err("it has none".to_owned())];
        let values: Cells<f64> = ALL.into_iter().zip(costs).collect();
        let figures = |cost: &f64| Figures {
            calls: 1_000,
            seconds: 0.5,
            server_us: *cost,
            client_us: *cost,
            p50_us: 80.0,
            p99_us: 130.0,
        };
        let counts = |cost: &f64| Counts {
            instructions: *cost as u64,
            allocations: *cost,
            bytes: *cost,
        };
        let workloads = Workloads::load();
        let calls = |rows: Vec<Workload>| -> Calls {
            let cells = || map(&values, |cost| vec![figures(cost)]);
            rows.into_iter().map(|row| (row, cells())).collect()
        };
        let groups = workloads.groups.into_iter();
        let gates = workloads.gates.into_iter();
        Results {
            machine: "an example".to_owned(),
            groups: groups
                .map(|group| (group.title, calls(group.rows)))
                .collect(),
            clients: calls(workloads.clients),
            counts: gates.map(|gate| (gate, map(&values, counts))).collect(),
            weights: WEIGHTS
                .into_iter()
                .map(|name| (name, values.clone()))
                .collect(),
            growth: map(&values, |kib| vec![(10, *kib), (100, *kib)]),
            crates: vec![("types", 13, 15)],
        }
    }

    fn map<T, U>(cells: &Cells<T>, to: impl Fn(&T) -> U) -> Cells<U> {
        let cells = cells.iter();
        cells
            .map(|(subject, cell)| (*subject, cell.as_ref().map(&to).map_err(Clone::clone)))
            .collect()
    }

    #[test]
    fn the_median_of_values_is_computed() {
        let spread = |values: &[f64]| Spread::of(values, |value| *value);
        let odd = spread(&[3.0, 1.0, 2.0]);
        assert_eq!((odd.min, odd.median, odd.max), (1.0, 2.0, 3.0));
        assert_eq!(spread(&[1.0, 2.0]).median, 1.5);
        assert_eq!(spread(&[]), Spread::default());
    }
}
