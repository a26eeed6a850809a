//! `docs/benchmarks.md`.

mod calls;
mod cells;
mod weights;

use std::fmt::Write as _;

use super::budgets;
use super::results::Results;

pub(super) use cells::short;

const METHOD: &str = "\
# Benchmarks

`cargo xtask bench` writes this page. Everything on it was measured in one go on one machine; compare within the page,
not with other pages.

- **Baseline.** A server without an SDK: hyper for HTTP, non-blocking pipes on the tokio reactor for stdio. It parses the
  same bytes with serde_json into types and answers the same bytes. What it leaves out is everything that a server has to
  check. \"1.2×\" is against the baseline of the same row; from 10 kB on the baseline is a plain server and
  not a limit: how a string is escaped and how often it is copied decide there.
- **Servers.** The same tools everywhere: `echo`, one that answers any number of bytes, one that sends notifications
  first. Each in its best form: rmcp with one shared router instead of one per call, plain JSON where it has no sessions;
  tower-mcp with its documented builders. Every listener sets TCP_NODELAY but in the rows that say so. One release
  profile (fat LTO, one codegen unit) and the system's allocator for all; `#[tokio::main]` as it comes, but for the baseline
  and this SDK over stdio, which need one thread.
- **÷ this SDK.** What a peer costs against this SDK, in the same row: above 1 this SDK is ahead, and below it says so.
- **Load.** One process on one core, the server on another. It checks id and text of every answer; a wrong one ends the
  run. Over HTTP each call in flight has a connection, and a session where there are sessions.
- **Figures.** CPU is the processor time of the server process per call, as the system accounts it. All servers take turns
  in each round; a cell is the median of the rounds, with the least and the most of them. p50 and p99 are the time of a
  call as the client sees it. With one call at a time over HTTP, calls per second and p99 tell more of the pauses of the
  machine than of the server: they differ by two between rounds of the same program, p50 and CPU do not. Echo is of 64
  bytes unless a row says otherwise.
- **Counts.** Instructions are counted by callgrind and allocations by memcheck: what else the machine does
  hardly matters to them. They are what `cargo xtask bench --gate` and `cargo xtask test` hold against `tests/budgets/gates.toml`.
  Over stdio 16 calls are sent at once and over HTTP 8 are in flight, unless a row says otherwise.
";

/// The whole page.
pub(super) fn page(results: &Results) -> String {
    let mut page = METHOD.to_owned();
    // Writing to memory does not fail.
    let _ = writeln!(page, "\nMachine: {}.", results.machine);
    page += "\n![CPU per call against the baseline](plots/cost.svg)\n";
    page += "\n![Calls per second of CPU, and memory, as the load grows](plots/scaling.svg)\n";
    page += &budgets(results);
    let mut notes = cells::Notes::default();
    page += &weights::counts(results, &mut notes);
    for (group, rows) in &results.groups {
        let _ = writeln!(page, "\n## {}\n", group.title);
        let named = || group.rows.iter().map(|row| &*row.name).zip(rows);
        page += &calls::cpu(named(), &mut notes);
        page.push('\n');
        page += &calls::speed(named(), &mut notes);
    }
    page += &calls::clients(results);
    page += &weights::weights(results, &mut notes);
    page += &notes.text();
    page
}

/// What the design allows, and what was measured of it.
fn budgets(results: &Results) -> String {
    let rows = budgets::rows(results);
    let why = "[why](#budgets-that-are-not-met-and-why)";
    let mut text = "\n## Budgets\n\nWhat a call, a session and a program may cost.\n\n".to_owned();
    text += "| budget | at most | measured | met |\n| --- | --: | --: | :-: |\n";
    for row in &rows {
        let met = match row.is_met() {
            Some(true) => "yes".to_owned(),
            Some(false) => format!("**no**, {why}"),
            None => "not measured".to_owned(),
        };
        let (title, budget, measured) = (row.title(), row.budget(), row.measured());
        let _ = writeln!(text, "| {title} | {budget} | {measured} | {met} |");
    }
    text += SHOWN;
    if rows.iter().any(|row| row.is_met() == Some(false)) {
        let _ = write!(
            text,
            "\n### Budgets that are not met, and why\n\n{}",
            budgets::NOTES
        );
    }
    text
}

/// What no run measures.
const SHOWN: &str = "\
| Tasks spawned, channels made for a call that does not wait | 0, 0 | 0, 0: a test serves calls where a spawn would \
panic; channels belong to connections | yes |
";
