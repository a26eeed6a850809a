//! `docs/benchmarks.md`.

use minijinja::context;

use super::budgets::Budget;
use super::results::{Results, number, short};
use super::subject::{ALL, Subject};
use crate::page::environment;

/// The whole page. Costs are preceded by the multiple of the baseline, and followed by the cost of each peer divided by that
/// of this SDK.
pub(super) fn page(results: &Results, budgets: &[Budget]) -> Result<String, String> {
    let machine = &results.machine;
    let sections = results.tables.chunk_by(|a, b| a.section == b.section);
    let sections: Vec<_> = sections.collect();
    let subjects = ALL.map(Subject::name);
    let mut environment = environment();
    environment.add_filter("short", short);
    environment.add_filter("number", number);
    environment
        .render_str(
            include_str!("page.md.jinja"),
            context!(machine, budgets, sections, subjects),
        )
        .map_err(|error| format!("{error:#}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::budgets::budgets;
    use crate::bench::results::tests::example;

    #[test]
    fn the_page_has_every_row_with_ratios() {
        let mut results = example();
        // A peer that is cheaper in one row.
        for (row, cells) in results.tables.iter_mut().flat_map(|table| &mut table.rows) {
            if row.name == "10 kB" {
                cells[Subject::Rmcp as usize].as_mut().unwrap().value = 5.0;
            }
        }
        let page = page(&results, &budgets(&results).unwrap()).unwrap();
        for line in [
            "| 64 kB | 10.0 | 2.00× 20.0 | 4.00× 40.0 | n/a [^1] | **2.00×** | n/a [^1] |",
            "| 10 kB | 10.0 | 2.00× 20.0 | 0.50× 40.0 | n/a [^1] | 0.25×, behind | n/a [^1] |",
            "| program, stripped, MB | 10.0 | 20.0 | 40.0 | n/a [^1] | **2.00×** | n/a [^1] |",
            "| Crates in the tree, types | ≤ 15 | 13 | yes |",
            "## Many tools",
            "[^1]: tower-mcp 0.25.0: it has none",
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "{line}\nnot in\n{page}"
            );
        }
    }
}
