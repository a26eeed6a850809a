//! `docs/benchmarks.md`.

use super::budgets::Budget;
use super::results::{Cells, Figures, Results, Spread};
use super::subject::{ALL, Subject};
use crate::table::{Footnotes, Table};

/// The explanation of the figures.
const METHOD: &str = include_str!("method.md");

/// The peers, with the heading of their cost divided by that of this SDK.
const PEERS: [(Subject, &str); 2] = [
    (Subject::Rmcp, "rmcp ÷ this SDK"),
    (Subject::Tower, "tower-mcp ÷ this SDK"),
];

const NOT_MEASURED: &str = "it was not measured";
/// The whole page.
pub(super) fn page(results: &Results, budgets: &[Budget]) -> String {
    let mut page = METHOD.to_owned();
    page += &format!("\nMachine: {}.\n", results.machine);
    page += "\n![CPU per call against the baseline](plots/cost.svg)\n";
    page += "\n![Calls per second of CPU, and memory, as the load grows](plots/scaling.svg)\n";
    page += &budget_section(budgets);
    let mut tables = Tables::default();
    if !results.counts.is_empty() {
        page += "\n## Instructions and allocations\n\n";
        let rows = || {
            results
                .counts
                .iter()
                .map(|(gate, cells)| (&*gate.name, cells))
        };
        page += &tables.costs("instructions per call", rows(), |counts| {
            let instructions = counts.instructions as f64;
            (instructions, thousands(instructions))
        });
        page.push('\n');
        page += &tables.costs("allocations per call (bytes)", rows(), |counts| {
            let text = format!("{:.1} ({})", counts.allocations, thousands(counts.bytes));
            (counts.allocations, text)
        });
    }
    for (title, rows) in &results.groups {
        let rows = || rows.iter().map(|(row, cells)| (&*row.name, cells));
        page += &format!("\n## {title}\n\n");
        page += &tables.times("CPU per call, µs", rows(), |figures| figures.server_us);
        page.push('\n');
        page += &tables.speeds(rows());
    }
    page += "\n## Clients\n\nCPU of the client process per call, with the baseline as its server. In the column of the \
             baseline, the client is the load itself, which has its own HTTP.\n\n";
    let clients = results
        .clients
        .iter()
        .map(|(row, cells)| (&*row.name, cells));
    page += &tables.times("CPU per call, µs", clients, |figures| figures.client_us);
    page += "\n## Memory, start, size\n\n";
    let is_measured = |cells: &Cells<f64>| matches!(cells.get(&Subject::Ours), Some(Ok(_)));
    let weights = results
        .weights
        .iter()
        .filter(|(_, cells)| is_measured(cells));
    page += &tables.costs("", weights.map(|(name, cells)| (*name, cells)), |value| {
        let is_whole = value.fract() == 0.0;
        (
            *value,
            if is_whole {
                thousands(*value)
            } else {
                short(*value)
            },
        )
    });
    page + "\n" + &tables.notes.text()
}

/// The limits of the design, with the measured values.
fn budget_section(budgets: &[Budget]) -> String {
    let mut text = "\n## Budgets\n\nWhat a call, a session and a program may cost.\n\n".to_owned();
    let mut table = Table::of_numbers(["budget", "at most", "measured", "met"]);
    for budget in budgets {
        table.row(budget.row());
    }
    text += &table.markdown();
    text += "\nA call that does not wait spawns no task and creates no channel: a test serves calls where a spawn would \
             panic, and channels belong to connections.\n";
    let explanations: String = budgets.iter().filter_map(Budget::explanation).collect();
    if !explanations.is_empty() {
        text += &format!("\n### Budgets that are not met, and why\n\n{explanations}");
    }
    text
}

/// Writes tables with a column for each subject, and collects the reasons for empty cells.
#[derive(Debug, Default)]
struct Tables {
    notes: Footnotes,
}

impl Tables {
    /// A table of costs. `show` gives the value and its text; the text is preceded by the multiple of the baseline, and
    /// further columns have the cost of each peer divided by that of this SDK.
    fn costs<'a, T: 'a>(
        &mut self,
        first: &str,
        rows: impl Iterator<Item = (&'a str, &'a Cells<T>)>,
        show: impl Fn(&T) -> (f64, String),
    ) -> String {
        let names = ALL.map(Subject::name);
        let head = [first]
            .into_iter()
            .chain(names)
            .chain(PEERS.map(|(_, heading)| heading));
        let mut table = Table::of_numbers(head);
        for (name, cells) in rows {
            let value = |subject| {
                let cell = cells.get(&subject)?.as_ref().ok()?;
                Some(show(cell).0)
            };
            let baseline = value(Subject::Baseline).filter(|baseline| *baseline > 0.0);
            let mut row = vec![name.to_owned()];
            for subject in ALL {
                row.push(self.cell(cells, subject, |cell| {
                    let (value, text) = show(cell);
                    match baseline.filter(|_| subject != Subject::Baseline) {
                        Some(baseline) => format!("{}× {text}", short(value / baseline)),
                        None => text,
                    }
                }));
            }
            for (peer, _) in PEERS {
                row.push(self.cell(cells, peer, |cell| {
                    value(Subject::Ours).map_or_else(String::new, |ours| ratio(show(cell).0, ours))
                }));
            }
            table.row(row);
        }
        table.markdown()
    }

