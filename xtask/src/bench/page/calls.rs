//! Tables of calls: what they cost, and how fast they are.

use std::fmt::Write as _;

use super::cells::{Notes, Shown, ahead, head, row, short, spread, table_head, times};
use crate::bench::measure::{Cell, Cells, Figures, Spread};
use crate::bench::results::{Results, median};
use crate::bench::subject::{ALL, Subject};

/// Processor time.
pub(super) fn cpu<'a>(
    rows: impl Iterator<Item = (&'a str, &'a Cells)>,
    notes: &mut Notes,
) -> String {
    let mut table = head("CPU per call, µs", true);
    for (name, cells) in rows {
        let baseline = median(cells, Subject::Baseline, |figures| figures.server_us);
        table += &row(name, notes, |subject| match cells.get(&subject) {
            Some(Cell::Rounds(rounds)) => {
                let all = Spread::of(rounds.iter().map(|figures| figures.server_us));
                let times = baseline
                    .filter(|_| subject != Subject::Baseline)
                    .map(|baseline| times(all.median, baseline));
                Shown::Figure(all.median, times.unwrap_or_default() + &spread(all))
            }
            Some(Cell::Absent(why)) => Shown::Missing(why.clone()),
            None => Shown::Missing("it was not run".to_owned()),
        });
    }
    table
}

/// Calls per second, and how long they take.
pub(super) fn speed<'a>(
    rows: impl Iterator<Item = (&'a str, &'a Cells)>,
    notes: &mut Notes,
) -> String {
    let mut table = head("calls per second; p50 / p99 in µs", false);
    for (name, cells) in rows {
        let _ = write!(table, "| {name} |");
        for subject in ALL {
            let at = |figure: fn(&Figures) -> f64| median(cells, subject, figure).map(short);
            let figures = [
                at(|figures| figures.calls as f64 / figures.seconds),
                at(|figures| figures.p50_us),
                at(|figures| figures.p99_us),
            ];
            let text = match (figures, cells.get(&subject)) {
                ([Some(calls), Some(p50), Some(p99)], _) => format!("{calls}; {p50} / {p99}"),
                (_, Some(Cell::Absent(why))) => notes.empty(subject, why),
                _ => notes.empty(subject, "it was not run"),
            };
            let _ = write!(table, " {text} |");
        }
        table.push('\n');
    }
    table
}

/// What calls cost those who make them.
pub(super) fn clients(results: &Results) -> String {
    let mut text = "\n## Clients\n\nCPU of the client process per call, with the baseline as its server. The first column \
                    is the load itself, which has an HTTP of its own, and \"1.2×\" is against it. tower-mcp's client \
                    is not measured.\n\n"
        .to_owned();
    let names = [
        "load",
        Subject::Ours.name(),
        Subject::Rmcp.name(),
        "rmcp ÷ this SDK",
    ];
    text += &table_head("µs per call", &names);
    for (name, callers) in &results.clients {
        let [load, ours, rmcp] = callers
            .each_ref()
            .map(|rounds| Spread::of(rounds.iter().map(|figures| figures.client_us)));
        let cell = |all: Spread| times(all.median, load.median) + &spread(all);
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} |",
            spread(load),
            cell(ours),
            cell(rmcp),
            ahead(rmcp.median, ours.median)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn rounds(costs: &[f64]) -> Cell {
        let figures = |cost: &f64| Figures {
            calls: 1_000,
            seconds: 0.5,
            server_us: *cost,
            client_us: 1.0,
            p50_us: 80.0,
            p99_us: 130.0,
        };
        Cell::Rounds(costs.iter().map(figures).collect())
    }

    #[test]
    fn a_cell_has_median_spread_and_ratios() {
        let cells = BTreeMap::from([
            (Subject::Baseline, rounds(&[10.0, 9.0, 11.0])),
            (Subject::Ours, rounds(&[12.5])),
            (Subject::Rmcp, rounds(&[50.0])),
            (Subject::Tower, Cell::Absent("it has none".to_owned())),
        ]);
        let mut notes = Notes::default();
        let table = cpu([("a row", &cells)].into_iter(), &mut notes);
        let line = "| a row | 10.0 (9.00–11.0) | 1.25× 12.5 (12.5–12.5) | 5.00× 50.0 (50.0–50.0) | \
                    n/a [1](#why-not) | **4.00×** | n/a [1](#why-not) |";
        assert!(table.contains(line), "{table}");
        let table = speed([("a row", &cells)].into_iter(), &mut notes);
        assert!(table.contains("| 2\u{202f}000; 80.0 / 130 |"), "{table}");
        assert!(table.lines().all(|line| line.matches('|').count() == 6));
    }
}
