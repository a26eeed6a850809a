//! The whole run: everything that is measured, in one go, and then written down.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use super::built::Built;
use super::clients::{self, CALL_PATHS};
use super::gate::PATHS;
use super::measure::{Load, Pace};
use super::plan;
use super::results::{CountTable, Counts, Results, Weight};
use super::subject::{ALL, Subject};
use super::valgrind::{self, Valgrind};
use super::{budgets, machine, page, plot, size};
use crate::programs::target;
use crate::steps::say;
use crate::tidy;

/// Where the page and its pictures are, below `docs`.
const PAGE: &str = "benchmarks.md";
const PLOTS: [&str; 2] = ["plots/cost.svg", "plots/scaling.svg"];

/// Sessions that are opened to see what one takes.
const SESSIONS: [u32; 3] = [10, 100, 1_000];
/// Starts of which the median is taken.
const STARTS: u32 = 21;

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// A short run, whose figures are too rough to be kept.
    pub(super) quick: bool,
    /// Whether servers are also built from nothing.
    pub(super) build_time: bool,
}

/// Builds, measures, writes.
pub(super) fn run(root: &Path, wanted: Wanted) -> Result<(), String> {
    let built = Built::all(root)?;
    let start = Instant::now();
    let pace = match wanted.quick {
        true => Pace::QUICK,
        false => Pace::FULL,
    };
    let load = Load {
        built: &built,
        pace,
    };
    let mut groups = Vec::new();
    for group in plan::groups() {
        let cells = load.group(&group)?;
        groups.push((group, cells));
    }
    say("\nClients");
    let mut clients = Vec::new();
    for path in &CALL_PATHS {
        clients.push((path.name, clients::measure(&load, path)?));
    }
    let mut weights = BTreeMap::new();
    for subject in ALL {
        weights.insert(subject, weigh(root, &load, subject, wanted)?);
    }
    let results = Results {
        machine: machine::class(),
        groups,
        counts: counts(&built, wanted.quick)?,
        weights,
        clients,
        crates: tidy::crates(root)?,
    };
    for word in budgets::unexplained(&budgets::rows(&results)) {
        say(&word);
    }
    let minutes = start.elapsed().as_secs_f64() / 60.0;
    let page = page::page(&results);
    let docs = match wanted.quick {
        true => target().join("bench/quick"),
        false => root.join("docs"),
    };
    write(&docs, PAGE, &page)?;
    write(&docs, PLOTS[0], &plot::cost(&results))?;
    write(&docs, PLOTS[1], &plot::scaling(&results))?;
    if wanted.quick {
        say(&page);
    }
    say(&format!(
        "\n{minutes:.1} minutes; the page is in {}",
        docs.display()
    ));
    Ok(())
}

fn write(docs: &Path, place: &str, text: &str) -> Result<(), String> {
    let path = docs.join(place);
    let failed = |error: std::io::Error| format!("{place}: {error}");
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}

fn weigh(root: &Path, load: &Load<'_>, subject: Subject, wanted: Wanted) -> Result<Weight, String> {
    let (sessions, starts) = match wanted.quick {
        true => (&SESSIONS[..2], 3),
        false => (&SESSIONS[..], STARTS),
    };
    let failed = |error: String| format!("{}: {error}", subject.name());
    let mut growth = Vec::new();
    for count in sessions {
        growth.push((*count, load.memory(subject, *count).map_err(failed)?));
    }
    let memory = growth.last().ok_or("no sessions are to be opened")?.1;
    let weight = Weight {
        memory,
        growth,
        stdio: load.start(subject, "stdio", starts).map_err(failed)?,
        http: load.start(subject, "http", starts).map_err(failed)?,
        program: size::stripped(&subject.program(load.built))?,
        crates: size::crates(root, subject)?,
        build: match wanted.build_time {
            true => size::build_time(root, subject)?,
            false => None,
        },
    };
    say(&format!(
        "\n{}: {} KiB idle, {} bytes of program, first answer after {:.1} ms",
        subject.name(),
        weight.memory.idle,
        weight.program,
        weight.stdio.answer_ms
    ));
    Ok(weight)
}

/// Instructions and allocations per call of everybody, where valgrind is there; the lists take peers too long.
fn counts(built: &Built, quick: bool) -> Result<CountTable, String> {
    if let Err(why) = valgrind::check_installed() {
        say(&why);
        return Ok(Vec::new());
    }
    let paths = PATHS.iter().filter(|path| path.ask == "echo:64");
    let paths = paths.take(if quick { 1 } else { PATHS.len() });
    let folder = target().join("bench/valgrind");
    let valgrind = Valgrind::new(built, folder.clone())?;
    let mut counts = Vec::new();
    for path in paths {
        let brief = path.brief();
        let mut row = BTreeMap::new();
        for subject in ALL
            .into_iter()
            .filter(|subject| subject.args(&path.needs).is_ok())
        {
            let heap = valgrind.heap(subject, &brief)?;
            let instructions = valgrind.instructions(subject, &brief)?;
            say(&format!(
                "  {}, {}: {instructions} instructions, {:.1} allocations",
                path.name,
                subject.name(),
                heap.allocations
            ));
            row.insert(subject, Counts { instructions, heap });
        }
        counts.push((path, row));
    }
    // Only its totals are of use.
    let _ = fs::remove_dir_all(folder);
    Ok(counts)
}
