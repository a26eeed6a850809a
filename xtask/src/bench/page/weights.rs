//! Tables of counts and sizes.

use super::cells::{Notes, Shown, head, row, short, times};
use crate::bench::plan::thousands;
use crate::bench::results::{Counts, Results, Weight};
use crate::bench::subject::Subject;

/// Instructions and allocations; nothing where there was no valgrind.
pub(super) fn counts(results: &Results, notes: &mut Notes) -> String {
    if results.counts.is_empty() {
        return String::new();
    }
    let mut text = "\n## Instructions and allocations\n\n".to_owned();
    text += &head("instructions per call", true);
    let mut table = |figure: fn(&Counts) -> f64, show: fn(&Counts) -> String| {
        let mut table = String::new();
        for (path, counted) in &results.counts {
            let baseline = counted.get(&Subject::Baseline).map(figure);
            table += &row(path.name, notes, |subject| match counted.get(&subject) {
                Some(counts) => {
                    let times = baseline
                        .filter(|_| subject != Subject::Baseline)
                        .map(|baseline| times(figure(counts), baseline));
                    Shown::Figure(figure(counts), times.unwrap_or_default() + &show(counts))
                }
                None => {
                    let why = subject.args(&path.needs).err();
                    Shown::Missing(why.unwrap_or("it was not counted").to_owned())
                }
            });
        }
        table
    };
    text += &table(
        |counts| counts.instructions as f64,
        |counts| thousands(counts.instructions),
    );
    text.push('\n');
    text += &head("allocations per call (bytes)", true);
    text += &table(
        |counts| counts.heap.allocations,
        |counts| {
            let bytes = thousands(counts.heap.bytes.round() as u64);
            format!("{:.1} ({bytes})", counts.heap.allocations)
        },
    );
    text
}

/// A row of what a server weighs: its name, the figure, how it is shown, and why there may be none.
struct Row {
    name: &'static str,
    figure: fn(&Weight) -> Option<f64>,
    show: fn(f64) -> String,
    missing: &'static str,
}

const NO_SESSIONS: &str = "it has no sessions, and no streams for them";
const NO_PACKAGE: &str = "it is built from the package of what it is compared with";

const ROWS: [Row; 10] = {
    const fn row(
        name: &'static str,
        figure: fn(&Weight) -> Option<f64>,
        show: fn(f64) -> String,
        missing: &'static str,
    ) -> Row {
        Row {
            name,
            figure,
            show,
            missing,
        }
    }
    [
        row(
            "resident memory at rest, KiB",
            |w| Some(w.memory.idle as f64),
            short,
            "",
        ),
        row(
            "more for each open connection after a call, KiB",
            |w| Some(w.memory.connection),
            tenths,
            "",
        ),
        row(
            "more for each session, KiB",
            |w| w.memory.session,
            tenths,
            NO_SESSIONS,
        ),
        row(
            "more for each session with its stream and connection, KiB",
            |w| w.memory.stream,
            tenths,
            NO_SESSIONS,
        ),
        row(
            "start to first answer over stdio, ms",
            |w| Some(w.stdio.answer_ms),
            short,
            "",
        ),
        row(
            "start to first answer over HTTP, ms",
            |w| Some(w.http.answer_ms),
            short,
            "",
        ),
        row("CPU until then, ms", |w| Some(w.http.cpu_ms), short, ""),
        row(
            "program, stripped, MB",
            |w| Some(w.program as f64 / 1e6),
            short,
            "",
        ),
        row(
            "crates in the tree, both transports",
            |w| w.crates.map(|count| count as f64),
            whole,
            NO_PACKAGE,
        ),
        row("clean release build, s", |w| w.build, whole, NO_PACKAGE),
    ]
};

fn tenths(number: f64) -> String {
    format!("{number:.1}")
}

fn whole(number: f64) -> String {
    format!("{number:.0}")
}

/// Memory, start, size.
pub(super) fn weights(results: &Results, notes: &mut Notes) -> String {
    let mut text = "\n## Memory, start, size\n\n".to_owned();
    text += &head("", true);
    for this in &ROWS {
        let figure = |subject| (this.figure)(results.weights.get(&subject)?);
        if figure(Subject::Ours).is_some() {
            text += &row(this.name, notes, |subject| match figure(subject) {
                Some(figure) => Shown::Figure(figure, (this.show)(figure)),
                None => Shown::Missing(this.missing.to_owned()),
            });
        }
    }
    text
}
