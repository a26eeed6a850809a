//! The results that the suite writes, and how many checks each scenario passes. Some scenarios are green when nothing at all
//! happens, so a run that passes fewer checks than an earlier one has lost something.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::suite::{Role, Run};
use crate::workspace::{self, At as _, Result, root};

const FILE: &str = "/checks.json";
/// The end of a folder's name, behind the name of the scenario: the time.
const STAMP: &str = "-2026-11-21T09-25-40-348Z";

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    #[serde(default)]
    description: String,
    error_message: Option<String>,
}

/// The outcome of a scenario in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) run: String,
    pub(super) scenario: String,
    pub(super) passed: usize,
    /// Failures and warnings.
    pub(super) problems: Vec<String>,
}

impl Outcome {
    /// A scenario without checks.
    pub(super) fn new(run: &Run, scenario: &str) -> Self {
        Self {
            run: run.name.clone(),
            scenario: scenario.to_owned(),
            ..Self::default()
        }
    }

    /// Whether nothing is wrong and no check is expected.
    pub(super) fn is_skipped(&self, known: &Counts) -> bool {
        let run = known.get(&self.run);
        self.problems.is_empty() && run.and_then(|run| run.get(&self.scenario)) == Some(&0)
    }

    /// The problems of the scenario. That no check passed is one.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = self.problems.clone();
        if self.passed == 0 && failures.is_empty() {
            failures.push("not a single check passed".to_owned());
        }
        let failures = failures.into_iter();
        let place = format!("{}: {}", self.run, self.scenario);
        failures
            .map(|failure| format!("{place}: {failure}"))
            .collect()
    }

    fn add(&mut self, checks: Vec<Check>) {
        for check in checks {
            match &*check.status {
                "SUCCESS" => self.passed += 1,
                "SKIPPED" | "INFO" => {}
                // A failure, a warning or an unknown status.
                status => {
                    let text = check.error_message.unwrap_or(check.description);
                    self.problems.push(format!("{status} {}: {text}", check.id));
                }
            }
        }
    }
}

/// One line about the outcomes of a run.
pub(super) fn summary(run: &Run, outcomes: &[Outcome]) -> String {
    let passed: usize = outcomes.iter().map(|outcome| outcome.passed).sum();
    let problems = outcomes.iter().map(|outcome| outcome.problems.len());
    let (name, scenarios, problems) = (&run.name, outcomes.len(), problems.sum::<usize>());
    format!(
        "{name:31} {scenarios:2} scenarios: {passed} checks passed, {problems} failures and warnings"
    )
}

/// Reads the outcomes in the folder of a run, by scenario.
pub(super) fn read(folder: &Path, run: &Run) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for file in workspace::read(folder, &[""], |path| path.ends_with(FILE))? {
        let Some(scenario) = scenario(&file.path) else {
            continue;
        };
        let prefix = match run.role {
            Role::Server => "server-",
            Role::Client => "",
        };
        let mut outcome = Outcome::new(run, scenario.strip_prefix(prefix).unwrap_or(scenario));
        outcome.add(serde_json::from_str(&file.text).at(&file.path)?);
        outcomes.push(outcome);
    }
    outcomes.sort_by(|a, b| a.scenario.cmp(&b.scenario));
    Ok(outcomes)
}

/// The name of the scenario in the path of its checks: the folder, or the folders, without the stamp.
fn scenario(path: &str) -> Option<&str> {
    let folder = path.strip_suffix(FILE)?;
    let (scenario, stamp) = folder.split_at_checked(folder.len().checked_sub(STAMP.len())?)?;
    let shape = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "0");
    (shape(stamp) == shape(STAMP)).then_some(scenario)
}

/// The numbers of checks that passed.
pub(super) const PASSED: &str = "tests/conformance/passed.toml";
const HEAD: &str = "\
# Checks passed, by run and scenario: none may pass fewer. `cargo xtask conformance --bless` writes this file. A 0 is written
# by hand: the suite skips the only check of the scenario, and `tests/suites/tasks` has it.
";

/// Numbers of checks, by run and scenario.
pub(super) type Counts = BTreeMap<String, BTreeMap<String, usize>>;

pub(super) fn load() -> Result<Counts> {
    toml::from_str(&workspace::load(root(), PASSED)?.text).at(PASSED)
}

/// The text of the file with these outcomes instead of the known ones of their runs.
pub(super) fn updated(mut known: Counts, outcomes: &[Outcome]) -> Result<String> {
    known.extend(counts(outcomes));
    let runs = toml::to_string(&known).at(PASSED)?;
    Ok(format!("{HEAD}\n{runs}"))
}

