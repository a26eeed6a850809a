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

Every statement of the specification is a row. A row is **proven** by the tests named beside it, has a **reason** where
no test of an SDK can show it, comes **later** with work that is announced, or is **open**.
";

/// Runs the command: writes the page, or with `--check` compares it.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let [check] = flags("support", ["--check"], args)?;
    let support = Support::load(root())?;
    let mut faults = support.faults();
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
    /// Areas of which every row must have a test or a reason.
    complete: BTreeSet<String>,
    /// Rows that no test can prove.
    #[serde(default)]
    reason: Vec<Entry>,
    /// Rows of announced work.
    #[serde(default)]
    later: Vec<Entry>,
}

/// A text that applies to rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    rows: Vec<Spanned<String>>,
    text: String,
}

/// What is known about a row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Evidence {
    /// The tests that prove the row.
    Proven(BTreeSet<String>),
    /// Why no test can prove the row.
    Reason(String),
    /// The work that the row belongs to.
    Later(String),
    Open,
}

/// All that is known about the rows.
#[derive(Debug)]
struct Support {
    rows: Vec<Row>,
    evidence: BTreeMap<String, Evidence>,
    complete: BTreeSet<String>,
    /// Rows that proofs and reasons name, with the `path:line`.
    named: Vec<(String, String)>,
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

    fn new(rows: Vec<Row>, reasons: &File, proofs: Vec<Proof>) -> Result<Self, String> {
        let path = &reasons.path;
        let file: Reasons =
            toml::from_str(&reasons.text).map_err(|error| format!("{path}: {error}"))?;
        let mut this = Self {
            rows,
            evidence: BTreeMap::new(),
            complete: file.complete,
            named: Vec::new(),
            faults: Vec::new(),
        };
        for Proof { place, test, rows } in proofs {
            for row in rows {
                this.named.push((row.clone(), place.clone()));
                let tests = this
                    .evidence
                    .entry(row)
                    .or_insert(Evidence::Proven(BTreeSet::new()));
                if let Evidence::Proven(tests) = tests {
                    tests.insert(test.clone());
                }
            }
        }
        let reason: fn(String) -> Evidence = Evidence::Reason;
        let entries = file.reason.into_iter().map(|entry| (reason, entry));
        let later: fn(String) -> Evidence = Evidence::Later;
        for (kind, entry) in entries.chain(file.later.into_iter().map(|entry| (later, entry))) {
            for row in entry.rows {
                let before = reasons.text.get(..row.span().start).unwrap_or_default();
                let place = format!("{path}:{}", before.matches('\n').count() + 1);
                let row = row.into_inner();
                match this.evidence.get(&row) {
                    Some(Evidence::Proven(tests)) => {
                        let test = tests.first().map_or("", |test| test);
                        this.faults.push(format!(
                            "{place}: {row} is proven by {test}, remove it from here"
                        ));
                    }
                    Some(_) => this
                        .faults
                        .push(format!("{place}: {row} is there twice, remove one")),
                    None => {
                        this.evidence.insert(row.clone(), kind(entry.text.clone()));
                    }
                }
                this.named.push((row, place));
            }
        }
        Ok(this)
    }

    fn evidence(&self, row: &Row) -> &Evidence {
        self.evidence.get(&row.id).unwrap_or(&Evidence::Open)
    }

    /// Claims and reasons that contradict the ledger or each other, and gaps in complete areas.
    fn faults(&self) -> Vec<String> {
        let known: BTreeSet<&str> = self.rows.iter().map(|row| &*row.id).collect();
        let unknown = self.named.iter().filter(|(row, _)| !known.contains(&**row));
        let unknown = unknown
            .map(|(row, place)| format!("{place}: no row {row} in {LEDGER}, correct the id"));
        let gaps = self.rows.iter().filter(|row| {
            self.complete.contains(row.area()) && *self.evidence(row) == Evidence::Open
        });
        let gaps = gaps.map(|row| {
            let Row { place, id, title, .. } = row;
            let area = row.area();
            format!("{place}: {area} is declared complete, but {id} ({title}) has neither a test nor a reason")
        });
        unknown
            .chain(self.faults.iter().cloned())
            .chain(gaps)
            .collect()
    }

