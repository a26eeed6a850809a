//! `tests/budgets/gates.toml`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::files;

/// From the root.
pub(super) const PLACE: &str = "tests/budgets/gates.toml";

const HEAD: &str = "\
# What a call costs, exactly. `cargo xtask bench --gate` compares the instructions, `cargo xtask test` the allocations;
# `cargo xtask bench --gate --bless` writes what it counted. Budgets are written by hand: `budget` in instructions,
# `ratio` in instructions against the floor, `allocations-budget` in allocations.
";

/// One gate.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Entry {
    /// Instructions per call.
    #[serde(default)]
    pub(super) instructions: u64,
    /// The same of the floor.
    #[serde(default)]
    pub(super) floor: u64,
    /// The most that they may be.
    pub(super) budget: Option<u64>,
    /// The most that they may be, in those of the floor.
    pub(super) ratio: Option<f64>,
    /// Allocations per call.
    #[serde(default)]
    pub(super) allocations: f64,
    /// The most that they may be.
    pub(super) allocations_budget: Option<f64>,
}

impl Entry {
    /// The most instructions that the budgets allow.
    pub(super) fn most(&self) -> Option<u64> {
        let by_floor = self.ratio.map(|ratio| (self.floor as f64 * ratio) as u64);
        [self.budget, by_floor].into_iter().flatten().min()
    }
}

/// The gates by name.
#[derive(Debug)]
pub(super) struct Gates(BTreeMap<String, Entry>);

impl Gates {
    /// Reads the file.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let file = files::load(root, PLACE.to_owned())?;
        Self::parse(&file.text).map_err(|error| format!("{PLACE}: {error}"))
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text).map(Self)
    }

    /// A gate, which may be new.
    pub(super) fn entry(&mut self, name: &str) -> &mut Entry {
        self.0.entry(name.to_owned()).or_default()
    }

    /// Writes the file.
    pub(super) fn save(&self, root: &Path) -> Result<(), String> {
        fs::write(root.join(PLACE), self.text()).map_err(|error| format!("{PLACE}: {error}"))
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (name, entry) in &self.0 {
            text += &format!("\n[{name}]\n");
            let mut line = |key: &str, value: Option<String>| {
                if let Some(value) = value {
                    // Writing to memory does not fail.
                    let _ = writeln!(text, "{key} = {value}");
                }
            };
            line("instructions", Some(entry.instructions.to_string()));
            line("floor", Some(entry.floor.to_string()));
            line("budget", entry.budget.map(|budget| budget.to_string()));
            line("ratio", entry.ratio.map(|ratio| format!("{ratio:?}")));
            line("allocations", Some(format!("{:?}", entry.allocations)));
            let budget = entry.allocations_budget;
            line("allocations-budget", budget.map(|b| format!("{b:?}")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let text = format!(
            "{HEAD}\n[http]\ninstructions = 20000\nfloor = 18000\nbudget = 24500\nratio = 1.2\nallocations = 17.0\nallocations-budget = 18.0\n"
        );
        let mut gates = Gates::parse(&text).unwrap();
        assert_eq!(gates.text(), text);
        assert_eq!(gates.entry("http").most(), Some(21_600));
        assert_eq!(gates.entry("new").most(), None);
        assert!(Gates::parse("[http]\nbudgte = 1\n").is_err());
    }
}
