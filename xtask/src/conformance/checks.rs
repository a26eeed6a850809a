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

/// Reads the outcomes in the folder of a run, in the order in which the scenarios ended.
pub(super) fn read(folder: &Path, run: &Run) -> Result<Vec<Outcome>, String> {
    let mut found = Vec::new();
    walk(folder, "", &mut found)?;
    found.sort_by(|a, b| (&a.1, &a.0).cmp(&(&b.1, &b.0)));
    let mut outcomes = Vec::new();
    for (name, stamp) in found {
        let scenario = match run.role {
            Role::Server => name.strip_prefix("server-").unwrap_or(&name),
            Role::Client => &name,
        };
        let mut outcome = Outcome::new(run, scenario);
        let path = folder.join(format!("{name}{stamp}")).join(FILE);
        match fs::read(&path) {
            Ok(text) => {
                let checks: Vec<Check> = serde_json::from_slice(&text)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                outcome.add(&checks);
            }
            Err(_) => outcome
                .problems
                .push("the suite wrote no checks".to_owned()),
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// The folders of scenarios, split into name and stamp; a slash in the name is a folder in a folder.
fn walk(root: &Path, inside: &str, found: &mut Vec<(String, String)>) -> Result<(), String> {
    let folder = root.join(inside);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_type().map_err(failed)?.is_dir() {
            continue;
        }
        let name = format!("{inside}{}", entry.file_name().to_string_lossy());
        match split(&name) {
            Some((scenario, stamp)) => found.push((scenario.to_owned(), stamp.to_owned())),
            None => walk(root, &format!("{name}/"), found)?,
        }
    }
    Ok(())
}

/// The name and the stamp of a folder, if it has one.
fn split(name: &str) -> Option<(&str, &str)> {
    let (scenario, stamp) = name.split_at_checked(name.len().checked_sub(STAMP.len())?)?;
    let shape = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "0");
    (shape(stamp) == shape(STAMP)).then_some((scenario, stamp))
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
        assert_eq!(
            split("server-ping-2027-01-02T03-04-05-678Z"),
            Some(("server-ping", "-2027-01-02T03-04-05-678Z"))
        );
        assert_eq!(split("auth"), None);
        assert_eq!(split("2025-03-26-oauth-endpoint-fallback-of-nothing"), None);
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