    /// The number of rows, and of those that are proven, have a reason, come later, and are open.
    fn counts<'a>(&self, rows: impl IntoIterator<Item = &'a Row>) -> [usize; 5] {
        let mut counts = [0; 5];
        for row in rows {
            counts[0] += 1;
            counts[match self.evidence(row) {
                Evidence::Proven(_) => 1,
                Evidence::Reason(_) => 2,
                Evidence::Later(_) => 3,
                Evidence::Open => 4,
            }] += 1;
        }
        counts
    }

    /// One line for the console.
    fn headline(&self) -> String {
        let [rows, proven, reasoned, later, open] = self.counts(&self.rows);
        format!(
            "{rows} rows: {proven} proven, {reasoned} with a reason, {later} later, {open} open"
        )
    }

    /// The whole page: for each revision a summary by area, then every row with its tests or its reason.
    fn page(&self) -> String {
        let mut page = INTRO.to_owned();
        for rows in self.rows.chunk_by(|a, b| a.revision == b.revision) {
            let mut areas: Vec<&str> = Vec::new();
            for row in rows {
                if !areas.contains(&row.area()) {
                    areas.push(row.area());
                }
            }
            let mut summary =
                Table::of_numbers(["Area", "Rows", "Proven", "Reason", "Later", "Open", ""]);
            let mut total = |name: String, counts: [usize; 5], state: &str| {
                let counts = counts.map(|count| count.to_string());
                summary.row([name].into_iter().chain(counts).chain([state.to_owned()]));
            };
            let mut details = String::new();
            for area in areas {
                let rows = || rows.iter().filter(|row| row.area() == area);
                let state = if self.complete.contains(area) {
                    "complete"
                } else {
                    "open"
                };
                let link = format!("[{area}](#{})", area.to_lowercase());
                total(link, self.counts(rows()), state);
                let mut table = Table::new(["Row", "Level", "Role", "Asks", "Tests or reason"]);
                for row in rows() {
                    let Row {
                        id,
                        level,
                        role,
                        title,
                        ..
                    } = row;
                    let evidence = match self.evidence(row) {
                        Evidence::Proven(tests) => {
                            let tests: Vec<_> =
                                tests.iter().map(|test| format!("`{test}`")).collect();
                            tests.join("<br>")
                        }
                        Evidence::Reason(reason) => reason.clone(),
                        Evidence::Later(work) => format!("*later:* {work}"),
                        Evidence::Open => "**open**".to_owned(),
                    };
                    table.row([id, level, role, title, &evidence]);
                }
                details += &format!("\n### {area}\n\n{}", table.markdown());
            }
            total("**All**".to_owned(), self.counts(rows), "");
            page += &format!(
                "\n## {}\n\n{}{details}",
                rows[0].revision,
                summary.markdown()
            );
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rows, this file of reasons, and a test with this claim.
    fn support(reasons: &str, claim: &str) -> Support {
        let rows =
            "BASE-001\tMUST\tboth\tone\nBASE-002\tMAY\tserver\ta|b\nTASK-001\tMUST\tboth\tthree\n";
        let rows = rows::read(&File::new("tests/ledger/rows-2025-11-25.txt", rows)).unwrap();
        let test = format!("/{claim}\n#[test]\nfn it_holds() {{}}\n");
        let proofs = proofs::read(&File::new("crates/mcp-a/src/b.rs", &test)).unwrap();
        Support::new(
            rows,
            &File::new("tests/ledger/reasons.toml", reasons),
            proofs,
        )
        .unwrap()
    }

    const REASON: &str =
        "complete = [\"BASE\"]\n[[reason]]\nrows = [\"BASE-002\"]\ntext = \"The host draws it.\"\n";

    #[test]
    fn a_complete_area_has_a_test_or_a_reason_for_every_row() {
        let gap = support("complete = [\"BASE\"]", "/ proves: BASE-001").faults();
        assert_eq!(gap.len(), 1);
        assert!(gap[0].contains("BASE-002 (a|b)"), "{gap:?}");
        let full = support(REASON, "/ proves: BASE-001");
        assert_eq!(full.faults(), Vec::<String>::new());
    }

    #[test]
    fn a_reason_for_a_proven_row_and_a_second_reason_are_refused_at_their_lines() {
        let reasons = format!(
            "{REASON}[[later]]\nrows = [\n  \"BASE-002\",\n  \"BASE-001\",\n]\ntext = \"y\"\n"
        );
        assert_eq!(
            support(&reasons, "/ proves: BASE-001").faults(),
            [
                "tests/ledger/reasons.toml:7: BASE-002 is there twice, remove one",
                "tests/ledger/reasons.toml:8: BASE-001 is proven by mcp_a::b::it_holds, remove it from here"
            ]
        );
    }

    #[test]
    fn ids_that_no_ledger_has_and_unknown_members_are_refused() {
        let later = "complete = []\n[[later]]\nrows = [\"BASE-009\"]\ntext = \"x\"";
        let faults = support(later, "/ proves: BASE-001, BASE-100").faults();
        assert_eq!(faults.len(), 2);
        assert!(faults[0].starts_with("crates/mcp-a/src/b.rs:1: no row BASE-100"));
        assert!(faults[1].starts_with("tests/ledger/reasons.toml:3: no row BASE-009"));
        let extra = File::new("reasons.toml", "complete = []\nextra = 1\n");
        assert!(Support::new(Vec::new(), &extra, Vec::new()).is_err());
    }

    #[test]
    fn the_page_counts_and_lists_every_row_once() {
        let reasons = format!("{REASON}[[later]]\nrows = [\"TASK-001\"]\ntext = \"soon\"\n");
        let support = support(&reasons, "/ proves: BASE-001");
        let page = support.page();
        for line in [
            "| [BASE](#base) | 2 | 1 | 1 | 0 | 0 | complete |",
            "| [TASK](#task) | 1 | 0 | 0 | 1 | 0 | open |",
            "| **All** | 3 | 1 | 1 | 1 | 0 |  |",
            "| BASE-001 | MUST | both | one | `mcp_a::b::it_holds` |",
            "| BASE-002 | MAY | server | a\\|b | The host draws it. |",
            "| TASK-001 | MUST | both | three | *later:* soon |",
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "{line}\nnot in\n{page}"
            );
        }
        assert_eq!(
            support.headline(),
            "3 rows: 1 proven, 1 with a reason, 1 later, 0 open"
        );
    }
}
