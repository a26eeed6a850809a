//! The budgets of the design in `budgets.toml`, with the measured values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::results::{CPU, Results, value};
use super::subject::Subject;
use crate::workspace::{Result, tables};

#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Budget {
    pub(super) name: String,
    pub(super) decimals: usize,
    pub(super) max: f64,
    pub(super) figure: String,
    /// Why the budget is not met.
    pub(super) why: Option<String>,
    #[serde(skip_deserializing)]
    pub(super) measured: Option<f64>,
    /// Whether the rounded value is within the limit.
    #[serde(skip_deserializing)]
    pub(super) is_met: Option<bool>,
}

/// Reads the budgets and adds the measured values.
pub(super) fn budgets(results: &Results) -> Result<Vec<Budget>> {
    let mut budgets: Vec<Budget> = tables("budgets.toml", include_str!("budgets.toml"))?;
    let figures = figures(results);
    for budget in &mut budgets {
        if let Some(figure) = figures.get(&budget.figure) {
            budget.measure(*figure);
        }
    }
    for (name, count, limit) in &results.crates {
        let mut budget = Budget {
            name: format!("Crates in the tree, {name}"),
            max: *limit as f64,
            ..Budget::default()
        };
        budget.measure(*count as f64);
        budgets.push(budget);
    }
    Ok(budgets)
}

/// The figures of this SDK that a budget may limit, by section or unit and name of the row. CPU times are divided by
/// those of the baseline.
fn figures(results: &Results) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    for table in results.tables.iter().filter(|table| table.are_costs) {
        let (section, unit) = (&table.section, table.unit);
        for (row, cells) in &table.rows {
            let name = &row.name;
            let baseline = value(cells, Subject::Baseline);
            let (name, divisor) = match unit {
                CPU => (format!("{section}: {name}"), baseline),
                "" => (name.clone(), Some(1.0)),
                unit => (format!("{unit}: {name}"), Some(1.0)),
            };
            let figure = value(cells, Subject::Ours).zip(divisor);
            figures.extend(figure.map(|(value, divisor)| (name, value / divisor)));
        }
    }
    let [none, many] =
        ["stdio", "stdio-1000-tools"].map(|gate| format!("instructions per call: {gate}"));
    if let Some((many_tools, no_tools)) = figures.get(&many).zip(figures.get(&none)) {
        let ratio = many_tools / no_tools;
        figures.insert(format!("{many} / stdio"), ratio);
    }
    figures
}

impl Budget {
    pub(super) fn measure(&mut self, value: f64) {
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
