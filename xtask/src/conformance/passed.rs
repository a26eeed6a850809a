//! How many checks each scenario passes. Some scenarios are green when nothing at all happens, so a run that passes
//! fewer checks than an earlier one has lost something.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::checks::Outcome;
use crate::files;

const FILE: &str = "tests/conformance/passed.txt";
const HEAD: &str = "\
# Checks passed, by run and scenario: none may pass fewer. `cargo xtask conformance --bless` writes this file.
";

/// Numbers of checks, by run and scenario.
pub(super) type Counts = BTreeMap<(String, String), usize>;

/// Reads the file.
pub(super) fn load(root: &Path) -> Result<Counts, String> {
    let mut counts = BTreeMap::new();
    for (number, line) in files::load(root, FILE.to_owned())?.lines() {
        if line.starts_with('#') {
            continue;
        }
        let parts: Vec<&str> = line.split(" | ").collect();
        let count = parts.get(2).and_then(|count| count.parse().ok());
        let ([run, scenario, _], Some(count)) = (&parts[..], count) else {
            return Err(format!(
                "{FILE}:{number}: not `run | scenario | count`: {line}"
            ));
        };
        counts.insert(((*run).to_owned(), (*scenario).to_owned()), count);
    }
    Ok(counts)
}

/// Writes the file.
pub(super) fn store(root: &Path, counts: &Counts) -> Result<(), String> {
    let mut text = HEAD.to_owned();
    for ((run, scenario), count) in counts {
        text += &format!("{run} | {scenario} | {count}\n");
    }
    fs::write(root.join(FILE), text).map_err(|error| format!("{FILE}: {error}"))
}

/// Replaces the counts of the runs of these outcomes.
pub(super) fn updated(mut known: Counts, outcomes: &[Outcome]) -> Counts {
    known.retain(|(run, _), _| outcomes.iter().all(|outcome| outcome.run != *run));
    known.extend(counts(outcomes));
    known
}

/// Scenarios of the runs of these outcomes that pass fewer checks, are missing, or are not in the file.
pub(super) fn check(known: &Counts, outcomes: &[Outcome]) -> Vec<String> {
    let found = counts(outcomes);
    let mut faults = Vec::new();
    for (key @ (run, scenario), min) in known {
        match found.get(key) {
            Some(passed) if passed < min => faults.push(format!(
                "{run}: {scenario}: {passed} checks passed, at least {min} must"
            )),
            None if outcomes.iter().any(|outcome| outcome.run == *run) => {
                faults.push(format!("{run}: {scenario}: was not run"));
            }
            _ => {}
        }
    }
    for (run, scenario) in found.keys().filter(|key| !known.contains_key(*key)) {
        faults.push(format!(
            "{run}: {scenario}: is not in {FILE}; run with --bless to add it"
        ));
    }
    faults
}

fn counts(outcomes: &[Outcome]) -> Counts {
    let judged = outcomes.iter().filter(|outcome| outcome.is_judged);
    judged
        .map(|outcome| {
            let key = (outcome.run.clone(), outcome.scenario.clone());
            (key, outcome.passed)
        })
        .collect()
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
        let known = counts(&outcomes("server all", &[("a", 2), ("b", 1)]));
        let known = updated(known, &outcomes("client all", &[("z", 1)]));
        let enough = outcomes("server all", &[("a", 3), ("b", 1)]);
        assert_eq!(check(&known, &enough), [""; 0]);
        let faults = check(&known, &outcomes("server all", &[("a", 1), ("c", 1)]));
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[0].contains("a: 1 checks"), "{faults:?}");
        assert!(faults[1].contains("b: was not run"), "{faults:?}");
        assert!(faults[2].contains("c: is not in"), "{faults:?}");
        let updated = updated(known, &outcomes("server all", &[("b", 3)]));
        assert_eq!(updated.into_values().collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn the_file_is_read_as_it_is_written() {
        let root = std::env::temp_dir().join(format!("passed-{}", std::process::id()));
        fs::create_dir_all(root.join(FILE).parent().unwrap()).unwrap();
        let known = counts(&outcomes("server all", &[("a/b", 2), ("c", 1)]));
        store(&root, &known).unwrap();
        let read = load(&root);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(read, Ok(known));
    }
}
