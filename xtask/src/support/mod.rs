//! `cargo xtask support`: which statement of the specification is proven by which test.
//!
//! The rows are in `tests/ledger/rows-<revision>.txt`, the claims in comments above tests ([`proofs`]), and what a
//! test cannot show in `tests/ledger/reasons.toml` ([`reasons`]). The result is `docs/support.md` ([`page`]).

mod page;
mod proofs;
mod reasons;
mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::workspace::{flags, root};
use crate::{files, steps};
use proofs::Proof;
use reasons::Reasons;
use rows::Ledger;

const LEDGER: &str = "tests/ledger";
const PAGE: &str = "docs/support.md";

/// Runs the command: writes the page, or with `--check` compares it.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let [check] = flags("support", ["--check"], args)?;
    let support = Support::load(root())?;
    let mut wrong = support.faults();
    let text = page::render(&support);
    let target = root().join(PAGE);
    if fs::read_to_string(&target).ok().as_ref() != Some(&text) {
        if check {
            wrong.push(format!(
                "{PAGE}:1: out of date, run `cargo xtask support` and commit it"
            ));
        } else {
            fs::write(&target, text).map_err(|error| format!("{PAGE}: {error}"))?;
        }
    }
    if wrong.is_empty() {
        steps::say(&page::headline(&support));
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// All that is known about the rows.
#[derive(Debug)]
struct Support {
    ledgers: Vec<Ledger>,
    reasons: Reasons,
    proofs: Vec<Proof>,
    /// Row to the tests that prove it.
    tests: BTreeMap<String, BTreeSet<String>>,
}

/// What stands behind a row.
#[derive(Debug, PartialEq, Eq)]
enum Standing<'a> {
    /// Named tests.
    Proven(&'a BTreeSet<String>),
    /// No test can show it, for this reason.
    Reasoned(&'a str),
    /// It comes with later work, described here.
    Later(&'a str),
    /// Nothing yet.
    Open,
}

impl Support {
    fn load(root: &Path) -> Result<Self, String> {
        let ledger = files::read(root, &[LEDGER], |path| path.ends_with(".txt"))?;
        let reasons = files::load(root, format!("{LEDGER}/reasons.toml"))?;
        let sources = files::read(root, &["crates", "tests", "xtask"], |path| {
            path.ends_with(".rs") || path.starts_with("tests/fixtures/wire/")
        })?;
        let mut claims = Vec::new();
        for file in &sources {
            claims.extend(proofs::read(file)?);
        }
        let ledgers: Result<_, _> = ledger.iter().map(Ledger::parse).collect();
        Ok(Self::new(ledgers?, Reasons::parse(&reasons)?, claims))
    }

    fn new(ledgers: Vec<Ledger>, reasons: Reasons, proofs: Vec<Proof>) -> Self {
        let mut tests = BTreeMap::<_, BTreeSet<_>>::new();
        for proof in &proofs {
            for row in &proof.rows {
                tests
                    .entry(row.clone())
                    .or_default()
                    .insert(proof.test.clone());
            }
        }
        Self {
            ledgers,
            reasons,
            proofs,
            tests,
        }
    }

    fn standing(&self, row: &str) -> Standing<'_> {
        if let Some(tests) = self.tests.get(row) {
            return Standing::Proven(tests);
        }
        if let Some(reason) = self.reasons.of(row) {
            return Standing::Reasoned(reason);
        }
        match self.reasons.later(row) {
            Some(work) => Standing::Later(work),
            None => Standing::Open,
        }
    }

    /// Claims and reasons that contradict the ledger or each other, and gaps where none may be.
    fn faults(&self) -> Vec<String> {
        let rows = self.ledgers.iter().flat_map(|ledger| &ledger.rows);
        let known: BTreeSet<&str> = rows.clone().map(|row| row.id.as_str()).collect();
        let mut faults = Vec::new();
        for proof in &self.proofs {
            for row in proof
                .rows
                .iter()
                .filter(|row| !known.contains(row.as_str()))
            {
                faults.push(format!(
                    "{}: no row {row} in {LEDGER}, correct the id",
                    proof.place
                ));
            }
        }
        for (row, place) in self.reasons.named() {
            if !known.contains(row) {
                faults.push(format!("{place}: no row {row} in {LEDGER}, correct the id"));
            } else if let Some(test) = self.tests.get(row).and_then(BTreeSet::first) {
                faults.push(format!(
                    "{place}: {row} is proven by {test}, remove it from here"
                ));
            }
        }
        for row in rows {
            if self.reasons.is_complete(row.area()) && self.standing(&row.id) == Standing::Open {
                faults.push(format!(
                    "{LEDGER}/reasons.toml:1: {} is declared complete, but {} ({}) has neither a test nor a reason",
                    row.area(),
                    row.id,
                    row.title
                ));
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::File;

    fn support(reasons: &str, claims: &str) -> Support {
        let rows =
            "BASE-001\tMUST\tboth\tone\nBASE-002\tMAY\tserver\ttwo\nTASK-001\tMUST\tboth\tthree\n";
        let ledger = Ledger::parse(&File::new("tests/ledger/rows-2025-11-25.txt", rows)).unwrap();
        let reasons = Reasons::parse(&File::new("tests/ledger/reasons.toml", reasons)).unwrap();
        let test = format!("/{claims}\n#[test]\nfn it_holds() {{}}\n");
        let proofs = proofs::read(&File::new("crates/mcp-a/src/b.rs", &test)).unwrap();
        Support::new(vec![ledger], reasons, proofs)
    }

    #[test]
    fn a_complete_area_has_a_test_or_a_reason_for_every_row() {
        let gap = support("complete = [\"BASE\"]", "/ proves: BASE-001").faults();
        assert_eq!(gap.len(), 1);
        assert!(gap[0].contains("BASE-002 (two)"), "{gap:?}");
        let reason = "complete = [\"BASE\"]\n[[reason]]\nrows = [\"BASE-002\"]\ntext = \"x\"";
        let full = support(reason, "/ proves: BASE-001");
        assert_eq!(full.faults(), Vec::<String>::new());
        assert_eq!(full.standing("BASE-002"), Standing::Reasoned("x"));
    }

    #[test]
    fn a_reason_for_a_proven_row_is_refused_at_its_line() {
        let reason = "complete = []\n[[reason]]\nrows = [\"BASE-001\"]\ntext = \"x\"";
        let faults = support(reason, "/ proves: BASE-001").faults();
        assert_eq!(
            faults,
            [
                "tests/ledger/reasons.toml:3: BASE-001 is proven by mcp_a::b::it_holds, remove it from here"
            ]
        );
    }

    #[test]
    fn ids_that_no_ledger_holds_are_refused() {
        let reason = "complete = []\n[[later]]\nrows = [\"BASE-009\"]\ntext = \"x\"";
        let faults = support(reason, "/ proves: BASE-001, BASE-100").faults();
        assert_eq!(faults.len(), 2);
        assert!(faults[0].starts_with("crates/mcp-a/src/b.rs:1: no row BASE-100"));
        assert!(faults[1].starts_with("tests/ledger/reasons.toml:3: no row BASE-009"));
    }

    #[test]
    fn work_that_comes_later_gives_way_to_proof() {
        let reason = "complete = []\n[[later]]\nareas = [\"TASK\"]\ntext = \"soon\"";
        let later = support(reason, "/ proves: BASE-001");
        assert_eq!(later.standing("TASK-001"), Standing::Later("soon"));
        let proven = support(reason, "/ proves: TASK-001");
        assert!(matches!(proven.standing("TASK-001"), Standing::Proven(_)));
        assert!(proven.faults().is_empty());
    }
}
