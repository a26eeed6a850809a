//! How many checks each scenario passes. Some scenarios are green when nothing at all happens, so a run that passes
//! fewer checks than an earlier one has lost something.

use std::collections::BTreeMap;
use std::path::Path;

use super::checks::Outcome;
use crate::files::{self, File};
use crate::workspace::Result;

const FILE: &str = "tests/conformance/passed.txt";
const HEAD: &str = "\
# Checks passed, by run and scenario: none may pass fewer. `cargo xtask conformance --bless` writes this file.
";

/// Numbers of checks, by `run | scenario`.
pub(super) type Counts = BTreeMap<String, usize>;

/// Reads the file, whose lines are `run | scenario | count`.
pub(super) fn load(root: &Path) -> Result<Counts> {
    let form = "run | scenario | count";
    entries(&files::load(root, FILE)?, form, |key, count| {
        Some((key.to_owned(), count.parse().ok()?))
    })
}

/// Reads a file with one entry a line, and comments; `entry` reads what is before and behind the last bar.
pub(super) fn entries<T, C: FromIterator<T>>(
    file: &File,
    form: &str,
    entry: impl Fn(&str, &str) -> Option<T>,
) -> Result<C> {
    let lines = file.lines().filter(|(_, line)| !line.starts_with('#'));
    let lines = lines.map(|(number, line)| {
        let parts = line.rsplit_once(" | ");
        let entry = parts.and_then(|(key, value)| entry(key, value));
        entry.ok_or_else(|| format!("{}:{number}: not `{form}`: {line}", file.path))
    });
    lines.collect()
}

/// Writes the file.
pub(super) fn store(root: &Path, counts: &Counts) -> Result {
    let mut text = HEAD.to_owned();
    for (key, count) in counts {
        text += &format!("{key} | {count}\n");
    }
    files::write(&root.join(FILE), &text)
}

/// Replaces the counts of the runs of these outcomes.
pub(super) fn updated(mut known: Counts, outcomes: &[Outcome]) -> Counts {
    known.retain(|key, _| !is_of(key, outcomes));
    known.extend(counts(outcomes));
    known
}

/// Scenarios of the runs of these outcomes that pass fewer checks, are missing, or are not in the file.
pub(super) fn check(known: &Counts, outcomes: &[Outcome]) -> Vec<String> {
    let found = counts(outcomes);
    let mut faults = Vec::new();
    for (key, min) in known.iter().filter(|(key, _)| is_of(key, outcomes)) {
        faults.extend(match found.get(key) {
            Some(passed) if passed >= min => None,
            Some(passed) => Some(format!(
                "{key}: {passed} checks passed, at least {min} must"
            )),
            None => Some(format!("{key}: was not run")),
        });
    }
    let new = found.keys().filter(|key| !known.contains_key(*key));
    faults.extend(new.map(|key| format!("{key}: is not in {FILE}; run with --bless to add it")));
    faults
}

/// Whether the key belongs to a run of these outcomes.
fn is_of(key: &str, outcomes: &[Outcome]) -> bool {
    let run = key.split(" | ").next();
    outcomes.iter().any(|outcome| run == Some(&outcome.run))
}

fn counts(outcomes: &[Outcome]) -> Counts {
    let judged = outcomes.iter().filter(|outcome| outcome.is_judged);
    let key = |outcome: &Outcome| format!("{} | {}", outcome.run, outcome.scenario);
    let counts = judged.map(|outcome| (key(outcome), outcome.passed));
    counts.collect()
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

    #[test]
    fn fewer_checks_and_missing_and_new_scenarios_are_faults() {
        let known = counts(&outcomes("server all", &[("a/x", 2), ("b", 1)]));
        let known = updated(known, &outcomes("client all", &[("z", 1)]));
        let enough = outcomes("server all", &[("a/x", 3), ("b", 1)]);
        assert_eq!(check(&known, &enough), [""; 0]);
        let faults = check(&known, &outcomes("server all", &[("a/x", 1), ("c", 1)]));
        let expected = [
            "server all | a/x: 1 checks passed, at least 2 must",
            "server all | b: was not run",
            "server all | c: is not in tests/conformance/passed.txt; run with --bless to add it",
        ];
        assert_eq!(faults, expected);
        // The file is read as it is written.
        let root = std::env::temp_dir().join(format!("passed-{}", std::process::id()));
        store(&root, &updated(known, &outcomes("server all", &[("b", 3)]))).unwrap();
        let read = load(&root).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        let read: Vec<_> = read.iter().map(|(key, count)| (&**key, *count)).collect();
        assert_eq!(read, [("client all | z", 1), ("server all | b", 3)]);
    }
}
