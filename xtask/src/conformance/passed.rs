//! How many checks each scenario passes. Some scenarios are green when nothing at all happens, so a run that passes
//! fewer checks than it once did has lost something.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::checks::Outcome;
use super::table::Column;

const FILE: &str = "tests/conformance/passed.txt";
const HEAD: &str = "\
# Checks passed, by run and scenario: none may pass fewer. `cargo xtask conformance --bless` writes this file.
";

/// A run, and a scenario of it.
type Key = (String, String);

/// The counts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Passed(BTreeMap<Key, usize>);

impl Passed {
    /// Reads the file.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{FILE}: {error}");
        let text = fs::read_to_string(root.join(FILE)).map_err(|error| failed(&error))?;
        Self::parse(&text).map_err(|error| failed(&error))
    }

    /// Writes the file.
    pub(super) fn store(&self, root: &Path) -> Result<(), String> {
        fs::write(root.join(FILE), self.text()).map_err(|error| format!("{FILE}: {error}"))
    }

    /// The same, with what these runs have shown instead of what was known of them.
    pub(super) fn updated(mut self, columns: &[Column]) -> Self {
        self.0
            .retain(|(run, _), _| !columns.iter().any(|column| name(column) == *run));
        self.0.extend(counts(columns).0);
        self
    }

    /// What is lost, and what is not written down. Runs that were not made are not missed.
    pub(super) fn check(&self, columns: &[Column]) -> Vec<String> {
        let made = counts(columns);
        let mut faults = Vec::new();
        for column in columns {
            let run = name(column);
            let known: Vec<_> = self.0.iter().filter(|(key, _)| key.0 == run).collect();
            for (key, least) in &known {
                let scenario = &key.1;
                match made.0.get(*key) {
                    Some(passed) if passed >= *least => {}
                    Some(passed) => faults.push(format!(
                        "{run}: {scenario}: {passed} checks passed, {least} are known to"
                    )),
                    None => faults.push(format!("{run}: {scenario}: was not run")),
                }
            }
            let own = made.0.keys().filter(|key| key.0 == run);
            let unknown = own.filter(|key| !self.0.contains_key(*key)).count();
            if unknown > 0 {
                faults.push(format!(
                    "{run}: {unknown} scenarios are not in {FILE}; once all is well, use --bless"
                ));
            }
        }
        faults
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut counts = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut parts = line.split(" | ");
            let (Some(run), Some(scenario), Some(Ok(count)), None) = (
                parts.next(),
                parts.next(),
                parts.next().map(str::parse),
                parts.next(),
            ) else {
                return Err(format!("not `run | scenario | count`: {line}"));
            };
            counts.insert((run.to_owned(), scenario.to_owned()), count);
        }
        Ok(Self(counts))
    }

    fn text(&self) -> String {
        let lines = self
            .0
            .iter()
            .map(|((run, scenario), count)| format!("{run} | {scenario} | {count}\n"));
        HEAD.to_owned() + &lines.collect::<String>()
    }
}

fn name(column: &Column) -> String {
    format!("{} {}", column.run.role.name(), column.run.title())
}

fn counts(columns: &[Column]) -> Passed {
    let mut counts = BTreeMap::new();
    for column in columns {
        for (scenario, outcome) in &column.outcomes {
            if let Outcome::Judged { passed, .. } = outcome {
                counts.insert((name(column), scenario.clone()), *passed);
            }
        }
    }
    Passed(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::plan::{Role, runs};

    fn column(role: Role, scenarios: &[(&str, usize)]) -> Column {
        let run = runs(role, None).next().unwrap();
        let outcomes = scenarios.iter().map(|(scenario, passed)| {
            let outcome = Outcome::Judged {
                passed: *passed,
                failures: Vec::new(),
                warnings: Vec::new(),
            };
            ((*scenario).to_owned(), outcome)
        });
        Column::new(run, outcomes.collect())
    }

    #[test]
    fn a_lost_check_a_lost_scenario_and_a_new_one_are_told() {
        let known = counts(&[
            column(Role::Server, &[("a", 2), ("b", 1)]),
            column(Role::Client, &[("z", 1)]),
        ]);
        assert_eq!(
            known.check(&[column(Role::Server, &[("a", 3), ("b", 1)])]),
            [""; 0]
        );
        let faults = known.check(&[column(Role::Server, &[("a", 1), ("c", 1)])]);
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[0].contains("a: 1 checks"), "{faults:?}");
        assert!(faults[1].contains("b: was not run"), "{faults:?}");
        assert!(faults[2].contains("1 scenarios are not in"), "{faults:?}");
    }

    #[test]
    fn a_run_replaces_what_was_known_of_it_alone() {
        let known = counts(&[
            column(Role::Server, &[("a", 2)]),
            column(Role::Client, &[("z", 1)]),
        ]);
        let updated = known.updated(&[column(Role::Server, &[("b", 1)])]);
        assert_eq!(Passed::parse(&updated.text()), Ok(updated));
    }
}
