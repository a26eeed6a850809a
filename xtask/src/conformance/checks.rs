//! The results that the suite writes.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::suite::{Role, Run};

const FILE: &str = "checks.json";
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
    description: Option<String>,
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
        let place = format!("{}: {}", self.run, self.scenario);
        let judged = failures.iter().filter(|_| self.is_judged);
        judged
            .map(|failure| format!("{place}: {failure}"))
            .collect()
    }

    fn add(&mut self, checks: &[Check]) {
        for Check {
            id,
            status,
            description,
            error_message,
        } in checks
        {
            let text = error_message.as_ref().or(description.as_ref());
            let text = text.map_or("", |text| text);
            match &**status {
                "SUCCESS" => self.passed += 1,
                "SKIPPED" | "INFO" => {}
                // A failure, a warning or an unknown status.
                _ => self.problems.push(format!("{status} {id}: {text}")),
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
pub(super) fn read(folder: &Path, run: &Run) -> Result<Vec<Outcome>, String> {
    let mut outcomes = Vec::new();
    if folder.is_dir() {
        walk(folder, "", run, &mut outcomes)?;
    }
    outcomes.sort_by(|a, b| a.scenario.cmp(&b.scenario));
    Ok(outcomes)
}

/// Reads the folders of scenarios. A slash in the name of a scenario is a folder, whose name is `parent`.
fn walk(folder: &Path, parent: &str, run: &Run, outcomes: &mut Vec<Outcome>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_type().map_err(failed)?.is_dir() {
            continue;
        }
        let name = format!("{parent}{}", entry.file_name().to_string_lossy());
        let Some(scenario) = scenario(&name) else {
            walk(&entry.path(), &format!("{name}/"), run, outcomes)?;
            continue;
        };
        let prefix = if run.role == Role::Server {
            "server-"
        } else {
            ""
        };
        let mut outcome = Outcome::new(run, scenario.strip_prefix(prefix).unwrap_or(scenario));
        let path = entry.path().join(FILE);
        match fs::read(&path).map(|text| serde_json::from_slice::<Vec<Check>>(&text)) {
            Ok(Ok(checks)) => outcome.add(&checks),
            Ok(Err(error)) => return Err(format!("{}: {error}", path.display())),
            Err(_) => {
                let problem = "the suite wrote no checks".to_owned();
                outcome.problems.push(problem);
            }
        }
        outcomes.push(outcome);
    }
    Ok(())
}

/// The part of a folder's name before the stamp, if it has one.
fn scenario(name: &str) -> Option<&str> {
    let (scenario, stamp) = name.split_at_checked(name.len().checked_sub(STAMP.len())?)?;
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
        let name = "server-ping-2027-01-02T03-04-05-678Z";
        assert_eq!(scenario(name), Some("server-ping"));
        assert_eq!(scenario("auth"), None);
        assert_eq!(
            scenario("2025-03-26-oauth-endpoint-fallback-of-nothing"),
            None
        );
    }

    #[test]
    fn only_failures_and_warnings_count_against_a_scenario() {
        let checks = r#"[
            {"id": "a", "name": "A", "status": "SUCCESS"},
            {"id": "b", "status": "INFO"},
            {"id": "c", "status": "SKIPPED"},
            {"id": "d", "status": "FAILURE", "description": "what is checked", "errorMessage": "what went wrong"},
            {"id": "e", "status": "WARNING", "description": "what is checked"},
            {"id": "f", "status": "PERHAPS"}
        ]"#;
        let checks: Vec<Check> = serde_json::from_str(checks).unwrap();
        let mut outcome = Outcome::default();
        outcome.add(&checks);
        assert_eq!(outcome.passed, 1);
        let problems = [
            "FAILURE d: what went wrong",
            "WARNING e: what is checked",
            "PERHAPS f: ",
        ];
        assert_eq!(outcome.problems, problems);
        let mut silent = Outcome {
            is_judged: true,
            ..Outcome::default()
        };
        silent.add(&checks[1..3]);
        assert_eq!(silent.failures(), [": : not a single check passed"]);
        silent.is_judged = false;
        assert_eq!(silent.failures(), [""; 0]);
    }
}
