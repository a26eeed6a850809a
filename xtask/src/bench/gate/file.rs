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
# Exact costs of a call. `cargo xtask bench --gate` checks the instructions, `cargo xtask test` the allocations, and
# `cargo xtask bench --gate --bless` writes the counts. Budgets are written by hand and kept: `budget` is the maximum of
# `instructions`, `ratio` the maximum of `instructions` divided by `baseline`, and `allocations-budget` the maximum of
# `allocations`. Comments above a gate are kept too.
";

/// One gate.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Entry {
    /// Instructions per call.
    #[serde(default)]
    pub(super) instructions: u64,
    /// Instructions per call of the baseline.
    #[serde(default)]
    pub(super) baseline: u64,
    /// The maximum.
    pub(super) budget: Option<u64>,
    /// The maximum, as a multiple of the baseline.
    pub(super) ratio: Option<f64>,
    /// Allocations per call, if a test of `tests/budgets` counts them.
    pub(super) allocations: Option<f64>,
    /// The maximum.
    pub(super) allocations_budget: Option<f64>,
}

impl Entry {
    /// The maximum of instructions by both budgets.
    pub(super) fn most(&self) -> Option<u64> {
        let by_baseline = self
            .ratio
            .map(|ratio| (self.baseline as f64 * ratio) as u64);
        [self.budget, by_baseline].into_iter().flatten().min()
    }
}

/// The gates, by name.
#[derive(Debug)]
pub(super) struct Gates {
    entries: BTreeMap<String, Entry>,
    /// The comments directly above gates.
    comments: BTreeMap<String, String>,
}

impl Gates {
    /// Reads the file.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let file = files::load(root, PLACE.to_owned())?;
        Self::parse(&file.text).map_err(|error| format!("{PLACE}: {error}"))
    }

    fn parse(text: &str) -> Result<Self, toml::de::Error> {
        Ok(Self {
            entries: toml::from_str(text)?,
            comments: comments(text),
        })
    }

    /// The gate with this name, created if it is missing.
    pub(super) fn entry(&mut self, name: &str) -> &mut Entry {
        self.entries.entry(name.to_owned()).or_default()
    }

    /// Writes the file.
    pub(super) fn save(&self, root: &Path) -> Result<(), String> {
        fs::write(root.join(PLACE), self.text()).map_err(|error| format!("{PLACE}: {error}"))
    }

    fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (name, entry) in &self.entries {
            let comment = self.comments.get(name).map_or("", |comment| comment);
            text += &format!("\n{comment}[{name}]\n");
            let mut line = |key: &str, value: Option<String>| {
                if let Some(value) = value {
                    // Writing to memory does not fail.
                    let _ = writeln!(text, "{key} = {value}");
                }
            };
            line("instructions", Some(entry.instructions.to_string()));
            line("baseline", Some(entry.baseline.to_string()));
            line("budget", entry.budget.map(|budget| budget.to_string()));
            line("ratio", entry.ratio.map(|ratio| format!("{ratio:?}")));
            line("allocations", entry.allocations.map(|a| format!("{a:?}")));
            let budget = entry.allocations_budget;
            line("allocations-budget", budget.map(|b| format!("{b:?}")));
        }
        text
    }
}

/// The lines of comment that end right above a gate.
fn comments(text: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut comment = String::new();
    for line in text.lines() {
        if line.starts_with('#') {
            comment += line;
            comment.push('\n');
            continue;
        }
        let above = std::mem::take(&mut comment);
        let name = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        if let Some(name) = name.filter(|_| !above.is_empty()) {
            all.insert(name.to_owned(), above);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_gates_are_read_again() {
        let text = format!(
            "{HEAD}\n# The baseline takes 12.\n# More above.\n[http]\ninstructions = 20000\nbaseline = 18000\nbudget = 24500\nratio = 1.2\nallocations = 17.0\nallocations-budget = 18.0\n"
        );
        let mut gates = Gates::parse(&text).unwrap();
        assert_eq!(gates.text(), text);
        assert_eq!(gates.entry("http").most(), Some(21_600));
        assert_eq!(gates.entry("new").most(), None);
        assert!(
            gates
                .text()
                .ends_with("\n\n[new]\ninstructions = 0\nbaseline = 0\n")
        );
        assert!(Gates::parse("[http]\nbudgte = 1\n").is_err());
    }
}
