//! `docs/support.md`: a summary by area, then every row with its tests or its reason.

use std::fmt::Write as _;

use super::rows::{Ledger, Row};
use super::{Standing, Support};

const INTRO: &str = "\
<!-- Written by `cargo xtask support`; do not edit. -->

# Support

Every statement of the specification is a row. A row is **proven** by the tests named beside it, has a **reason** where
no test of an SDK can show it, comes **later** with work that is announced, or is **open**.
";

/// Rows by what stands behind them.
#[derive(Clone, Copy, Default)]
struct Counts {
    rows: usize,
    proven: usize,
    reasoned: usize,
    later: usize,
    open: usize,
}

impl Counts {
    fn add(&mut self, standing: &Standing<'_>) {
        self.rows += 1;
        *match standing {
            Standing::Proven(_) => &mut self.proven,
            Standing::Reasoned(_) => &mut self.reasoned,
            Standing::Later(_) => &mut self.later,
            Standing::Open => &mut self.open,
        } += 1;
    }
}

/// One line for the console.
pub(super) fn headline(support: &Support) -> String {
    let mut counts = Counts::default();
    for row in support.ledgers.iter().flat_map(|ledger| &ledger.rows) {
        counts.add(&support.standing(&row.id));
    }
    let Counts {
        rows,
        proven,
        reasoned,
        later,
        open,
    } = counts;
    format!("{rows} rows: {proven} proven, {reasoned} with a reason, {later} later, {open} open")
}

/// The whole page.
pub(super) fn render(support: &Support) -> String {
    let mut page = INTRO.to_owned();
    for ledger in &support.ledgers {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(page, "\n## {}", ledger.revision);
        summary(&mut page, support, ledger);
        for area in areas(ledger) {
            let _ = write!(
                page,
                "\n### {area}\n\n| Row | Level | Role | Asks | Tests or reason |\n| --- | --- | --- | --- | --- |\n"
            );
            for row in ledger.rows.iter().filter(|row| row.area() == area) {
                line(&mut page, support, row);
            }
        }
    }
    page
}

/// In the order of the ledger.
fn areas(ledger: &Ledger) -> Vec<&str> {
    let mut areas: Vec<&str> = Vec::new();
    for row in &ledger.rows {
        if !areas.contains(&row.area()) {
            areas.push(row.area());
        }
    }
    areas
}

fn summary(page: &mut String, support: &Support, ledger: &Ledger) {
    page.push_str(
        "\n| Area | Rows | Proven | Reason | Later | Open | |\n| --- | --: | --: | --: | --: | --: | --- |\n",
    );
    let mut all = Counts::default();
    for area in areas(ledger) {
        let mut counts = Counts::default();
        for row in ledger.rows.iter().filter(|row| row.area() == area) {
            let standing = support.standing(&row.id);
            counts.add(&standing);
            all.add(&standing);
        }
        let state = if support.reasons.is_complete(area) {
            "complete"
        } else {
            "open"
        };
        let link = format!("[{area}](#{})", area.to_lowercase());
        total(page, &link, counts, state);
    }
    total(page, "**All**", all, "");
}

fn total(page: &mut String, name: &str, counts: Counts, state: &str) {
    let Counts {
        rows,
        proven,
        reasoned,
        later,
        open,
    } = counts;
    let _ = writeln!(
        page,
        "| {name} | {rows} | {proven} | {reasoned} | {later} | {open} | {state} |"
    );
}

fn line(page: &mut String, support: &Support, row: &Row) {
    let behind = match support.standing(&row.id) {
        Standing::Proven(tests) => {
            let tests: Vec<_> = tests.iter().map(|test| format!("`{test}`")).collect();
            tests.join("<br>")
        }
        Standing::Reasoned(reason) => reason.to_owned(),
        Standing::Later(work) => format!("*later:* {work}"),
        Standing::Open => "**open**".to_owned(),
    };
    let Row {
        id,
        level,
        role,
        title,
    } = row;
    let title = title.replace('|', "\\|");
    let _ = writeln!(page, "| {id} | {level} | {role} | {title} | {behind} |");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::File;
    use crate::support::proofs::Proof;
    use crate::support::reasons::Reasons;

    #[test]
    fn the_page_counts_and_lists_every_row_once() {
        let rows = "A-001\tMUST\tboth\tone\nA-002\tMAY\tserver\ta|b\nB-001\tMUST\tboth\tthree\n";
        let proof = Proof {
            place: "x.rs:1".to_owned(),
            test: "x::y".to_owned(),
            rows: vec!["A-001".to_owned()],
        };
        let reasons =
            "complete = [\"A\"]\n[[reason]]\nrows = [\"A-002\"]\ntext = \"The host draws it.\"\n";
        let support = Support::new(
            vec![Ledger::parse(&File::new("rows-2025-11-25.txt", rows)).unwrap()],
            Reasons::parse(&File::new("reasons.toml", reasons)).unwrap(),
            vec![proof],
        );
        let page = render(&support);
        for line in [
            "| [A](#a) | 2 | 1 | 1 | 0 | 0 | complete |",
            "| [B](#b) | 1 | 0 | 0 | 0 | 1 | open |",
            "| **All** | 3 | 1 | 1 | 0 | 1 |  |",
            "| A-001 | MUST | both | one | `x::y` |",
            "| A-002 | MAY | server | a\\|b | The host draws it. |",
            "| B-001 | MUST | both | three | **open** |",
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "{line}\nnot in\n{page}"
            );
        }
        assert_eq!(
            headline(&support),
            "3 rows: 1 proven, 1 with a reason, 0 later, 1 open"
        );
    }
}
