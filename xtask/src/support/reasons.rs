//! `tests/ledger/reasons.toml`: the areas that are complete, the rows no test can show, and what comes later.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use super::rows::area;
use crate::files::File;

/// The file, indexed.
#[derive(Debug, Default)]
pub(super) struct Reasons {
    complete: BTreeSet<String>,
    reasons: BTreeMap<String, String>,
    later_rows: BTreeMap<String, String>,
    later_areas: BTreeMap<String, String>,
    /// Every row that is named, with its `path:line`.
    named: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    complete: Vec<String>,
    #[serde(default)]
    reason: Vec<Reason>,
    #[serde(default)]
    later: Vec<Later>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    rows: Vec<Spanned<String>>,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Later {
    #[serde(default)]
    areas: Vec<String>,
    #[serde(default)]
    rows: Vec<Spanned<String>>,
    text: String,
}

impl Reasons {
    /// Reads the file; a row that is named twice is an error.
    pub(super) fn parse(file: &File) -> Result<Self, String> {
        let raw: Raw =
            toml::from_str(&file.text).map_err(|error| format!("{}: {error}", file.path))?;
        let mut all = Self {
            complete: raw.complete.into_iter().collect(),
            ..Self::default()
        };
        for Reason { rows, text } in raw.reason {
            for row in rows {
                let id = all.name(file, row)?;
                all.reasons.insert(id, text.clone());
            }
        }
        for Later { areas, rows, text } in raw.later {
            for row in rows {
                let id = all.name(file, row)?;
                all.later_rows.insert(id, text.clone());
            }
            for area in areas {
                all.later_areas.insert(area, text.clone());
            }
        }
        Ok(all)
    }

    fn name(&mut self, file: &File, row: Spanned<String>) -> Result<String, String> {
        let before = file.text.get(..row.span().start).unwrap_or_default();
        let place = format!("{}:{}", file.path, before.matches('\n').count() + 1);
        let id = row.into_inner();
        if self.named.iter().any(|(other, _)| *other == id) {
            return Err(format!("{place}: {id} is there twice, remove one"));
        }
        self.named.push((id.clone(), place));
        Ok(id)
    }

    /// Why no test can show this row.
    pub(super) fn of(&self, row: &str) -> Option<&str> {
        self.reasons.get(row).map(String::as_str)
    }

    /// The later work that this row, or its whole area, belongs to.
    pub(super) fn later(&self, row: &str) -> Option<&str> {
        let own = self.later_rows.get(row);
        own.or_else(|| self.later_areas.get(area(row)))
            .map(String::as_str)
    }

    /// Whether every row of this area must have a test or a reason.
    pub(super) fn is_complete(&self, area: &str) -> bool {
        self.complete.contains(area)
    }

    /// Every row that is named, with its `path:line`.
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &str)> {
        self.named
            .iter()
            .map(|(row, place)| (row.as_str(), place.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_named_twice_is_refused_at_the_second_line() {
        let text = "complete = []\n[[reason]]\nrows = [\"A-001\"]\ntext = \"x\"\n\
                    [[later]]\nrows = [\n  \"A-001\",\n]\ntext = \"y\"\n";
        let error = Reasons::parse(&File::new("r.toml", text)).unwrap_err();
        assert_eq!(error, "r.toml:7: A-001 is there twice, remove one");
    }

    #[test]
    fn unknown_keys_are_refused() {
        assert!(Reasons::parse(&File::new("r.toml", "complete = []\nextra = 1\n")).is_err());
    }
}
