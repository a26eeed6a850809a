//! Scenarios that say nothing yet, because we lack the feature or the suite lacks the checks. They run with their
//! suite, and do not count.

use super::checks::Outcome;
use super::plan::Role;
use super::table::Column;

/// A role, the beginning of the names, and what is missing.
type Later = (Role, &'static str, &'static str);

const LATER: &[Later] = &[(
    Role::Server,
    "tasks-status-notifications",
    "the suite skips its only check; tests/suites/tasks has it",
)];

/// Why the scenario does not count, if it does not.
pub(super) fn reason(role: Role, scenario: &str) -> Option<&'static str> {
    let mut entries = LATER.iter();
    let entry = entries.find(|(whose, names, _)| *whose == role && scenario.starts_with(names));
    entry.map(|(_, _, reason)| *reason)
}

/// Entries that no scenario has; for all runs of all roles.
pub(super) fn unused(columns: &[Column]) -> Vec<String> {
    let is_used = |(role, names, _): &&Later| {
        columns.iter().any(|column| {
            column.run.role == *role
                && column.outcomes.iter().any(|(scenario, outcome)| {
                    matches!(outcome, Outcome::Later) && scenario.starts_with(names)
                })
        })
    };
    let unused = LATER.iter().filter(|entry| !is_used(entry));
    unused
        .map(|(role, names, _)| {
            format!(
                "no {} scenario begins with {names}: remove it from later.rs",
                role.name()
            )
        })
        .collect()
}
