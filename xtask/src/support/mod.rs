//! `cargo xtask support`: which statement of the specification is proven by which test.
//!
//! The rows are in `tests/ledger/rows-<revision>.txt`, the claims in comments above tests, and the rows that no test can
//! prove in `tests/ledger/reasons.toml`. The result is `docs/support.md`.

mod proofs;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use crate::files::{self, File};
use crate::steps;
use crate::table::Table;
use crate::workspace::{flags, root};
use proofs::Proof;
use rows::Row;

const LEDGER: &str = "tests/ledger";
const PAGE: &str = "docs/support.md";

const INTRO: &str = "\
<!-- Written by `cargo xtask support`; do not edit. -->

# Support

Every statement of the specification is a row. A row is **proven** by the tests named beside it, or has a **reason** why no
test of an SDK can show it.
";

/// Runs the command: writes the page, or with `--check` compares it.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let [check] = flags("support", ["--check"], args)?;
    let support = Support::load(root())?;
    let mut faults = support.faults.clone();
    let page = support.page();
    let target = root().join(PAGE);
    if fs::read_to_string(&target).ok().as_ref() != Some(&page) {
        if check {
            faults.push(format!(
                "{PAGE}:1: out of date, run `cargo xtask support` and commit it"
            ));
        } else {
            fs::write(&target, page).map_err(|error| format!("{PAGE}: {error}"))?;
        }
    }
    if faults.is_empty() {
        steps::say(&support.headline());
        return Ok(());
    }
    Err(faults.join("\n"))
}

/// `tests/ledger/reasons.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reasons {
    reason: Vec<Reason>,
}

/// Why no test can prove these rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    rows: Vec<Spanned<String>>,
    text: String,
}

/// All that is known about the rows.
#[derive(Debug)]
struct Support {
    rows: Vec<Row>,
    /// Row to the tests that prove it.
    proofs: BTreeMap<String, BTreeSet<String>>,
    /// Row to the reason why no test can prove it.
    reasons: BTreeMap<String, String>,
    /// Claims and reasons that contradict the rows or each other, and rows with neither.
    faults: Vec<String>,
}

impl Support {
    fn load(root: &Path) -> Result<Self, String> {
        let mut rows = Vec::new();
        for file in files::read(root, &[LEDGER], |path| path.ends_with(".txt"))? {
            rows.extend(rows::read(&file)?);
        }
        let reasons = files::load(root, format!("{LEDGER}/reasons.toml"))?;
        let sources = files::read(root, &["crates", "tests", "xtask"], |path| {
            path.ends_with(".rs") || path.starts_with("tests/fixtures/wire/")
        })?;
        let mut proofs = Vec::new();
        for file in &sources {
            proofs.extend(proofs::read(file)?);
        }
        Self::new(rows, &reasons, proofs)
    }

    fn new(rows: Vec<Row>, reasons: &File, claims: Vec<Proof>) -> Result<Self, String> {
        let path = &reasons.path;
        let file: Reasons =
            toml::from_str(&reasons.text).map_err(|error| format!("{path}: {error}"))?;
        let known: BTreeSet<String> = rows.iter().map(|row| row.id.clone()).collect();
        let mut this = Self {
            rows,
            proofs: BTreeMap::new(),
            reasons: BTreeMap::new(),
            faults: Vec::new(),
        };
        let unknown =
            |place: &str, row: &str| format!("{place}: no row {row} in {LEDGER}, correct the id");
        for Proof { place, test, rows } in claims {
            for row in rows {
                if !known.contains(&row) {
                    this.faults.push(unknown(&place, &row));
                }
                this.proofs.entry(row).or_default().insert(test.clone());
            }
        }
        for Reason { rows, text } in file.reason {
            for row in rows {
                let before = reasons.text.get(..row.span().start).unwrap_or_default();
                let place = format!("{path}:{}", before.matches('\n').count() + 1);
                let row = row.into_inner();
                if let Some(test) = this.proofs.get(&row).and_then(BTreeSet::first) {
                    this.faults.push(format!(
                        "{place}: {row} is proven by {test}, remove it from here"
                    ));
                } else if !known.contains(&row) {
                    this.faults.push(unknown(&place, &row));
                } else if this.reasons.insert(row.clone(), text.clone()).is_some() {
                    this.faults
                        .push(format!("{place}: {row} is there twice, remove one"));
                }
            }
        }
        for Row {
            place, id, title, ..
        } in &this.rows
        {
            if !this.proofs.contains_key(id) && !this.reasons.contains_key(id) {
                this.faults.push(format!(
                    "{place}: {id} ({title}) has neither a test nor a reason"
                ));
            }
        }
        Ok(this)
    }

