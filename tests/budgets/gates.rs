//! Counts against what `gates.toml` says of them.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Counts are of hundreds of calls, and something may grow once in between.
const TOLERANCE: f64 = 0.05;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry {
    /// None where a path is only counted in instructions.
    #[serde(default)]
    allocations: f64,
    allocations_budget: Option<f64>,
}

/// The gates, and what was found wrong so far.
pub(crate) struct Gates {
    entries: BTreeMap<String, Entry>,
    problems: Vec<String>,
}

impl Gates {
    pub(crate) fn load() -> Self {
        Self {
            entries: toml::from_str(include_str!("gates.toml")).unwrap(),
            problems: Vec::new(),
        }
    }

    /// Prints the allocations per call, and compares them.
    #[expect(clippy::print_stdout, reason = "the bench reads it")]
    pub(crate) fn check(&mut self, name: &str, allocations: u64, calls: u64) {
        let count = (allocations as f64 / calls as f64 * 100.0).round() / 100.0;
        // `cargo xtask bench --gate --bless` reads this line.
        println!("allocations of {name}: {count}");
        let entry = &self.entries[name];
        let most = entry.allocations_budget.unwrap_or(f64::INFINITY);
        if count > most + TOLERANCE {
            println!("over the budget of {most}, for which cargo xtask bench --gate fails");
        }
        // Elsewhere the system asks for other things.
        if cfg!(target_os = "linux") && (count - entry.allocations).abs() > TOLERANCE {
            self.problems.push(format!(
                "{name}: {count} where tests/budgets/gates.toml says {}; if that is meant, write it there",
                entry.allocations
            ));
        }
    }

    /// Fails if anything was wrong.
    pub(crate) fn done(self) {
        assert!(
            self.problems.is_empty(),
            "allocations per call\n{}",
            self.problems.join("\n")
        );
    }
}
