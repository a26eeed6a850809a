//! `docs/benchmarks.md`.

use std::fmt::Write as _;

use super::measure::{Cell, Cells, Figures, Spread};
use super::plan::thousands;
use super::run::{Results, Weight};
use super::who::{ALL, Who};

const METHOD: &str = "\
# Benchmarks

`cargo xtask bench` writes this page. Everything on it was measured in one go on one machine; compare within the page,
not with other pages.

- **Floor.** A server without an SDK: hyper for HTTP, non-blocking pipes on the tokio reactor for stdio. It parses the
  same bytes with serde_json into types and answers the same bytes. What it leaves out is everything that a server has to
  check. \"×\" is against the floor of the same row; from 10 kB on the floor is a plain server and
  not a limit: how a string is escaped and how often it is copied decide there.
- **Servers.** The same tools everywhere: `echo`, one that answers any number of bytes, one that sends notifications
  first. Each in its best form: rmcp with one shared router instead of one per call, plain JSON where it has no sessions;
  tower-mcp with its documented builders. Every listener sets TCP_NODELAY but in the rows that say so. One release
  profile (fat LTO, one codegen unit) and the system's allocator for all; `#[tokio::main]` as it comes, but for the stdio
  floor, which needs one thread.
- **Load.** One process on one core, the server on another. It checks id and text of every answer; a wrong one ends the
  run. Over HTTP each call in flight has a connection, and a session where there are sessions.
- **Figures.** CPU is the processor time of the server process per call, as the system accounts it. All servers take turns
  in each round; a cell is the median of the rounds, with the least and the most of them. p50 and p99 are the time of a
  call as the client sees it. Echo is of 64 bytes unless a row says otherwise.
- **Counts.** Instructions are counted by callgrind and allocations by memcheck: they do not depend on what else the
  machine does. They are what `cargo xtask bench --gate` and `cargo xtask test` hold against `tests/budgets/gates.toml`.
  Over stdio 16 calls are sent at once, unless a row says otherwise.
";

/// The whole page.
pub(super) fn page(results: &Results) -> String {
    let mut page = METHOD.to_owned();
    // Writing to memory does not fail.
    let _ = writeln!(page, "\nMachine: {}.", results.machine);
    page += "\n![CPU per call against the floor](plots/cost.svg)\n";
    page += "\n![Calls per second and core as the load grows](plots/scaling.svg)\n";
    page += &counts(results);
    let mut notes = Vec::new();
    for (group, rows) in &results.groups {
        let _ = writeln!(page, "\n## {}\n", group.title);
        page += &cpu(
            group.rows.iter().map(|row| &*row.name).zip(rows),
            &mut notes,
        );
        page.push('\n');
        page += &speed(group.rows.iter().map(|row| &*row.name).zip(rows));
    }
    page += &clients(results);
    page += &weights(results);
    if !notes.is_empty() {
        page += "\n## Why not\n\n";
        for (number, note) in notes.iter().enumerate() {
            let _ = writeln!(page, "{}. {note}", number + 1);
        }
    }
    page
}

fn head(first: &str) -> String {
    let names: Vec<&str> = ALL.iter().map(|who| who.name()).collect();
    table_head(first, &names)
}

fn table_head(first: &str, names: &[&str]) -> String {
    format!(
        "| {first} | {} |\n| --- |{}\n",
        names.join(" | "),
        " --: |".repeat(names.len())
    )
}

/// Three digits, more or less.
pub(super) fn short(number: f64) -> String {
    match number {
        number if number >= 1_000.0 => thousands(number.round() as u64),
        number if number >= 100.0 => format!("{number:.0}"),
        number if number >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

fn cpu<'a>(rows: impl Iterator<Item = (&'a str, &'a Cells)>, notes: &mut Vec<String>) -> String {
    let mut table = head("CPU per call, µs");
    for (name, cells) in rows {
        let floor = median(cells, Who::Floor, |figures| figures.server_us);
        let _ = write!(table, "| {name} |");
        for who in ALL {
            let text = match cells.get(&who) {
                Some(Cell::Rounds(rounds)) => {
                    let spread = Spread::of(rounds.iter().map(|figures| figures.server_us));
                    let ratio = floor
                        .filter(|_| who != Who::Floor)
                        .map(|floor| format!("**{}×** ", short(spread.median / floor)));
                    format!(
                        "{}{} ({}–{})",
                        ratio.unwrap_or_default(),
                        short(spread.median),
                        short(spread.least),
                        short(spread.most)
                    )
                }
                Some(Cell::Absent(why)) => {
                    let note = format!("{}: {why}", who.name());
                    let known = notes.iter().position(|known| *known == note);
                    let number = known.unwrap_or_else(|| {
                        notes.push(note);
                        notes.len() - 1
                    });
                    format!("n/a [{}](#why-not)", number + 1)
                }
                None => String::new(),
            };
            let _ = write!(table, " {text} |");
        }
        table.push('\n');
    }
    table
}

fn speed<'a>(rows: impl Iterator<Item = (&'a str, &'a Cells)>) -> String {
    let mut table = head("calls per second; p50 / p99 in µs");
    for (name, cells) in rows {
        let _ = write!(table, "| {name} |");
        for who in ALL {
            let text = median(cells, who, per_second).map_or_else(
                || "n/a".to_owned(),
                |calls| {
                    let at = |figure: fn(&Figures) -> f64| {
                        short(median(cells, who, figure).unwrap_or_default())
                    };
                    format!(
                        "{}; {} / {}",
                        short(calls),
                        at(|figures| figures.p50_us),
                        at(|figures| figures.p99_us)
                    )
                },
            );
            let _ = write!(table, " {text} |");
        }
        table.push('\n');
    }
    table
}

