//! Compares counts with `gates.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A count covers hundreds of calls, during which a buffer may grow once.
const TOLERANCE: f64 = 0.05;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Entry {
    /// Zero for a path that is only counted in instructions.
    #[serde(default)]
    allocations: f64,
    allocations_budget: Option<f64>,
}

/// The gates, and the differences found so far.
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

    /// Prints the allocations per call, and compares them with the gate.
    #[expect(clippy::print_stdout, reason = "the bench reads it")]
    pub(crate) fn check(&mut self, name: &str, allocations: u64, calls: u64) {
        let count = (allocations as f64 / calls as f64 * 100.0).round() / 100.0;
        // `cargo xtask bench --gate --bless` reads this line.
        println!("allocations of {name}: {count}");
        let entry = &self.entries[name];
        let most = entry.allocations_budget.unwrap_or(f64::INFINITY);
        if count > most + TOLERANCE {
            println!("over the budget of {most}: cargo xtask bench --gate fails");
        }
        // On other systems the standard library allocates differently.
        if cfg!(target_os = "linux") && (count - entry.allocations).abs() > TOLERANCE {
            self.problems.push(format!(
                "{name}: {count}, but tests/budgets/gates.toml has {}; if this is intended, change it there",
                entry.allocations
            ));
        }
    }

    /// Fails if there were differences.
    pub(crate) fn done(self) {
        assert!(
            self.problems.is_empty(),
            "allocations per call\n{}",
            self.problems.join("\n")
        );
    }
}
