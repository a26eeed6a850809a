//! Scenarios of features that are not built yet. They run with their suite, and do not count.

use super::checks::Verdict;
use super::plan::Role;
use super::table::Column;

struct Later {
    role: Role,
    /// The beginning of the names.
    scenarios: &'static str,
    reason: &'static str,
}

/// What `alone` would have to pass for these to count.
const FORCE: &str =
    "it passes, but alone the suite skips an extension at a dated revision unless it is forced to";

const LATER: &[Later] = &[
    extension("auth/client-credentials-"),
    extension("auth/dpop"),
    extension("auth/enterprise-managed-authorization"),
    extension("auth/wif-jwt-bearer"),
];

const fn extension(scenarios: &'static str) -> Later {
    Later {
        role: Role::Client,
        scenarios,
        reason: FORCE,
    }
}

/// Why the scenario does not count, if it does not.
pub(super) fn reason(role: Role, scenario: &str) -> Option<&'static str> {
    let mut entries = LATER.iter();
    let entry = entries.find(|entry| entry.role == role && scenario.starts_with(entry.scenarios));
    entry.map(|entry| entry.reason)
}

/// Entries that no scenario has; for all runs of all roles.
pub(super) fn unused(columns: &[Column]) -> Vec<String> {
    let is_used = |entry: &&Later| {
        columns.iter().any(|column| {
            column.run.role == entry.role
                && column.verdicts.iter().any(|(scenario, verdict)| {
                    matches!(verdict, Verdict::Later) && scenario.starts_with(entry.scenarios)
                })
        })
    };
    let unused = LATER.iter().filter(|entry| !is_used(entry));
    unused
        .map(|entry| {
            let Later {
                role, scenarios, ..
            } = entry;
            format!(
                "no {} scenario begins with {scenarios}: remove it from later.rs",
                role.name()
            )
        })
        .collect()
}
