//! How many checks each scenario passes. Some scenarios are green when nothing at all happens, so a run that passes
//! fewer checks than it once did has lost something.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::checks::Verdict;
use super::table::Column;

const HEAD: &str = "\
# Checks passed, by run and scenario: none may pass fewer. `cargo xtask conformance --bless` writes this file.
";

/// A run and a scenario, as one line spells them.
type Key = String;

fn counts(columns: &[Column]) -> BTreeMap<Key, usize> {
    let mut counts = BTreeMap::new();
    for column in columns {
        for (scenario, verdict) in &column.verdicts {
            if let Verdict::Judged { passed, .. } = verdict {
                let run = run(column);
                counts.insert(format!("{run} | {scenario}"), *passed);
            }
        }
    }
    counts
}

fn run(column: &Column) -> String {
    format!("{} {}", column.run.role.name(), column.run.title())
}

/// Writes the file.
pub(super) fn write(file: &Path, columns: &[Column]) -> Result<(), String> {
    let mut text = HEAD.to_owned();
    for (key, count) in counts(columns) {
        text += &format!("{key} | {count}\n");
    }
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Compares with the file. Lines about runs that were not made are left alone, unless `all` were made.
pub(super) fn check(file: &Path, columns: &[Column], all: bool) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let expected = parse(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let made: Vec<String> = columns
        .iter()
        .map(|column| format!("{} | ", run(column)))
        .collect();
    let counts = counts(columns);
    let mut faults = Vec::new();
    for (key, least) in &expected {
        let passed = counts.get(key).copied();
        if passed.is_none() && !all && !made.iter().any(|run| key.starts_with(run)) {
            continue;
        }
        match passed {
            Some(passed) if passed >= *least => {}
            Some(passed) => faults.push(format!("{key}: {passed} checks passed, it was {least}")),
            None => faults.push(format!("{key}: was not run")),
        }
    }
    let unknown = counts.keys().filter(|key| !expected.contains_key(*key));
    faults.extend(unknown.map(|key| {
        format!(
            "{key}: is not in {}, once all is well use --bless",
            file.display()
        )
    }));
    Ok(faults)
}

fn parse(text: &str) -> Result<BTreeMap<Key, usize>, String> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let (key, count) = line.rsplit_once(" | ").ok_or(line)?;
            let count = count.parse().map_err(|_| line)?;
            Ok((key.to_owned(), count))
        })
        .collect::<Result<_, &str>>()
        .map_err(|line| format!("not `run | scenario | count`: {line}"))
}