fn per_second(figures: &Figures) -> f64 {
    figures.calls as f64 / figures.seconds
}

/// The middle of all rounds, where there are any.
pub(super) fn median(cells: &Cells, who: Who, figure: fn(&Figures) -> f64) -> Option<f64> {
    match cells.get(&who)? {
        Cell::Rounds(rounds) => Some(Spread::of(rounds.iter().map(figure)).median),
        Cell::Absent(_) => None,
    }
}

fn counts(results: &Results) -> String {
    if results.counts.is_empty() {
        return String::new();
    }
    let mut text = "\n## Instructions and allocations\n\n".to_owned();
    text += &head("instructions per call");
    for (path, row) in &results.counts {
        let floor = row.get(&Who::Floor).map(|counts| counts.instructions);
        text += &line(path.name, |who| {
            let instructions = row.get(&who)?.instructions;
            let ratio = floor
                .filter(|_| who != Who::Floor)
                .map(|floor| format!("**{}×** ", short(instructions as f64 / floor as f64)));
            Some(ratio.unwrap_or_default() + &thousands(instructions))
        });
    }
    text.push('\n');
    text += &head("allocations per call (bytes)");
    for (path, row) in &results.counts {
        text += &line(path.name, |who| {
            let heap = row.get(&who)?.heap;
            let bytes = thousands(heap.bytes.round() as u64);
            Some(format!("{:.1} ({bytes})", heap.allocations))
        });
    }
    text
}

fn line(name: &str, cell: impl Fn(Who) -> Option<String>) -> String {
    let mut line = format!("| {name} |");
    for who in ALL {
        let _ = write!(line, " {} |", cell(who).unwrap_or_else(|| "n/a".to_owned()));
    }
    line.push('\n');
    line
}

fn clients(results: &Results) -> String {
    let mut text = "\n## Clients\n\nCPU of the client process per call, against the floor. The first column is the load \
                    itself, which has an HTTP of its own.\n\n"
        .to_owned();
    text += &table_head("µs per call", &["load", "this SDK", "rmcp 3.9.0"]);
    for (name, callers) in &results.clients {
        let spreads = callers
            .each_ref()
            .map(|rounds| Spread::of(rounds.iter().map(|figures| figures.client_us)));
        let _ = write!(text, "| {name} |");
        for (at, spread) in spreads.iter().enumerate() {
            let ratio = match at {
                0 => String::new(),
                _ => format!("**{}×** ", short(spread.median / spreads[0].median)),
            };
            let _ = write!(
                text,
                " {ratio}{} ({}–{}) |",
                short(spread.median),
                short(spread.least),
                short(spread.most)
            );
        }
        text.push('\n');
    }
    text
}

type Show = fn(&Weight) -> Option<String>;

fn weights(results: &Results) -> String {
    let rows: [(&str, Show); 10] = [
        ("resident memory at rest, KiB", |w| {
            Some(thousands(w.memory.idle))
        }),
        ("more for each open connection after a call, KiB", |w| {
            Some(format!("{:.1}", w.memory.connection))
        }),
        ("more for each session, KiB", |w| {
            w.memory.session.map(|kib| format!("{kib:.1}"))
        }),
        (
            "more for each session with its stream and connection, KiB",
            |w| w.memory.stream.map(|kib| format!("{kib:.1}")),
        ),
        ("start to first answer over stdio, ms", |w| {
            Some(short(w.stdio.answer_ms))
        }),
        ("start to first answer over HTTP, ms", |w| {
            Some(short(w.http.answer_ms))
        }),
        ("CPU until then, ms", |w| Some(short(w.http.cpu_ms))),
        ("program, stripped, MB", |w| {
            Some(format!("{:.2}", w.program as f64 / 1e6))
        }),
        ("crates in the tree, both transports", |w| {
            w.crates.map(|count| count.to_string())
        }),
        ("clean release build, s", |w| {
            w.build.map(|seconds| format!("{seconds:.0}"))
        }),
    ];
    let mut text = "\n## Memory, start, size\n\n".to_owned();
    text += &head("");
    for (name, show) in rows {
        if results
            .weights
            .values()
            .any(|weight| show(weight).is_some())
        {
            text += &line(name, |who| results.weights.get(&who).and_then(show));
        }
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
    fn a_cell_has_median_spread_and_ratio() {
        let cells = BTreeMap::from([
            (Who::Floor, rounds(&[10.0, 9.0, 11.0])),
            (Who::Ours, rounds(&[12.5])),
            (Who::Tower, Cell::Absent("it has none".to_owned())),
        ]);
        let mut notes = vec!["rmcp 3.9.0: it has none".to_owned()];
        let table = cpu([("a row", &cells), ("b", &cells)].into_iter(), &mut notes);
        assert!(
            table.contains(
                "| a row | 10.0 (9.00–11.0) | **1.25×** 12.5 (12.5–12.5) |  | n/a [2](#why-not) |"
            ),
            "{table}"
        );
        assert_eq!(notes.len(), 2, "a reason is told once");
        let table = speed([("a row", &cells)].into_iter());
        assert!(table.contains("| 2\u{202f}000; 80.0 / 130 |"), "{table}");
        assert!(table.lines().all(|line| line.matches('|').count() == 6));
    }
}
