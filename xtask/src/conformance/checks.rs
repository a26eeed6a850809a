//! The results that the suite writes, and their tables.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::suite::{Role, Run};

const FILE: &str = "checks.json";
/// The end of a folder's name, behind the name of the scenario: the time.
const STAMP: &str = "-2026-11-21T09-25-40-348Z";

/// Scenarios that run and are not judged, because the suite or this SDK lacks something: role, beginning of the names,
/// and reason.
const NOT_JUDGED: [(Role, &str, &str); 1] = [(
    Role::Server,
    "tasks-status-notifications",
    "the suite skips its only check; tests/suites/tasks has it",
)];

/// One check.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    description: Option<String>,
    error_message: Option<String>,
}

/// The outcome of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Number of checks that passed.
    pub(super) passed: usize,
    pub(super) failures: Vec<String>,
    pub(super) warnings: Vec<String>,
    /// Why the scenario is not judged.
    pub(super) not_judged: Option<&'static str>,
}

impl Outcome {
    fn of(checks: &[Check]) -> Self {
        let mut outcome = Self::default();
        for Check {
            id,
            status,
            description,
            error_message,
        } in checks
        {
            let detail = error_message.as_ref().or(description.as_ref());
            let text = format!("{id}: {}", detail.map_or("", |text| text));
            match &**status {
                "SUCCESS" => outcome.passed += 1,
                "FAILURE" => outcome.failures.push(text),
                "WARNING" => outcome.warnings.push(text),
                "SKIPPED" | "INFO" => {}
                _ => outcome
                    .failures
                    .push(format!("{id}: unknown status {status}")),
            }
        }
        outcome
    }

    /// A scenario that failed without checks.
    pub(super) fn fault(fault: String) -> Self {
        Self {
            failures: vec![fault],
            ..Self::default()
        }
    }

    pub(super) fn has_problem(&self) -> bool {
        !self.failures.is_empty() || !self.warnings.is_empty()
    }
}

/// Reads the outcomes in the folder of a run, in the order in which the scenarios ended.
pub(super) fn read(folder: &Path, role: Role) -> Result<Vec<(String, Outcome)>, String> {
    let mut found = Vec::new();
    walk(folder, "", &mut found)?;
    found.sort_by(|a, b| (&a.1, &a.0).cmp(&(&b.1, &b.0)));
    let mut outcomes = Vec::new();
    for (name, stamp) in found {
        let path = folder.join(format!("{name}{stamp}")).join(FILE);
        let mut outcome = match fs::read(&path) {
            Ok(text) => {
                let checks: Vec<Check> = serde_json::from_slice(&text)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                Outcome::of(&checks)
            }
            Err(_) => Outcome::fault("the suite wrote no checks".to_owned()),
        };
        let scenario = match role {
            Role::Server => name.strip_prefix("server-").unwrap_or(&name),
            Role::Client => &name,
        };
        let mut entries = NOT_JUDGED.iter();
        let entry = entries.find(|(of, start, _)| *of == role && scenario.starts_with(start));
        outcome.not_judged = entry.map(|(_, _, reason)| *reason);
        outcomes.push((scenario.to_owned(), outcome));
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

/// A run and its outcomes.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) run: Run,
    pub(super) outcomes: Vec<(String, Outcome)>,
    /// Failures of the run itself.
    pub(super) faults: Vec<String>,
}

impl Column {
    pub(super) fn outcome(&self, scenario: &str) -> Option<&Outcome> {
        let mut outcomes = self.outcomes.iter();
        outcomes.find_map(|(name, outcome)| (name == scenario).then_some(outcome))
    }

    /// The outcomes that count.
    pub(super) fn judged(&self) -> impl Iterator<Item = (&str, &Outcome)> {
        let judged = self
            .outcomes
            .iter()
            .filter(|(_, outcome)| outcome.not_judged.is_none());
        judged.map(|(scenario, outcome)| (&**scenario, outcome))
    }

    /// One line about the run.
    pub(super) fn summary(&self) -> String {
        let sum =
            |count: fn(&Outcome) -> usize| self.judged().map(|(_, all)| count(all)).sum::<usize>();
        let [passed, failed, warned] = [
            sum(|all| all.passed),
            sum(|all| all.failures.len()),
            sum(|all| all.warnings.len()),
        ];
        let scenarios = self.judged().count();
        let name = self.run.name();
        let mut line = format!(
            "{name:31} {scenarios:2} scenarios: {passed} passed, {failed} failed, {warned} warnings"
        );
        let not_judged = self.outcomes.len() - scenarios;
        if not_judged > 0 {
            line += &format!("; {not_judged} not judged");
        }
        line
    }

    /// All failures and warnings, one entry each.
    pub(super) fn failures(&self) -> Vec<String> {
        let mut all = self.faults.clone();
        for (scenario, outcome) in self.judged() {
            let entry =
                |kind: &'static str| move |text: &String| format!("{scenario}: {kind}: {text}");
            all.extend(outcome.failures.iter().map(entry("failure")));
            all.extend(outcome.warnings.iter().map(entry("warning")));
            if outcome.passed == 0 && outcome.failures.is_empty() {
                all.push(format!("{scenario}: not a single check passed"));
            }
        }
        let name = self.run.name();
        all.into_iter()
            .map(|text| format!("{name}: {text}"))
            .collect()
    }
}

/// Entries of [`NOT_JUDGED`] that no scenario has; for all runs of all roles.
pub(super) fn unused(columns: &[Column]) -> Vec<String> {
    let is_used = |reason: &str| {
        let mut outcomes = columns.iter().flat_map(|column| &column.outcomes);
        outcomes.any(|(_, outcome)| outcome.not_judged == Some(reason))
    };
    let unused = NOT_JUDGED.iter().filter(|(_, _, reason)| !is_used(reason));
    let text = |(role, start, _): &(Role, &str, &str)| {
        format!(
            "no {} scenario begins with {start}: remove it from checks.rs",
            role.name()
        )
    };
    unused.map(text).collect()
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
        let outcome = Outcome::of(&checks);
        assert_eq!(outcome.passed, 1);
        assert_eq!(
            outcome.failures,
            ["d: what went wrong", "f: unknown status PERHAPS"]
        );
        assert_eq!(outcome.warnings, ["e: what is checked"]);
    }
}
