//! The two pictures of `docs/benchmarks.md`.

mod cost;
mod scaling;

use super::measure::{Cells, Figures};
use super::results::Results;
use super::subject::Subject;
use super::svg::{Anchor, Svg};

pub(super) use cost::cost;
pub(super) use scaling::scaling;

const GREY: &str = "#dddddd";

/// Told apart by lightness too.
fn colour(subject: Subject) -> &'static str {
    match subject {
        Subject::Baseline => "#999999",
        Subject::Ours => "#0b5fa5",
        Subject::Rmcp => "#e08214",
        Subject::Tower => "#7fbf7b",
    }
}

const EVERYBODY: [Subject; 4] = [
    Subject::Baseline,
    Subject::Ours,
    Subject::Rmcp,
    Subject::Tower,
];

fn rows<'a>(results: &'a Results, title: &str) -> Vec<(&'a str, &'a Cells)> {
    let group = results
        .groups
        .iter()
        .find(|(group, _)| group.title == title);
    let Some((group, cells)) = group else {
        return Vec::new();
    };
    let names = group.rows.iter().map(|row| &*row.name);
    names.zip(cells).collect()
}

fn cpu(figures: &Figures) -> f64 {
    figures.server_us
}

fn legend(svg: &mut Svg, subjects: &[Subject], [mut x, y]: [f64; 2]) {
    for subject in subjects {
        svg.rect([x, y - 9.0, 10.0, 10.0], colour(*subject));
        svg.text([x + 15.0, y], Anchor::Start, subject.name());
        x += 40.0 + 7.0 * subject.name().len() as f64;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::measure::{Cell, Memory};
    use crate::bench::plan::{self, BESIDE, CONCURRENT, PAYLOADS, TOOLS};
    use crate::bench::results::Weight;

    /// Everybody costs as much more than the baseline as they stand behind it.
    fn results() -> Results {
        let cell = |cost: f64| {
            Cell::Rounds(vec![Figures {
                calls: 1,
                seconds: 1.0,
                server_us: cost,
                client_us: 1.0,
                p50_us: 1.0,
                p99_us: 1.0,
            }])
        };
        let groups = plan::groups().into_iter().map(|group| {
            let cells = group.rows.iter().map(|_| {
                let costs = EVERYBODY.iter().zip([10.0, 20.0, 40.0]);
                costs
                    .map(|(subject, cost)| (*subject, cell(cost)))
                    .collect()
            });
            let cells = cells.collect();
            (group, cells)
        });
        let memory = Memory {
            stream: Some(40.0),
            ..Memory::default()
        };
        let weight = Weight {
            growth: vec![(10, memory), (100, memory)],
            ..Weight::default()
        };
        Results {
            groups: groups.collect(),
            weights: BTreeMap::from([(Subject::Ours, weight)]),
            ..Results::default()
        }
    }

    #[test]
    fn bars_are_as_long_as_the_ratio_and_who_is_missing_is_said() {
        let svg = cost(&results());
        assert!(svg.contains(">2.00×</text>") && svg.contains(">4.00×</text>"));
        assert!(svg.contains(">n/a</text>"), "the last has no figures");
        assert_eq!(svg.matches("</svg>").count(), 1);
    }

    #[test]
    fn curves_have_a_point_for_each_measurement() {
        let svg = scaling(&results());
        let points = 3 * (CONCURRENT.len() + PAYLOADS.len() + TOOLS.len() + BESIDE.len()) + 2;
        assert_eq!(svg.matches("<circle").count(), points);
    }
}
