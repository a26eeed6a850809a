//! `cargo xtask support`: which statement of the specification is proven by which test.
//!
//! The rows are in `tests/ledger/rows-<revision>.txt`, the claims in comments above tests, and the rows that no test can
//! prove in `tests/ledger/reasons.toml`. The result is `docs/support.md`.

mod proofs;
mod rows;

use serde::Deserialize;
use toml::Spanned;

use crate::page::render;
use crate::workspace::{self, File, Result, none_of, root, say, tables};
use proofs::Proof;
use rows::Row;

const LEDGER: &str = "tests/ledger";
const PAGE: &str = "docs/support.md";

/// Runs the command: writes the page, or compares it.
pub(crate) fn run(check: bool) -> Result {
    let mut matrix = Matrix::load()?;
    let page = matrix.page()?;
    if !check {
        workspace::write(&root().join(PAGE), &page)?;
    } else if !workspace::load(root(), PAGE).is_ok_and(|known| known.text == page) {
        matrix.faults.push(format!(
            "{PAGE}:1: out of date, run `cargo xtask support` and commit it"
        ));
    }
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
#[derive(Debug)]
struct Matrix {
    rows: Vec<Row>,
    /// Claims and reasons that contradict the rows or each other, and rows with neither.
    faults: Vec<String>,
}

impl Matrix {
    fn load() -> Result<Self> {
        let mut rows = Vec::new();
        for file in workspace::read(root(), &[LEDGER], |path| path.ends_with(".txt"))? {
            rows.extend(rows::read(&file)?);
        }
        let sources = workspace::read(root(), &["crates", "tests", "xtask"], |path| {
            path.ends_with(".rs") || path.starts_with("tests/fixtures/wire/")
        })?;
        let reasons = workspace::load(root(), &format!("{LEDGER}/reasons.toml"))?;
        Self::new(rows, &sources, &reasons)
    }

    fn new(rows: Vec<Row>, sources: &[File], reasons: &File) -> Result<Self> {
        let faults = Vec::new();
        let mut this = Self { rows, faults };
        for file in sources {
            for Proof { place, test, rows } in proofs::read(file)? {
                for id in rows {
                    this.change(&place, &id, |row| {
                        row.tests.insert(test.clone());
                        None
                    });
                }
            }
        }
        let path = &reasons.path;
        for Reason { rows, text } in tables(path, &reasons.text)? {
            for id in rows {
                let before = reasons.text.get(..id.span().start).unwrap_or_default();
                let place = format!("{path}:{}", before.matches('\n').count() + 1);
                this.change(&place, id.get_ref(), |row| {
                    if let Some(test) = row.tests.first() {
                        return Some(format!("is proven by {test}, remove it from here"));
                    }
                    let other = row.reason.replace(text.clone());
                    other.map(|_| "occurs twice; remove one".to_owned())
                });
            }
        }
        for row in &this.rows {
            let (place, id, title) = (&row.place, &row.id, &row.title);
            if row.tests.is_empty() && row.reason.is_none() {
                this.faults.push(format!(
                    "{place}: {id} ({title}) has neither a test nor a reason"
                ));
            }
        }
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
    use super::*;

    /// Two rows, a file with a reason for these rows, and a test with this claim.
    fn matrix(reasons: &str, claim: &str) -> Matrix {
        let rows = "BASE-001\tMUST\tboth\tone\nBASE-002\tMAY\tserver\ta|b\n";
        let rows = rows::read(&File::new("rows-2025-11-25.txt", rows)).unwrap();
        let test = format!("/{claim}\n#[test]\nfn it_holds() {{}}\n");
        let test = File::new("crates/mcp-a/src/b.rs", &test);
        let reasons = format!("[[reason]]\nrows = [{reasons}]\ntext = \"The host draws it.\"\n");
        let reasons = File::new("reasons.toml", &reasons);
        Matrix::new(rows, &[test], &reasons).unwrap()
    }

    #[test]
    fn gaps_contradictions_and_unknown_ids_are_faults_at_their_lines() {
        let check = |reasons: &str, claim: &str, faults: &[&str]| {
            assert_eq!(
                matrix(reasons, &format!("/ proves: {claim}")).faults,
                faults
            );
        };
        check("\"BASE-002\"", "BASE-001", &[]);
        let gap = "rows-2025-11-25.txt:2: BASE-002 (a|b) has neither a test nor a reason";
        check("", "BASE-001", &[gap]);
        let twice = "reasons.toml:4: BASE-002 occurs twice; remove one";
        let proven =
            "reasons.toml:5: BASE-001 is proven by mcp_a::b::it_holds, remove it from here";
        let reasons = "\n  \"BASE-002\",\n  \"BASE-002\",\n  \"BASE-001\",\n";
        check(reasons, "BASE-001", &[twice, proven]);
        let claimed = "crates/mcp-a/src/b.rs:1: no row BASE-100 in tests/ledger, correct the id";
        let listed = "reasons.toml:2: no row BASE-009 in tests/ledger, correct the id";
        let reasons = "\"BASE-002\", \"BASE-009\"";
        check(reasons, "BASE-001, BASE-100", &[claimed, listed]);
        let extra = File::new("reasons.toml", "reason = []\nextra = 1\n");
        assert!(Matrix::new(Vec::new(), &[], &extra).is_err());
    }

    #[test]
    fn the_page_counts_and_lists_every_row_once() {
        let matrix = matrix("\"BASE-002\"", "/ proves: BASE-001");
        let page = matrix.page().unwrap();
        let expected = "\n## 2025-11-25\n
| Area | Rows | Proven | Reason |
| --- | --: | --: | --: |
| [BASE](#base) | 2 | 1 | 1 |
| **All** | 2 | 1 | 1 |

### BASE

| Row | Level | Role | Asks | Tests or reason |
| --- | --- | --- | --- | --- |
| BASE-001 | MUST | both | one | `mcp_a::b::it_holds` |
| BASE-002 | MAY | server | a\\|b | The host draws it. |
";
        assert!(page.ends_with(expected), "{page}");
        assert_eq!(matrix.headline(), "2 rows: 1 proven, 1 with a reason");
    }
}
