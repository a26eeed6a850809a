//! What the suite writes down about a scenario.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::later;
use super::plan::Role;

const FILE: &str = "checks.json";
/// How a folder's name goes on behind the scenario's: a dash and the time, with dashes.
const STAMP: &str = "-2026-11-21T09-25-40-348Z";

/// One check.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    id: String,
    status: String,
    description: Option<String>,
    error_message: Option<String>,
}

/// What became of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// How many checks passed, and what is wrong with each of the others.
    Judged {
        passed: usize,
        failures: Vec<String>,
        warnings: Vec<String>,
    },
    /// It does not count yet.
    Later,
}

impl Outcome {
    fn of(checks: &[Check]) -> Self {
        let with = |status: &'static str| checks.iter().filter(move |check| check.status == status);
        let told = |check: &Check| {
            let what = check.error_message.as_ref().or(check.description.as_ref());
            format!("{}: {}", check.id, what.map_or("", |what| what))
        };
        let known = ["SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO"];
        let strange = checks
            .iter()
            .filter(|check| !known.contains(&&*check.status))
            .map(|check| format!("{}: has the strange status {}", check.id, check.status));
        Self::Judged {
            passed: with("SUCCESS").count(),
            failures: with("FAILURE").map(told).chain(strange).collect(),
            warnings: with("WARNING").map(told).collect(),
        }
    }

    /// A scenario of which nothing but this is known.
    pub(super) fn fault(fault: String) -> Self {
        Self::Judged {
            passed: 0,
            failures: vec![fault],
            warnings: Vec::new(),
        }
    }

    /// Adds what the checks do not say.
    pub(super) fn fail(&mut self, failure: String) {
        if let Self::Judged { failures, .. } = self {
            failures.push(failure);
        }
    }
}

/// The outcomes of a run, in the order in which the scenarios were done, and whether any check at all has failed, also
/// one that does not count yet.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    pub(super) scenarios: Vec<(String, Outcome)>,
    pub(super) any_failed: bool,
}

/// Reads everything that a run has written into its folder.
pub(super) fn read(folder: &Path, role: Role) -> Result<Outcomes, String> {
    let mut found = Vec::new();
    walk(folder, "", &mut found)?;
    // By the time, and then by the name.
    found.sort_by(|a, b| (&a.1, &a.0).cmp(&(&b.1, &b.0)));
    let mut outcomes = Outcomes::default();
    for (name, stamp) in found {
        let path = folder.join(format!("{name}{stamp}")).join(FILE);
        let scenario = match role {
            Role::Server => name.strip_prefix("server-").unwrap_or(&name),
            Role::Client => &name,
        };
        let outcome = match fs::read(&path) {
            Ok(text) => {
                let checks: Vec<Check> = serde_json::from_slice(&text)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                Outcome::of(&checks)
            }
            Err(_) => Outcome::fault("the suite wrote no checks".to_owned()),
        };
        if let Outcome::Judged {
            failures, warnings, ..
        } = &outcome
        {
            outcomes.any_failed |= !failures.is_empty() || !warnings.is_empty();
        }
        let outcome = match later::reason(role, scenario) {
            Some(_) => Outcome::Later,
            None => outcome,
        };
        outcomes.scenarios.push((scenario.to_owned(), outcome));
    }
    Ok(outcomes)
}

/// The folders of scenarios, split in name and stamp; a slash in the name is a folder in a folder.
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
    let fits = stamp.chars().zip(STAMP.chars()).all(|(c, pattern)| {
        if pattern.is_ascii_digit() {
            c.is_ascii_digit()
        } else {
            c == pattern
        }
    });
    fits.then_some((scenario, stamp))
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
        let expected = Outcome::Judged {
            passed: 1,
            failures: vec![
                "d: what went wrong".to_owned(),
                "f: has the strange status PERHAPS".to_owned(),
            ],
            warnings: vec!["e: what is checked".to_owned()],
        };
        assert_eq!(Outcome::of(&checks), expected);
    }
}
