//! The budgets of the design in `budgets.toml`, with the measured values.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::results::{CPU, Figures, Results, thousands, value};
use super::subject::Subject;

/// One budget.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Budget {
    name: String,
    decimals: usize,
    max: f64,
    figure: String,
    /// Why the budget is not met.
    why: Option<String>,
    #[serde(skip)]
    measured: Option<f64>,
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
        decimals: 0,
        max: *limit as f64,
        figure: format!("crates: {name}"),
        why: None,
        measured: None,
    }));
    let figures = figures(results);
    for budget in &mut budgets {
        budget.measured = figures.get(&budget.figure).copied();
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
    /// The cells of its row: name, limit, measured value, and whether it is met.
    pub(super) fn row(&self) -> [String; 4] {
        let shown = |number| match self.decimals {
            0 => thousands(number),
            decimals => format!("{number:.decimals$}"),
        };
        let met = match self.is_met() {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "not measured",
        };
        let measured = self.measured.map_or("–".to_owned(), shown);
        let limit = format!("≤ {}", shown(self.max));
        [self.name.clone(), limit, measured, met.to_owned()]
    }

    /// Whether the rounded value is within the limit.
    fn is_met(&self) -> Option<bool> {
        let rounded = format!("{:.*}", self.decimals, self.measured?);
        Some(rounded.parse::<f64>().ok()? <= self.max)
    }

    /// The explanation for the page, if the budget is not met.
    pub(super) fn explanation(&self) -> Option<String> {
        let why = self.why.as_ref().filter(|_| self.is_met() == Some(false))?;
        Some(format!(
            "- **{}.** {}\n",
            self.name,
            why.trim().replace('\n', "\n  ")
        ))
    }

    /// What is wrong with the explanation.
    pub(super) fn problem(&self) -> Option<String> {
        let problem = match (self.is_met(), &self.why) {
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

    fn budget(measured: Option<f64>, why: Option<&str>) -> Budget {
        Budget {
            name: "a budget".to_owned(),
            decimals: 2,
            max: 1.3,
            figure: String::new(),
            why: why.map(str::to_owned),
            measured,
        }
    }

    #[test]
    fn rounded_values_are_compared() {
        let row = |measured| budget(Some(measured), None).row();
        assert_eq!(row(1.304), ["a budget", "≤ 1.30", "1.30", "yes"]);
        assert_eq!(row(1.306)[3], "**no**");
        assert_eq!(budget(None, None).row()[2..], ["–", "not measured"]);
    }

    #[test]
    fn exactly_the_missed_budgets_need_an_explanation() {
        let why = Some("two\nlines");
        assert!(budget(Some(2.0), None).problem().is_some());
        assert_eq!(budget(Some(2.0), why).problem(), None);
        let text = budget(Some(2.0), why).explanation().unwrap();
        assert_eq!(text, "- **a budget.** two\n  lines\n");
        assert!(budget(Some(1.0), why).problem().is_some());
        assert_eq!(budget(None, None).problem(), None);
    }

    #[test]
    fn every_budget_limits_a_measured_figure() {
        for budget in budgets(&example()).unwrap() {
            assert!(budget.measured.is_some(), "no figure {:?}", budget.figure);
        }
    }
}