    /// The number of rows, of those that are proven, and of those that have a reason.
    fn counts<'a>(&self, rows: impl Iterator<Item = &'a Row> + Clone) -> [usize; 3] {
        let proven = rows
            .clone()
            .filter(|row| self.proofs.contains_key(&row.id))
            .count();
        let reasoned = rows
            .clone()
            .filter(|row| self.reasons.contains_key(&row.id))
            .count();
        [rows.count(), proven, reasoned]
    }

    /// One line for the console.
    fn headline(&self) -> String {
        let [rows, proven, reasoned] = self.counts(self.rows.iter());
        format!("{rows} rows: {proven} proven, {reasoned} with a reason")
    }

    /// The whole page: for each revision a summary by area, then every row with its tests or its reason.
    fn page(&self) -> String {
        let mut page = INTRO.to_owned();
        for rows in self.rows.chunk_by(|a, b| a.revision == b.revision) {
            let mut areas: Vec<&str> = rows.iter().map(Row::area).collect();
            areas.dedup();
            let mut summary = Table::of_numbers(["Area", "Rows", "Proven", "Reason"]);
            let mut total = |name: String, counts: [usize; 3]| {
                summary.row(
                    [name]
                        .into_iter()
                        .chain(counts.map(|count| count.to_string())),
                );
            };
            let mut details = String::new();
            for area in areas {
                let rows = rows.iter().filter(|row| row.area() == area);
                let link = format!("[{area}](#{})", area.to_lowercase());
                total(link, self.counts(rows.clone()));
                let mut table = Table::new(["Row", "Level", "Role", "Asks", "Tests or reason"]);
                for row in rows {
                    table.row([
                        &row.id,
                        &row.level,
                        &row.role,
                        &row.title,
                        &self.evidence(row),
                    ]);
                }
                details += &format!("\n### {area}\n\n{}", table.markdown());
            }
            total("**All**".to_owned(), self.counts(rows.iter()));
            let (revision, summary) = (&rows[0].revision, summary.markdown());
            page += &format!("\n## {revision}\n\n{summary}{details}");
        }
        page
    }

    /// The tests that prove a row, or the reason.
    fn evidence(&self, row: &Row) -> String {
        match self.proofs.get(&row.id) {
            Some(tests) => {
                let tests: Vec<_> = tests.iter().map(|test| format!("`{test}`")).collect();
                tests.join("<br>")
            }
            None => self.reasons.get(&row.id).cloned().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "BASE-001\tMUST\tboth\tone\nBASE-002\tMAY\tserver\ta|b\n";

    /// Two rows, a file with a reason for these rows, and a test with this claim.
    fn support(reasons: &str, claim: &str) -> Support {
        let rows = rows::read(&File::new("tests/ledger/rows-2025-11-25.txt", ROWS)).unwrap();
        let reasons = format!("[[reason]]\nrows = [{reasons}]\ntext = \"The host draws it.\"\n");
        let reasons = File::new("tests/ledger/reasons.toml", &reasons);
        let test = format!("/{claim}\n#[test]\nfn it_holds() {{}}\n");
        let proofs = proofs::read(&File::new("crates/mcp-a/src/b.rs", &test)).unwrap();
        Support::new(rows, &reasons, proofs).unwrap()
    }

    #[test]
    fn every_row_has_a_test_or_a_reason() {
        let gap = support("", "/ proves: BASE-001").faults;
        let place = "tests/ledger/rows-2025-11-25.txt:2";
        assert_eq!(
            gap,
            [format!(
                "{place}: BASE-002 (a|b) has neither a test nor a reason"
            )]
        );
        let full = support("\"BASE-002\"", "/ proves: BASE-001");
        assert_eq!(full.faults, Vec::<String>::new());
    }

    #[test]
    fn a_reason_for_a_proven_row_and_a_second_reason_are_refused_at_their_lines() {
        let reasons = "\n  \"BASE-002\",\n  \"BASE-002\",\n  \"BASE-001\",\n";
        assert_eq!(
            support(reasons, "/ proves: BASE-001").faults,
            [
                "tests/ledger/reasons.toml:4: BASE-002 is there twice, remove one",
                "tests/ledger/reasons.toml:5: BASE-001 is proven by mcp_a::b::it_holds, remove it from here"
            ]
        );
    }

    #[test]
    fn unknown_ids_and_members_are_refused() {
        let faults = support("\"BASE-002\", \"BASE-009\"", "/ proves: BASE-001, BASE-100").faults;
        assert_eq!(faults.len(), 2);
        assert!(faults[0].starts_with("crates/mcp-a/src/b.rs:1: no row BASE-100"));
        assert!(faults[1].starts_with("tests/ledger/reasons.toml:2: no row BASE-009"));
        let extra = File::new("reasons.toml", "reason = []\nextra = 1\n");
        assert!(Support::new(Vec::new(), &extra, Vec::new()).is_err());
    }

    #[test]
    fn the_page_counts_and_lists_every_row_once() {
        let support = support("\"BASE-002\"", "/ proves: BASE-001");
        let page = support.page();
        for line in [
            "| [BASE](#base) | 2 | 1 | 1 |",
            "| **All** | 2 | 1 | 1 |",
            "| BASE-001 | MUST | both | one | `mcp_a::b::it_holds` |",
            "| BASE-002 | MAY | server | a\\|b | The host draws it. |",
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "{line}\nnot in\n{page}"
            );
        }
        assert_eq!(support.headline(), "2 rows: 1 proven, 1 with a reason");
    }
}
