//! How many checks each scenario passes. Some scenarios are green when nothing at all happens, so a run that passes
//! fewer checks than an earlier one has lost something.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::checks::Outcome;

const FILE: &str = "tests/conformance/passed.txt";
const HEAD: &str = "\
# Checks passed, by run and scenario: none may pass fewer. `cargo xtask conformance --bless` writes this file.
";

/// Numbers of checks, by run and scenario.
type Counts = BTreeMap<(String, String), usize>;

/// The counts of the file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Passed(Counts);

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

    /// Replaces the counts of the runs of these outcomes.
    pub(super) fn update(&mut self, outcomes: &[Outcome]) {
        self.0
            .retain(|(run, _), _| outcomes.iter().all(|outcome| outcome.run != *run));
        self.0.extend(counts(outcomes));
    }

    /// Scenarios of the runs of these outcomes that pass fewer checks, are missing, or are not in the file.
    pub(super) fn check(&self, outcomes: &[Outcome]) -> Vec<String> {
        let found: Counts = counts(outcomes).collect();
        let mut faults = Vec::new();
        for (key @ (run, scenario), min) in &self.0 {
            match found.get(key) {
                Some(passed) if passed < min => faults.push(format!(
                    "{run}: {scenario}: {passed} checks passed, {min} are known to"
                )),
                None if outcomes.iter().any(|outcome| outcome.run == *run) => {
                    faults.push(format!("{run}: {scenario}: was not run"));
                }
                _ => {}
            }
        }
        for (run, scenario) in found.keys().filter(|key| !self.0.contains_key(*key)) {
            faults.push(format!(
                "{run}: {scenario}: is not in {FILE}; once all is well, use --bless"
            ));
        }
        faults
    }
}

fn counts(outcomes: &[Outcome]) -> impl Iterator<Item = ((String, String), usize)> {
    let judged = outcomes.iter().filter(|outcome| outcome.is_judged);
    judged.map(|outcome| {
        (
            (outcome.run.clone(), outcome.scenario.clone()),
            outcome.passed,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(run: &str, scenarios: &[(&str, usize)]) -> Vec<Outcome> {
        let outcome = |(scenario, passed): &(&str, usize)| Outcome {
            run: run.to_owned(),
            scenario: (*scenario).to_owned(),
            passed: *passed,
            is_judged: true,
            ..Outcome::default()
        };
        scenarios.iter().map(outcome).collect()
    }

    fn known() -> Passed {
        let mut known = Passed::default();
        known.update(&outcomes("server all", &[("a", 2), ("b", 1)]));
        known.update(&outcomes("client all", &[("z", 1)]));
        known
    }

    #[test]
    fn fewer_checks_and_missing_and_new_scenarios_are_faults() {
        let known = known();
        let enough = outcomes("server all", &[("a", 3), ("b", 1)]);
        assert_eq!(known.check(&enough), [""; 0]);
        let faults = known.check(&outcomes("server all", &[("a", 1), ("c", 1)]));
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[0].contains("a: 1 checks"), "{faults:?}");
        assert!(faults[1].contains("b: was not run"), "{faults:?}");
        assert!(faults[2].contains("c: is not in"), "{faults:?}");
    }

    #[test]
    fn an_update_replaces_the_counts_of_its_runs_only() {
        let mut updated = known();
        updated.update(&outcomes("server all", &[("b", 3)]));
        assert_eq!(updated.0.values().copied().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(Passed::parse(&updated.text()), Ok(updated));
    }
}
