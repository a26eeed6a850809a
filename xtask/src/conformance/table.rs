//! What became of each scenario in each run: collected, told.

use std::fmt::Write as _;

use super::checks::Outcome;
use super::later;
use super::plan::{Role, Run};

/// A run and its outcomes.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) run: Run,
    pub(super) outcomes: Vec<(String, Outcome)>,
    faults: Vec<String>,
}

impl Column {
    pub(super) fn new(run: Run, outcomes: Vec<(String, Outcome)>) -> Self {
        Self {
            run,
            outcomes,
            faults: Vec::new(),
        }
    }

    /// The run itself failed.
    pub(super) fn fault(&mut self, fault: String) {
        self.faults.push(fault);
    }

    /// Takes in what another run with the same title brought.
    pub(super) fn extend(&mut self, other: Self) {
        self.outcomes.extend(other.outcomes);
        self.faults.extend(other.faults);
    }

    /// Whether the run had the scenario.
    pub(super) fn has(&self, scenario: &str) -> bool {
        self.outcomes.iter().any(|(name, _)| name == scenario)
    }

    /// One line about the run.
    pub(super) fn told(&self) -> String {
        let (mut passed, mut failed, mut warned, mut later) = (0, 0, 0, 0);
        for (_, outcome) in &self.outcomes {
            match outcome {
                Outcome::Judged {
                    passed: good,
                    failures,
                    warnings,
                } => {
                    passed += good;
                    failed += failures.len();
                    warned += warnings.len();
                }
                Outcome::Later => later += 1,
            }
        }
        let role = self.run.role.name();
        let title = self.run.title();
        let scenarios = self.outcomes.len() - later;
        let mut line = format!(
            "{role} {title:24} {scenarios:2} scenarios: {passed} passed, {failed} failed, {warned} warnings"
        );
        if later > 0 {
            let _ = write!(line, "; {later} later");
        }
        line
    }

    /// Everything that is wrong, one entry each.
    pub(super) fn failures(&self) -> Vec<String> {
        let run = format!("{} {}", self.run.role.name(), self.run.title());
        let mut all: Vec<String> = self
            .faults
            .iter()
            .map(|fault| format!("{run}: {fault}"))
            .collect();
        for (scenario, outcome) in &self.outcomes {
            let Outcome::Judged {
                passed,
                failures,
                warnings,
            } = outcome
            else {
                continue;
            };
            let told = |kind, what: &String| format!("{run}: {scenario}: {kind}: {what}");
            all.extend(failures.iter().map(|what| told("failure", what)));
            all.extend(warnings.iter().map(|what| told("warning", what)));
            if *passed == 0 && failures.is_empty() {
                all.push(format!("{run}: {scenario}: not a single check passed"));
            }
        }
        all
    }

    fn cell(&self, scenario: &str) -> String {
        let found = self.outcomes.iter().find(|(name, _)| name == scenario);
        match found {
            None => String::new(),
            Some((_, Outcome::Later)) => "later".to_owned(),
            Some((
                _,
                Outcome::Judged {
                    passed,
                    failures,
                    warnings,
                },
            )) => {
                format!("{passed}/{}/{}", failures.len(), warnings.len())
            }
        }
    }
}

/// Both tables, one for each role, for a terminal.
pub(super) fn plain(columns: &[Column]) -> String {
    let mut text = String::new();
    for role in Role::ALL {
        let own: Vec<&Column> = columns
            .iter()
            .filter(|column| column.run.role == role)
            .collect();
        if !own.is_empty() {
            table(role, &own, &mut text);
        }
    }
    text
}

fn table(role: Role, columns: &[&Column], text: &mut String) {
    let mut scenarios: Vec<&str> = Vec::new();
    let mut reasons: Vec<&str> = Vec::new();
    for (scenario, outcome) in columns.iter().flat_map(|column| &column.outcomes) {
        if !scenarios.contains(&&**scenario) {
            scenarios.push(scenario);
        }
        if let (Outcome::Later, Some(reason)) = (outcome, later::reason(role, scenario))
            && !reasons.contains(&reason)
        {
            reasons.push(reason);
        }
    }
    let width = scenarios.iter().map(|name| name.len()).max().unwrap_or(0);
    let titles: Vec<String> = columns.iter().map(|column| column.run.title()).collect();
    // Writing to a string cannot fail, here and below.
    let _ = write!(text, "{:width$}", role.name());
    for title in &titles {
        let _ = write!(text, "  {title}");
    }
    text.push('\n');
    for scenario in scenarios {
        let _ = write!(text, "{scenario:width$}");
        for (column, title) in columns.iter().zip(&titles) {
            let _ = write!(
                text,
                "  {:width$}",
                column.cell(scenario),
                width = title.len()
            );
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text.push_str("checks passed/failed/with a warning");
    for reason in reasons {
        let _ = write!(text, "; later: {reason}");
    }
    text.push_str("\n\n");
}
