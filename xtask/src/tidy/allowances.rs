//! Counts of known violations that may only shrink, in `allowances.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::violation::Violation;
use crate::steps::say;

const PATH: &str = "xtask/src/tidy/allowances.toml";

/// The allowed count of each rule and place: crate, folder, or part of the workspace.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub(super) struct Allowances(BTreeMap<String, BTreeMap<String, usize>>);

impl Allowances {
    /// Reads the file.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(root.join(PATH)).map_err(|error| format!("{PATH}: {error}"))?;
        toml::from_str(&text).map_err(|error| format!("{PATH}: {error}"))
    }

    /// The allowed count, or `default` for a place that is not in the file.
    pub(super) fn get(&self, rule: &str, place: &str, default: usize) -> usize {
        let rule = self.0.get(rule);
        rule.and_then(|rule| rule.get(place))
            .copied()
            .unwrap_or(default)
    }

    /// Compares the counted values of a rule with the allowed ones, and lowers the allowed ones. `default` applies to
    /// places without an allowance.
    pub(super) fn check(
        &mut self,
        rule: &str,
        default: usize,
        counted: &BTreeMap<String, usize>,
    ) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (place, count) in counted {
            let allowed = self.get(rule, place, default);
            if *count > allowed {
                violations.push(Violation::new(
                    place,
                    0,
                    format!("{rule}: {count}, but {allowed} are allowed"),
                ));
            }
        }
        for (place, allowed) in self.0.entry(rule.to_owned()).or_default() {
            let count = counted.get(place).copied().unwrap_or(0).max(default);
            *allowed = (*allowed).min(count);
        }
        if let Some(rule) = self.0.get_mut(rule) {
            rule.retain(|_, allowed| *allowed > default);
        }
        violations
    }

    /// Writes the file if an allowance has become smaller.
    pub(super) fn save(&self, root: &Path) -> Result<(), String> {
        let mut text = "# Known violations of the rules of `cargo xtask tidy`, by rule and place. The counts may only shrink:\n\
                        # `cargo xtask tidy --shrink` writes them.\n"
            .to_owned();
        for (rule, places) in &self.0 {
            text += &format!("\n[{rule}]\n");
            for (place, count) in places {
                text += &format!("\"{place}\" = {count}\n");
            }
        }
        let path = root.join(PATH);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        say(&format!("{PATH} is written"));
        fs::write(&path, text).map_err(|error| format!("{PATH}: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_may_shrink_and_not_grow() {
        let mut allowances: Allowances =
            toml::from_str("[circles]\na = 9\nb = 4\nc = 7\n").unwrap();
        let counted = [("a", 10), ("b", 2), ("c", 5), ("d", 4)];
        let counted = counted.map(|(place, count)| (place.to_owned(), count));
        let violations = allowances.check("circles", 3, &BTreeMap::from(counted));
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "a: circles: 10, but 9 are allowed",
                "d: circles: 4, but 3 are allowed"
            ]
        );
        let left: BTreeMap<&str, usize> = allowances.0["circles"]
            .iter()
            .map(|(place, count)| (place.as_str(), *count))
            .collect();
        assert_eq!(left, BTreeMap::from([("a", 9), ("c", 5)]));
    }
}
