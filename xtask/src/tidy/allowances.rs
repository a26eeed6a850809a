//! Counts of known violations that may only shrink, in `allowances.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::files;
use crate::steps::say;

const PATH: &str = "xtask/src/tidy/allowances.toml";

/// The violations of a rule by place: a crate, a folder, or another part of the workspace.
pub(super) type Places = BTreeMap<String, Vec<String>>;

/// The allowed count of each rule and place.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Allowances(pub(super) BTreeMap<String, BTreeMap<String, usize>>);

impl Allowances {
    /// Reads the file.
    pub(super) fn load(root: &Path) -> Result<Self, String> {
        let file = files::load(root, PATH.to_owned())?;
        toml::from_str(&file.text).map_err(|error| format!("{PATH}: {error}"))
    }

    /// Returns the violations in places that have more of them than allowed, and lowers the allowed counts. `default` is
    /// the limit of places without an allowance.
    pub(super) fn check(&mut self, rule: &str, default: usize, found: &Places) -> Vec<String> {
        let allowed = self.0.entry(rule.to_owned()).or_default();
        let mut violations = Vec::new();
        for (place, found) in found {
            let limit = allowed.get(place).copied().unwrap_or(default);
            if found.len() > limit {
                let count = found.len();
                violations.push(format!("{place}: {rule}: {count}, but {limit} are allowed"));
                violations.extend_from_slice(found);
            }
        }
        allowed.retain(|place, limit| {
            *limit = found.get(place).map_or(0, Vec::len).min(*limit);
            *limit > default
        });
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