/// Scenarios of the runs of these outcomes that pass fewer checks, are missing, or are not in the file.
pub(super) fn check(known: &Counts, outcomes: &[Outcome]) -> Vec<String> {
    let none = BTreeMap::new();
    let mut faults = Vec::new();
    for (run, found) in counts(outcomes) {
        let known = known.get(&run).unwrap_or(&none);
        for (scenario, min) in known {
            faults.extend(match found.get(scenario) {
                Some(passed) if passed >= min => None,
                Some(passed) => Some(format!(
                    "{run}: {scenario}: {passed} checks passed, at least {min} must"
                )),
                None => Some(format!("{run}: {scenario}: was not run")),
            });
        }
        let new = found
            .keys()
            .filter(|scenario| !known.contains_key(*scenario));
        faults.extend(new.map(|scenario| {
            format!("{run}: {scenario}: is not in {PASSED}; run with --bless to add it")
        }));
    }
    faults
}

fn counts(outcomes: &[Outcome]) -> Counts {
    let mut counts = Counts::new();
    for outcome in outcomes {
        let run = counts.entry(outcome.run.clone()).or_default();
        run.insert(outcome.scenario.clone(), outcome.passed);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_for_scenario_and_time() {
        for (folder, expected) in [
            ("server-ping-2027-01-02T03-04-05-678Z", Some("server-ping")),
            ("auth/basic-2027-01-02T03-04-05-678Z", Some("auth/basic")),
            ("auth", None),
            ("2025-03-26-oauth-endpoint-fallback-of-nothing", None),
        ] {
            assert_eq!(scenario(&format!("{folder}{FILE}")), expected);
        }
    }

    #[test]
    fn failures_warnings_and_scenarios_without_a_passed_check_fail() {
        let neutral = r#"{"id": "b", "status": "INFO"}, {"id": "c", "status": "SKIPPED"}"#;
        let other = r#"{"id": "a", "name": "A", "status": "SUCCESS"},
            {"id": "d", "status": "FAILURE", "description": "what is checked", "errorMessage": "what went wrong"},
            {"id": "e", "status": "WARNING", "description": "what is checked"},
            {"id": "f", "status": "PERHAPS"}"#;
        let problems = [
            ": : FAILURE d: what went wrong",
            ": : WARNING e: what is checked",
            ": : PERHAPS f: ",
        ];
        let none = [": : not a single check passed"];
        let known = counts(&[Outcome::default()]);
        for (checks, failures, is_skipped) in [
            (format!("{neutral}, {other}"), &problems[..], false),
            (neutral.to_owned(), &none, true),
        ] {
            let mut outcome = Outcome::default();
            outcome.add(serde_json::from_str(&format!("[{checks}]")).unwrap());
            assert_eq!(outcome.failures(), failures);
            assert_eq!(outcome.is_skipped(&known), is_skipped);
            assert!(!outcome.is_skipped(&Counts::new()));
        }
    }

    #[test]
    fn fewer_checks_and_missing_and_new_scenarios_are_faults() {
        let outcomes = |run: &str, scenarios: &[(&str, usize)]| {
            let outcome = |(scenario, passed): &(&str, usize)| Outcome {
                run: run.to_owned(),
                scenario: (*scenario).to_owned(),
                passed: *passed,
                ..Outcome::default()
            };
            Vec::from_iter(scenarios.iter().map(outcome))
        };
        let known = counts(&outcomes("server all", &[("a/x", 2), ("b", 1)]));
        let text = updated(known, &outcomes("client all", &[("z", 1)])).unwrap();
        let known: Counts = toml::from_str(&text).unwrap();
        let enough = outcomes("server all", &[("a/x", 3), ("b", 1)]);
        assert_eq!(check(&known, &enough), [""; 0]);
        let faults = check(&known, &outcomes("server all", &[("a/x", 1), ("c", 1)]));
        let expected = [
            "server all: a/x: 1 checks passed, at least 2 must",
            "server all: b: was not run",
            "server all: c: is not in tests/conformance/passed.toml; run with --bless to add it",
        ];
        assert_eq!(faults, expected);
        // The runs of the outcomes are replaced, the others kept.
        let text = updated(known, &outcomes("server all", &[("b", 3)])).unwrap();
        let expected = "\n[\"client all\"]\nz = 1\n\n[\"server all\"]\nb = 3\n";
        assert_eq!(text, format!("{HEAD}{expected}"));
    }
}
