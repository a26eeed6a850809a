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
    unit: Unit,
    parts: Vec<Part>,
    /// Why the budget is not met.
    pub(super) why: Option<String>,
}

/// One of the values that a budget limits.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Part {
    name: String,
    max: f64,
    figure: String,
    #[serde(skip)]
    measured: Option<f64>,
}

/// How values are shown. The shown, rounded values are compared.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Count,
    Tenths,
    Ratio,
}

impl Unit {
    fn shown(self, number: f64) -> String {
        match self {
            Self::Count => thousands(number),
            Self::Tenths => format!("{number:.1}"),
            Self::Ratio => format!("{number:.2}×"),
        }
    }

    fn rounded(self, number: f64) -> f64 {
        let digits = self.shown(number).replace(['\u{202f}', '×'], "");
        digits.parse().unwrap_or(f64::NAN)
    }
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
    let crates = results.crates.iter().map(|(name, _, limit)| Part {
        name: (*name).to_owned(),
        max: *limit as f64,
        figure: format!("crates: {name}"),
        measured: None,
    });
    budgets.push(Budget {
        name: "Crates in the tree".to_owned(),
        unit: Unit::Count,
        parts: crates.collect(),
        why: None,
    });
    let figures = figures(results);
    for part in budgets.iter_mut().flat_map(|budget| &mut budget.parts) {
        part.measured = figures.get(&part.figure).copied();
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
    /// The cells of its row: name, limits, measured values, and whether it is met.
    pub(super) fn row(&self) -> [String; 4] {
        let all = |show: &dyn Fn(&Part) -> String| {
            let mut shown: Vec<String> = self.parts.iter().map(show).collect();
            shown.dedup();
            shown.join(" / ")
        };
        let title = match self.parts.len() {
            1 => self.name.clone(),
            _ => format!("{}: {}", self.name, all(&|part| part.name.clone())),
        };
        let measured = self.parts.iter().map(|part| match part.measured {
            Some(number) => self.unit.shown(number),
            None => "–".to_owned(),
        });
        let met = match self.is_met() {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "not measured",
        };
        [
            title,
            format!("≤ {}", all(&|part| self.unit.shown(part.max))),
            measured.collect::<Vec<_>>().join(" / "),
            met.to_owned(),
        ]
    }

    /// Whether all parts are within their limits; `None` if a part was not measured and the others are.
    pub(super) fn is_met(&self) -> Option<bool> {
        let met = |part: &Part| Some(self.unit.rounded(part.measured?) <= part.max);
        let parts: Vec<Option<bool>> = self.parts.iter().map(met).collect();
        match parts.contains(&Some(false)) {
            true => Some(false),
            false => (!parts.contains(&None)).then_some(true),
        }
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

    fn budget(measured: [Option<f64>; 2]) -> Budget {
        let part = |(name, measured): (&str, _)| Part {
            name: name.to_owned(),
            max: 1.3,
            figure: String::new(),
            measured,
        };
        Budget {
            name: "a budget".to_owned(),
            unit: Unit::Ratio,
            parts: ["a", "b"].into_iter().zip(measured).map(part).collect(),
            why: None,
        }
    }

    #[test]
    fn rounded_values_are_compared() {
        let met = budget([Some(1.304), Some(0.5)]);
        assert_eq!(
            met.row(),
            ["a budget: a / b", "≤ 1.30×", "1.30× / 0.50×", "yes"]
        );
        assert_eq!(budget([Some(1.306), None]).is_met(), Some(false));
        assert_eq!(budget([Some(1.0), None]).is_met(), None);
        assert_eq!(budget([Some(1.0), None]).row()[2], "1.00× / –");
    }

    #[test]
    fn exactly_the_missed_budgets_need_an_explanation() {
        let mut missed = budget([Some(2.0), None]);
        assert!(missed.problem().is_some());
        missed.why = Some("two\nlines".to_owned());
        assert_eq!(missed.problem(), None);
        let text = missed.explanation().unwrap();
        assert_eq!(text, "- **a budget.** two\n  lines\n");
        missed.parts[0].measured = Some(1.0);
        missed.parts[1].measured = Some(1.0);
        assert!(missed.problem().is_some());
        assert_eq!(budget([None, None]).problem(), None);
    }

    #[test]
    fn every_budget_limits_a_measured_figure() {
        let budgets = budgets(&example()).unwrap();
        let parts = budgets.iter().flat_map(|budget| &budget.parts);
        for part in parts {
            assert!(part.measured.is_some(), "no figure {:?}", part.figure);
        }
    }
}
