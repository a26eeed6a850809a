//! Which budgets there are, and where their figures are found.

use super::{Part, Row, Unit};
use crate::bench::plan::CALLING;
use crate::bench::results::median;
use crate::bench::results::{Counts, Results, Weight};
use crate::bench::subject::Subject;

/// All of them, in the order of the design.
pub(in crate::bench) fn rows(results: &Results) -> Vec<Row> {
    let counts = |path: &str, subject: Subject| {
        let (_, row) = results
            .counts
            .iter()
            .find(|(known, _)| known.name == path)?;
        row.get(&subject)
    };
    let ours = |path: &str, figure: fn(&Counts) -> f64| counts(path, Subject::Ours).map(figure);
    let instructions = |path: &str| ours(path, |counts| counts.instructions as f64);
    let heap = |path: &str| ours(path, |counts| counts.heap.allocations);
    let cpu = |wire, ask, inflight| cpu(results, wire, ask, inflight, 0);
    let list = |wire| self::cpu(results, wire, "list:1004", 1, 1_000);
    let weight = |figure: fn(&Weight) -> Option<f64>| figure(results.weights.get(&Subject::Ours)?);
    let many_tools = instructions("stdio-1000-tools").zip(instructions("stdio"));
    vec![
        Row::new(
            "Instructions per call, HTTP 2025-11-25",
            Unit::Count,
            [
                ("sessions", 24_500.0, instructions("http-sessions")),
                ("none", 24_500.0, instructions("http-stateless")),
            ],
        ),
        Row::new(
            "Instructions per call, HTTP 2026-07-28",
            Unit::Count,
            [("", 30_000.0, instructions("http-modern"))],
        ),
        Row::new(
            "Instructions per call, stdio",
            Unit::Count,
            [("", 8_500.0, instructions("stdio"))],
        ),
        Row::new(
            "CPU per call against the baseline, HTTP, 8 connections",
            Unit::Times,
            [
                ("sessions", 1.3, cpu("http", "echo:64", CALLING)),
                ("none", 1.3, cpu("http-stateless", "echo:64", CALLING)),
                ("2026-07-28", 1.3, cpu("http-modern", "echo:64", CALLING)),
            ],
        ),
        Row::new(
            "CPU per call against the baseline, stdio, 64 calls at a time",
            Unit::Times,
            [("", 2.0, cpu("stdio", "echo:64", 64))],
        ),
        Row::new(
            "CPU per call against the baseline, stdio, 1 call at a time",
            Unit::Times,
            [("", 1.25, cpu("stdio", "echo:64", 1))],
        ),
        Row::new(
            "Allocations per call, HTTP",
            Unit::Tenth,
            [
                ("sessions", 18.0, heap("http-sessions")),
                ("none", 18.0, heap("http-stateless")),
                ("2026-07-28", 18.0, heap("http-modern")),
            ],
        ),
        Row::new(
            "Allocations per call, stdio",
            Unit::Tenth,
            [
                ("2025-11-25", 5.0, heap("stdio")),
                ("2026-07-28", 5.0, heap("stdio-modern")),
            ],
        ),
        Row::new(
            "The list of 1004 tools, CPU against ready bytes",
            Unit::Times,
            [
                ("HTTP", 1.2, list("http")),
                ("HTTP 2026-07-28", 1.2, list("http-modern")),
                ("stdio", 1.2, list("stdio")),
            ],
        ),
        Row::new(
            "Echo of 64 kB and 1 MB, CPU against the baseline",
            Unit::Times,
            [
                ("HTTP, 64 kB", 1.1, cpu("http", "echo:64000", 2)),
                ("1 MB", 1.1, cpu("http", "echo:1000000", 2)),
                ("stdio, 64 kB", 1.1, cpu("stdio", "echo:64000", 2)),
                ("1 MB", 1.1, cpu("stdio", "echo:1000000", 2)),
            ],
        ),
        Row::new(
            "A call beside 1000 tools against one beside none, instructions",
            Unit::Times,
            [("", 1.0, many_tools.map(|(many, none)| many / none))],
        ),
        Row::new(
            "Memory of an idle session, KiB",
            Unit::Tenth,
            [
                ("alone", 4.0, weight(|w| w.memory.session)),
                (
                    "with its stream and connection",
                    13.0,
                    weight(|w| w.memory.stream),
                ),
            ],
        ),
        Row::new(
            "Resident memory at rest, MiB",
            Unit::Tenth,
            [("", 3.6, weight(|w| Some(w.memory.idle as f64 / 1_024.0)))],
        ),
        Row::new(
            "Program, stripped, MB",
            Unit::Tenth,
            [("", 1.6, weight(|w| Some(w.program as f64 / 1e6)))],
        ),
        crates(results),
    ]
}

fn crates(results: &Results) -> Row {
    let part = |(name, count, most): &(&'static str, usize, usize)| Part {
        name,
        most: *most as f64,
        measured: Some(*count as f64),
    };
    Row {
        name: "Crates in the tree",
        unit: Unit::Count,
        parts: results.crates.iter().map(part).collect(),
    }
}

/// CPU per call in those of the baseline.
fn cpu(results: &Results, wire: &str, ask: &str, inflight: u32, tools: u32) -> Option<f64> {
    let mut rows = results
        .groups
        .iter()
        .flat_map(|(group, cells)| group.rows.iter().zip(cells));
    let (_, cells) = rows.find(|(row, _)| {
        let needs = &row.needs;
        (needs.wire, &*row.ask, row.inflight, needs.tools) == (wire, ask, inflight, tools)
            && row.beside == 0
            && !needs.nagle
    })?;
    let cpu = |subject| median(cells, subject, |figures| figures.server_us);
    Some(cpu(Subject::Ours)? / cpu(Subject::Baseline)?)
}
