//! The budgets of the design, with the measured values.

mod table;

use super::plan::thousands;

pub(super) use table::rows;

/// Why some budgets are not met: one list item for each, which begins with the name of the budget.
pub(super) const NOTES: &str = include_str!("notes.md");

/// One budget.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    unit: Unit,
    parts: Vec<Part>,
}

/// One of the values that a budget limits.
#[derive(Debug)]
struct Part {
    name: &'static str,
    most: f64,
    measured: Option<f64>,
}

/// How values are shown. The shown, rounded values are compared.
#[derive(Clone, Copy, Debug)]
enum Unit {
    /// Whole numbers.
    Count,
    /// One decimal.
    Tenth,
    /// A ratio with two decimals.
    Times,
}

impl Unit {
    fn rounded(self, number: f64) -> f64 {
        let parts = match self {
            Self::Count => 1.0,
            Self::Tenth => 10.0,
            Self::Times => 100.0,
        };
        (number * parts).round() / parts
    }

    fn shown(self, number: f64) -> String {
        match self {
            Self::Count => thousands(number.round() as u64),
            Self::Tenth => format!("{number:.1}"),
            Self::Times => format!("{number:.2}×"),
        }
    }
}

impl Row {
    fn new<const N: usize>(
        name: &'static str,
        unit: Unit,
        parts: [(&'static str, f64, Option<f64>); N],
    ) -> Self {
        let part = |(name, most, measured)| Part {
            name,
            most,
            measured,
        };
        Self {
            name,
            unit,
            parts: parts.map(part).into(),
        }
    }

    /// The name of the budget and of its parts.
    pub(super) fn title(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| part.name).collect();
        match self.parts.len() {
            1 => self.name.to_owned(),
            _ => format!("{}: {}", self.name, parts.join(" / ")),
        }
    }

    /// The limits; one limit if it is the same for all parts.
    pub(super) fn budget(&self) -> String {
        let mut all: Vec<String> = self
            .parts
            .iter()
            .map(|part| self.unit.shown(part.most))
            .collect();
        all.dedup();
        format!("≤ {}", all.join(" / "))
    }

    /// The measured values.
    pub(super) fn measured(&self) -> String {
        let shown = |part: &Part| {
            part.measured
                .map_or("–".to_owned(), |number| self.unit.shown(number))
        };
        self.parts.iter().map(shown).collect::<Vec<_>>().join(" / ")
    }

    /// Whether all parts are within their limits; `None` if a part was not measured and the others are.
    pub(super) fn is_met(&self) -> Option<bool> {
        let met = |part: &Part| Some(self.unit.rounded(part.measured?) <= part.most);
        let mut all = Some(true);
        for part in &self.parts {
            match met(part) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => all = None,
            }
        }
        all
    }
}

/// One message for each missed budget without a note, and for each met budget with one.
pub(super) fn unexplained(rows: &[Row]) -> Vec<String> {
    let mut words = Vec::new();
    for row in rows {
        let noted = NOTES.contains(&format!("- **{}.**", row.name));
        let name = row.name;
        match row.is_met() {
            Some(false) if !noted => words.push(format!(
                "budget not met, and notes.md does not explain it: {name}"
            )),
            Some(true) if noted => words.push(format!(
                "budget met, but notes.md explains why it is not: {name}"
            )),
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::Results;

    fn row(parts: [Option<f64>; 2]) -> Row {
        let [a, b] = parts;
        Row::new("a budget", Unit::Times, [("a", 1.3, a), ("b", 1.3, b)])
    }

    #[test]
    fn rounded_values_are_compared() {
        let met = row([Some(1.304), Some(0.5)]);
        assert_eq!(met.is_met(), Some(true));
        assert_eq!(met.measured(), "1.30× / 0.50×");
        assert_eq!(
            (met.title(), met.budget()),
            ("a budget: a / b".to_owned(), "≤ 1.30×".to_owned())
        );
        assert_eq!(row([Some(1.306), None]).is_met(), Some(false));
        assert_eq!(row([Some(1.0), None]).is_met(), None);
        assert_eq!(row([Some(1.0), None]).measured(), "1.00× / –");
    }

    #[test]
    fn a_missed_budget_needs_a_note() {
        assert_eq!(unexplained(&[row([Some(2.0), None])]).len(), 1);
        assert!(unexplained(&[row([Some(1.0), Some(1.0)])]).is_empty());
        assert!(unexplained(&[row([None, None])]).is_empty());
    }

    #[test]
    fn each_note_names_a_budget() {
        let names: Vec<&str> = rows(&Results::default())
            .iter()
            .map(|row| row.name)
            .collect();
        let notes = NOTES.lines().filter_map(|line| line.strip_prefix("- **"));
        for note in notes {
            let name = note.split(".**").next().unwrap_or_default();
            assert!(names.contains(&name), "{name}");
        }
    }
}
