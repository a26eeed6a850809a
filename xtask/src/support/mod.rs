//! `cargo xtask support`: which statement of the specification is proven by which test.
//!
//! The rows are in `tests/ledger/rows-<revision>.txt`, the claims in comments above tests, and the rows that no test can
//! prove in `tests/ledger/reasons.toml`. The result is `docs/support.md`.

mod proofs;
mod rows;

use serde::Deserialize;
use toml::Spanned;

use crate::page::render;
use crate::workspace::{self, File, Files, Result, none_of, root, say, tables};
use proofs::Proof;
use rows::Row;

const LEDGER: &str = "tests/ledger";
const PAGE: &str = "docs/support.md";

/// Runs the command: writes the page, or compares it.
pub(crate) fn run(check: bool) -> Result {
    let mut matrix = Matrix::load()?;
    let page = Files::from([(PAGE.to_owned(), matrix.page()?)]);
    let present = workspace::read(root(), &["docs"], |path| path == PAGE)?;
    let problem = "out of date, run `cargo xtask support` and commit it:";
    let applied = workspace::apply(root(), &page, present, check, problem);
    matrix.faults.extend(applied.err());
    none_of(&matrix.faults)?;
    say(&matrix.headline());
    Ok(())
}

/// Why no test can prove these rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    rows: Vec<Spanned<String>>,
    text: String,
}

/// All rows, with the tests that prove them and the reasons of the others.
#[derive(Debug, Default)]
struct Matrix {
    rows: Vec<Row>,
    /// Claims and reasons that contradict the rows or each other, and rows with neither.
    faults: Vec<String>,
}

impl Matrix {
    fn load() -> Result<Self> {
        let is_wanted = |path: &str| {
            let is_wire = path.starts_with("tests/fixtures/wire/");
            path.ends_with(".rs") || is_wire || path.starts_with(LEDGER)
        };
        let files = workspace::read(root(), &["crates", "tests", "xtask"], is_wanted)?;
        Self::new(&files)
    }

    /// The matrix of the files of the ledger and of those with claims.
    fn new(files: &[File]) -> Result<Self> {
        let mut this = Self::default();
        let ledger = files.iter().filter(|file| file.path.starts_with(LEDGER));
        let (rows, reasons): (Vec<_>, Vec<_>) =
            ledger.partition(|file| file.path.ends_with(".txt"));
        for file in rows {
            this.rows.extend(rows::read(file)?);
        }
        for file in files {
            for Proof { place, id, test } in proofs::read(file)? {
                this.change(&place, &id, |row| {
                    row.tests.insert(test);
                    None
                });
            }
        }
        for File { path, text } in reasons {
            for Reason { rows, text: reason } in tables(path, text)? {
                for id in rows {
                    let before = text.get(..id.span().start).unwrap_or_default();
                    let place = format!("{path}:{}", before.matches('\n').count() + 1);
                    this.change(&place, id.get_ref(), |row| match row.tests.first() {
                        Some(test) => Some(format!("is proven by {test}, remove it from here")),
                        None => {
                            let other = row.reason.replace(reason.clone());
                            other.map(|_| "occurs twice; remove one".to_owned())
                        }
                    });
                }
            }
        }
        let gaps = this.rows.iter();
        let gaps = gaps.filter(|row| row.tests.is_empty() && row.reason.is_none());
        this.faults.extend(gaps.map(|row| {
            let Row {
                place, id, title, ..
            } = row;
            format!("{place}: {id} ({title}) has neither a test nor a reason")
        }));
        Ok(this)
    }

    /// Changes the row with this id; the result is a contradiction.
    fn change(&mut self, place: &str, id: &str, change: impl FnOnce(&mut Row) -> Option<String>) {
        let fault = match self.rows.iter_mut().find(|row| row.id == id) {
            Some(row) => change(row).map(|fault| format!("{place}: {id} {fault}")),
            None => Some(format!("{place}: no row {id} in {LEDGER}, correct the id")),
        };
        self.faults.extend(fault);
    }

    /// One line for the console.
    fn headline(&self) -> String {
        let rows = || self.rows.iter();
        let proven = rows().filter(|row| !row.tests.is_empty()).count();
        let reasoned = rows().filter(|row| row.reason.is_some()).count();
        let all = rows().count();
        format!("{all} rows: {proven} proven, {reasoned} with a reason")
    }

    /// The whole page: for each revision a summary by area, then every row with its tests or its reason.
    fn page(&self) -> Result<String> {
        let revisions = self.rows.chunk_by(|a, b| a.revision == b.revision);
        let revisions = revisions.map(|rows| {
            let areas = rows.chunk_by(|a, b| a.area() == b.area());
            let areas: Vec<_> = areas.map(|rows| (rows[0].area(), rows)).collect();
            (&rows[0].revision, rows, areas)
        });
        let revisions: Vec<_> = revisions.collect();
        let values = minijinja::context!(revisions);
        render(include_str!("page.md.jinja"), values)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cases::{cases, check};

    const ROWS: &str = "BASE-001\tMUST\tboth\tone\nBASE-002\tMAY\tserver\ta|b\n";
    const TEST: &str = "\x2f/ proves: BASE-001\n#[test]\nfn it_holds() {}\n";
    const REASON: &str = "reason = [{rows = [\"BASE-002\"], text = \"The host draws it.\"}]";

    /// The matrix of these rows, a test that proves the first one, and a reason for the other, with another file at `path`.
    fn matrix(path: &str, text: &str) -> Result<Matrix> {
        let mut files = BTreeMap::from([
            ("tests/ledger/rows-2025-11-25.txt", ROWS),
            ("crates/mcp-a/src/b.rs", TEST),
            ("tests/ledger/reasons.toml", REASON),
        ]);
        files.insert(path, text);
        let files = files.iter().map(|(path, text)| File::new(path, text));
        Matrix::new(&Vec::from_iter(files))
    }

    #[test]
    fn malformed_files_gaps_contradictions_and_unknown_ids_are_faults_at_their_lines() {
        for (path, text) in cases(include_str!("cases.txt")) {
            check(path, text, |text| {
                matrix(path, text).map_or_else(|fault| vec![fault], |matrix| matrix.faults)
            });
        }
    }
}
