//! `docs/benchmarks.md`.

use super::budgets::Budget;
use super::results::{Figure, Figures, Results, short, value};
use super::subject::{ALL, Subject};
use crate::table::{Footnotes, Table};

/// The explanation of the figures.
const METHOD: &str = include_str!("method.md");

const PICTURES: &str = "
![CPU per call against the baseline](plots/cost.svg)

![Calls per second of CPU, as the load grows](plots/scaling.svg)
";

const SPAWNS: &str = "
A call that does not wait spawns no task and creates no channel: a test serves calls where a spawn would panic, and channels
belong to connections.
";

/// The peers, with the heading of their cost divided by that of this SDK.
const PEERS: [(Subject, &str); 2] = [
    (Subject::Rmcp, "rmcp ÷ this SDK"),
    (Subject::Tower, "tower-mcp ÷ this SDK"),
];

/// The whole page.
pub(super) fn page(results: &Results, budgets: &[Budget]) -> String {
    let mut table = Table::of_numbers(["budget", "at most", "measured", "met"]);
    for budget in budgets {
        table.row(budget.row());
    }
    let explanations: String = budgets.iter().filter_map(Budget::explanation).collect();
    let (machine, table) = (&results.machine, table.markdown());
    let mut page = format!(
        "{METHOD}\nMachine: {machine}.\n{PICTURES}\n## Budgets\n\nWhat a call, a session and a program may cost.\n\n\
         {table}{SPAWNS}"
    );
    if !explanations.is_empty() {
        page += &format!("\n### Budgets that are not met, and why\n\n{explanations}");
    }
    let mut notes = Footnotes::default();
    let mut section = "";
    for table in &results.tables {
        if section != table.section {
            section = &table.section;
            page += &format!("\n## {section}\n");
        }
        page += &format!("\n{}", markdown(table, &mut notes));
    }
    page + "\n" + &notes.text()
}

/// A table with a column for each subject. Costs are preceded by the multiple of the baseline, and further columns have
/// the cost of each peer divided by that of this SDK.
fn markdown(figures: &Figures, notes: &mut Footnotes) -> String {
    let peers = if figures.are_costs { &PEERS[..] } else { &[] };
    let names = ALL.map(Subject::name).into_iter();
    let names = names.chain(peers.iter().map(|(_, heading)| *heading));
    let mut table = Table::of_numbers([figures.unit].into_iter().chain(names));
    for (workload, cells) in &figures.rows {
        let [baseline, ours] =
            [Subject::Baseline, Subject::Ours].map(|subject| value(cells, subject));
        // Rows of sizes have no unit in common, and multiples of small ones would mislead.
        let baseline = baseline.filter(|_| figures.are_costs && !figures.unit.is_empty());
        let mut cell =
            |subject: Subject, show: &dyn Fn(&Figure) -> String| match &cells[subject as usize] {
                Ok(figure) => show(figure),
                Err(why) => notes.cell(&format!("{}: {why}", subject.name())),
            };
        let mut row = vec![workload.name.clone()];
        row.extend(ALL.map(|subject| {
            cell(subject, &|Figure { value, text }| match baseline {
                Some(baseline) if subject != Subject::Baseline => {
                    format!("{}× {text}", short(value / baseline))
                }
                _ => text.clone(),
            })
        }));
        row.extend(peers.iter().map(|(peer, _)| {
            cell(*peer, &|figure| {
                ours.map_or_else(String::new, |ours| against(figure.value, ours))
            })
        }));
        table.row(row);
    }
    table.markdown()
}

/// The cost of a peer as a multiple of this SDK's. A ratio below 1 is marked with a word, so that it is not overlooked.
fn against(peer: f64, ours: f64) -> String {
    let ratio = short(peer / ours);
    if peer < ours {
        return format!("{ratio}×, behind");
    }
    format!("**{ratio}×**")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::budgets::budgets;
    use crate::bench::results::tests::example;

    #[test]
    fn the_page_has_every_row_with_ratios() {
        let results = example();
        let page = page(&results, &budgets(&results).unwrap());
        for line in [
            "| 64 kB | 10.0 | 2.00× 20.0 | 4.00× 40.0 | n/a [^1] | **2.00×** | n/a [^1] |",
            "| program, stripped, MB | 10.0 | 20.0 | 40.0 | n/a [^1] | **2.00×** | n/a [^1] |",
            "| Crates in the tree, types | ≤ 15 | 13 | yes |",
            "## Many tools",
            "[^1]: tower-mcp 0.25.0: it has none",
        ] {
            assert!(page.contains(line), "{line}\nnot in\n{page}");
        }
    }

    #[test]
    fn a_cheaper_peer_is_marked() {
        assert_eq!(against(5.0, 10.0), "0.50×, behind");
        assert_eq!(against(10.0, 10.0), "**1.00×**");
    }
}
