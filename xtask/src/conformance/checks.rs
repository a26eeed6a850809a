//! The results that the suite writes.

use std::path::Path;

use serde::Deserialize;

use super::suite::{Role, Run};
use crate::files;
use crate::workspace::{At as _, Result};

const FILE: &str = "/checks.json";
/// The end of a folder's name, behind the name of the scenario: the time.
const STAMP: &str = "-2026-11-21T09-25-40-348Z";

/// The beginning of the names of server scenarios that run and are not judged: the suite skips their only check;
/// `tests/suites/tasks` has it.
const NOT_JUDGED: &str = "tasks-status-notifications";

/// One check.
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
    /// The name of the run.
    pub(super) run: String,
    pub(super) scenario: String,
    /// Number of checks that passed.
    pub(super) passed: usize,
    /// Failures and warnings.
    pub(super) problems: Vec<String>,
    /// Whether the problems and the number count.
    pub(super) is_judged: bool,
}

impl Outcome {
    /// A scenario without checks.
    pub(super) fn new(run: &Run, scenario: &str) -> Self {
        Self {
            run: run.name.clone(),
            scenario: scenario.to_owned(),
            is_judged: run.role != Role::Server || !scenario.starts_with(NOT_JUDGED),
            ..Self::default()
        }
    }

    /// The problems of a judged scenario.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut failures = self.problems.clone();
        if self.passed == 0 && failures.is_empty() {
            failures.push("not a single check passed".to_owned());
        }
        let judged = failures.iter().filter(|_| self.is_judged);
        judged
            .map(|failure| format!("{}: {}: {failure}", self.run, self.scenario))
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
pub(super) fn summary(outcomes: &[Outcome]) -> String {
    let judged = || outcomes.iter().filter(|outcome| outcome.is_judged);
    let passed: usize = judged().map(|outcome| outcome.passed).sum();
    let problems: usize = judged().map(|outcome| outcome.problems.len()).sum();
    let name = outcomes.first().map_or("", |outcome| &outcome.run);
    let scenarios = judged().count();
    let others = outcomes.len() - scenarios;
    format!(
        "{name:31} {scenarios:2} scenarios: {passed} checks passed, {problems} failures and warnings; {others} not judged"
    )
}

/// Reads the outcomes in the folder of a run, by scenario.
pub(super) fn read(folder: &Path, run: &Run) -> Result<Vec<Outcome>> {
    let mut outcomes = Vec::new();
    for file in files::read(folder, &[""], |path| path.ends_with(FILE))? {
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

/// A failure if no scenario of all runs has a name that begins with [`NOT_JUDGED`].
pub(super) fn unused(outcomes: &[Outcome]) -> Option<String> {
    let is_unused = outcomes.iter().all(|outcome| outcome.is_judged);
    is_unused
        .then(|| format!("no server scenario begins with {NOT_JUDGED}: remove it from checks.rs"))
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
    fn only_failures_and_warnings_count_against_a_judged_scenario() {
        let outcome = |checks: &str, is_judged| {
            let mut outcome = Outcome {
                is_judged,
                ..Outcome::default()
            };
            outcome.add(serde_json::from_str(&format!("[{checks}]")).unwrap());
            outcome
        };
        let neutral = r#"{"id": "b", "status": "INFO"}, {"id": "c", "status": "SKIPPED"}"#;
        let other = r#"{"id": "a", "name": "A", "status": "SUCCESS"},
            {"id": "d", "status": "FAILURE", "description": "what is checked", "errorMessage": "what went wrong"},
            {"id": "e", "status": "WARNING", "description": "what is checked"},
            {"id": "f", "status": "PERHAPS"}"#;
        let failures = outcome(&format!("{neutral}, {other}"), true).failures();
        let expected = [
            ": : FAILURE d: what went wrong",
            ": : WARNING e: what is checked",
            ": : PERHAPS f: ",
        ];
        assert_eq!(failures, expected);
        let failures = outcome(neutral, true).failures();
        assert_eq!(failures, [": : not a single check passed"]);
        assert_eq!(outcome(neutral, false).failures(), [""; 0]);
    }
}
