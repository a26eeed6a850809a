//! The budgets of the design in `budgets.toml`, with the measured values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::results::{CPU, Figures, Results, value};
use super::subject::Subject;

/// One budget.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Budget {
    name: String,
    decimals: usize,
    max: f64,
    figure: String,
    /// Why the budget is not met.
    why: Option<String>,
    #[serde(skip_deserializing)]
    measured: Option<f64>,
    /// Whether the rounded value is within the limit.
    #[serde(skip_deserializing)]
    is_met: Option<bool>,
}

/// Reads the budgets and adds the measured values.
pub(super) fn budgets(results: &Results) -> Result<Vec<Budget>, String> {
    #[derive(Deserialize)]
    struct File {
        budget: Vec<Budget>,
    }
    let file: Result<File, _> = toml::from_str(include_str!("budgets.toml"));
    let mut budgets = file
        .map_err(|error| format!("budgets.toml: {error}"))?
        .budget;
    budgets.extend(results.crates.iter().map(|(name, _, limit)| Budget {
        name: format!("Crates in the tree, {name}"),
        max: *limit as f64,
        figure: format!("crates: {name}"),
        ..Budget::default()
    }));
    let figures = figures(results);
    for budget in &mut budgets {
        if let Some(figure) = figures.get(&budget.figure) {
            budget.measure(*figure);
        }
    }
    Ok(budgets)
}

/// The figures of this SDK that a budget may limit, by section or unit and name of the row. CPU times are divided by
/// those of the baseline.
fn figures(results: &Results) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    for table in results.tables.iter().filter(|table| table.are_costs) {
        let Figures {
            section,
            unit,
            rows,
            ..
        } = table;
        for (row, cells) in rows {
            let name = &row.name;
            let (name, divisor) = match *unit {
                CPU => (
                    format!("{section}: {name}"),
                    value(cells, Subject::Baseline),
                ),
                "" => (name.clone(), Some(1.0)),
                unit => (format!("{unit}: {name}"), Some(1.0)),
            };
            let figure = value(cells, Subject::Ours).zip(divisor);
            figures.extend(figure.map(|(value, divisor)| (name, value / divisor)));
        }
    }
    for (name, count, _) in &results.crates {
        figures.insert(format!("crates: {name}"), *count as f64);
    }
    let instructions = |gate: &str| figures.get(&format!("instructions per call: {gate}"));
    if let Some((many, none)) = instructions("stdio-1000-tools").zip(instructions("stdio")) {
        let ratio = many / none;
        figures.insert(
            "instructions per call: stdio-1000-tools / stdio".to_owned(),
            ratio,
        );
    }
    figures
}

impl Budget {
    fn measure(&mut self, value: f64) {
        let rounded = format!("{value:.*}", self.decimals).parse::<f64>();
        self.measured = Some(value);
        self.is_met = rounded.ok().map(|rounded| rounded <= self.max);
    }

    /// What is wrong with the explanation.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = match (self.is_met, &self.why) {
            (Some(false), None) => "is not met and has no explanation; add one",
            (Some(true), Some(_)) => "is met and has an explanation why not; remove it",
            _ => return None,
        };
        Some(format!("budgets.toml: {:?} {problem}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::tests::example;

    #[test]
    fn rounded_values_are_compared_and_exactly_the_missed_budgets_need_an_explanation() {
        for (value, why, is_met, has_problem) in [
            (Some(1.304), None, Some(true), false),
            (Some(1.306), None, Some(false), true),
            (Some(2.0), Some("a reason"), Some(false), false),
            (Some(1.0), Some("a reason"), Some(true), true),
            (None, None, None, false),
        ] {
            let mut budget = Budget {
                decimals: 2,
                max: 1.3,
                why: why.map(str::to_owned),
                ..Budget::default()
            };
            if let Some(value) = value {
                budget.measure(value);
            }
            assert_eq!(budget.is_met, is_met, "{value:?}");
            assert_eq!(budget.problem().is_some(), has_problem, "{value:?}");
        }
    }

    #[test]
    fn every_budget_limits_a_measured_figure() {
        for budget in budgets(&example()).unwrap() {
            assert!(budget.measured.is_some(), "no figure {:?}", budget.figure);
        }
    }
}
