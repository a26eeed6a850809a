//! How many checks each scenario passes. Some scenarios are green when nothing at all happens, so a run that passes
//! fewer checks than an earlier one has lost something.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::checks::Column;

const FILE: &str = "tests/conformance/passed.txt";
const HEAD: &str = "\
# Checks passed, by run and scenario: none may pass fewer. `cargo xtask conformance --bless` writes this file.
";

/// The counts, by run and scenario.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Passed(BTreeMap<(String, String), usize>);

impl Passed {
    /// Reads the file.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut counts = BTreeMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let parts: Vec<&str> = line.split(" | ").collect();
            let [run, scenario, count] = parts[..] else {
                return Err(format!("{FILE}: not `run | scenario | count`: {line}"));
            };
            let count = count
                .parse()
                .map_err(|error| format!("{FILE}: {error}: {line}"))?;
            counts.insert((run.to_owned(), scenario.to_owned()), count);
        }
        Ok(Self(counts))
    }

    /// Writes the file.
    pub(super) fn store(&self, root: &Path) -> Result<(), String> {
        fs::write(root.join(FILE), self.text()).map_err(|error| format!("{FILE}: {error}"))
    }

    fn text(&self) -> String {
        let line = |((run, scenario), count): (&(String, String), &usize)| {
            format!("{run} | {scenario} | {count}\n")
        };
        HEAD.to_owned() + &self.0.iter().map(line).collect::<String>()
    }

    /// Replaces the counts of these runs.
    pub(super) fn update(&mut self, columns: &[Column]) {
        for column in columns {
            let name = column.run.name();
            self.0.retain(|(run, _), _| *run != name);
            for (scenario, outcome) in column.judged() {
                self.0
                    .insert((name.clone(), scenario.to_owned()), outcome.passed);
            }
        }
    }

    /// Scenarios of these runs that pass fewer checks, are missing, or are not in the file.
    pub(super) fn check(&self, columns: &[Column]) -> Vec<String> {
        let mut faults = Vec::new();
        for column in columns {
            let name = column.run.name();
            for ((_, scenario), min) in self.0.iter().filter(|((run, _), _)| *run == name) {
                match column.judged().find(|(known, _)| known == scenario) {
                    Some((_, outcome)) if outcome.passed >= *min => {}
                    Some((_, outcome)) => faults.push(format!(
                        "{name}: {scenario}: {} checks passed, {min} are known to",
                        outcome.passed
                    )),
                    None => faults.push(format!("{name}: {scenario}: was not run")),
                }
            }
            let is_unknown =
                |scenario: &str| !self.0.contains_key(&(name.clone(), scenario.to_owned()));
            let unknown = column
                .judged()
                .filter(|(scenario, _)| is_unknown(scenario))
                .count();
            if unknown > 0 {
                faults.push(format!(
                    "{name}: {unknown} scenarios are not in {FILE}; once all is well, use --bless"
                ));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::checks::Outcome;
    use crate::conformance::suite::{Role, runs};

    fn column(role: Role, scenarios: &[(&str, usize)]) -> Column {
        let outcome = |(scenario, passed): &(&str, usize)| {
            let outcome = Outcome {
                passed: *passed,
                ..Outcome::default()
            };
            ((*scenario).to_owned(), outcome)
        };
        Column {
            run: runs(role, None).remove(0),
            outcomes: scenarios.iter().map(outcome).collect(),
            faults: Vec::new(),
        }
    }

    fn known() -> Passed {
        let mut known = Passed::default();
        let server = column(Role::Server, &[("a", 2), ("b", 1)]);
        known.update(&[server, column(Role::Client, &[("z", 1)])]);
        known
    }

    #[test]
    fn fewer_checks_and_missing_and_new_scenarios_are_faults() {
        let known = known();
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
    fn an_update_replaces_the_counts_of_its_runs_only() {
        let mut updated = known();
        updated.update(&[column(Role::Server, &[("b", 3)])]);
        assert_eq!(updated.0.values().copied().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(Passed::parse(&updated.text()), Ok(updated));
    }
}