    /// A table of one figure of calls, with its spread.
    fn times<'a>(
        &mut self,
        first: &str,
        rows: impl Iterator<Item = (&'a str, &'a Cells<Vec<Figures>>)>,
        figure: fn(&Figures) -> f64,
    ) -> String {
        self.costs(first, rows, |rounds| {
            let all = Spread::of(rounds, figure);
            let [median, min, max] = [all.median, all.min, all.max].map(short);
            (all.median, format!("{median} ({min}–{max})"))
        })
    }

    /// Calls per second, and how long they take.
    fn speeds<'a>(
        &mut self,
        rows: impl Iterator<Item = (&'a str, &'a Cells<Vec<Figures>>)>,
    ) -> String {
        let first = "calls per second; p50 / p99 in µs";
        let mut table = Table::of_numbers([first].into_iter().chain(ALL.map(Subject::name)));
        for (name, cells) in rows {
            let mut row = vec![name.to_owned()];
            for subject in ALL {
                row.push(self.cell(cells, subject, |rounds| {
                    let median =
                        |figure: fn(&Figures) -> f64| short(Spread::of(rounds, figure).median);
                    let rate = median(|figures| figures.calls as f64 / figures.seconds);
                    let [p50, p99] = [median(|f| f.p50_us), median(|f| f.p99_us)];
                    format!("{rate}; {p50} / {p99}")
                }));
            }
            table.row(row);
        }
        table.markdown()
    }

    /// The text of one cell, or a reference to the reason for its absence.
    fn cell<T>(
        &mut self,
        cells: &Cells<T>,
        subject: Subject,
        show: impl FnOnce(&T) -> String,
    ) -> String {
        match cells.get(&subject) {
            Some(Ok(cell)) => show(cell),
            Some(Err(why)) => self.notes.cell(&format!("{}: {why}", subject.name())),
            None => self
                .notes
                .cell(&format!("{}: {NOT_MEASURED}", subject.name())),
        }
    }
}

/// The cost of a peer as a multiple of this SDK's. A ratio below 1 is marked with a word, so that it is not overlooked.
fn ratio(peer: f64, ours: f64) -> String {
    let ratio = short(peer / ours);
    if peer < ours {
        return format!("{ratio}×, behind");
    }
    format!("**{ratio}×**")
}

/// A whole number, with narrow spaces between the thousands.
pub(super) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// Three significant digits; large numbers in full.
pub(super) fn short(number: f64) -> String {
    match number {
        1_000.0.. => thousands(number),
        100.0.. => format!("{number:.0}"),
        10.0.. => tenths(number),
        _ => format!("{number:.2}"),
    }
}

fn tenths(number: f64) -> String {
    format!("{number:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::budgets::budgets;
    use crate::bench::results::tests::example;

    #[test]
    fn cells_have_median_spread_and_ratios() {
        let results = example();
        let page = page(&results, &budgets(&results).unwrap());
        for line in [
            "| 64 kB | 10.0 (10.0–10.0) | 2.00× 20.0 (20.0–20.0) | 4.00× 40.0 (40.0–40.0) | n/a [^1] | **2.00×** | n/a [^1] |",
            "| 64 kB | 2\u{202f}000; 80.0 / 130 | 2\u{202f}000; 80.0 / 130 | 2\u{202f}000; 80.0 / 130 | n/a [^1] |",
            "| stdio | 10 | 2.00× 20 | 4.00× 40 | n/a [^1] | **2.00×** | n/a [^1] |",
            "| Crates in the tree | ≤ 15 | 13 | yes |",
            "[^1]: tower-mcp 0.25.0: it has none",
        ] {
            assert!(page.contains(line), "{line}\nnot in\n{page}");
        }
    }

    #[test]
    fn a_cheaper_peer_is_marked() {
        assert_eq!(ratio(5.0, 10.0), "0.50×, behind");
        assert_eq!(ratio(10.0, 10.0), "**1.00×**");
    }

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(thousands(1_234_567.0), "1\u{202f}234\u{202f}567");
        assert_eq!([999.4, 99.94, 0.5].map(short), ["999", "99.9", "0.50"]);
    }
}
