//! The whole run: everything that is measured, in one go, and then written down.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use super::built::Built;
use super::clients::{self, WAYS};
use super::gate::{PATHS, Path as Counted};
use super::measure::{Cells, Figures, Load, Memory, Pace, Start};
use super::plan::{self, Group};
use super::valgrind::{self, Heap, Valgrind};
use super::who::{ALL, Who};
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

/// Exact counts of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) instructions: u64,
    pub(super) heap: Heap,
}

/// What one server weighs.
#[derive(Clone, Debug, Default)]
pub(super) struct Weight {
    /// With most sessions.
    pub(super) memory: Memory,
    /// With each number of them.
    pub(super) growth: Vec<(u32, Memory)>,
    pub(super) stdio: Start,
    pub(super) http: Start,
    pub(super) program: u64,
    pub(super) crates: Option<usize>,
    pub(super) build: Option<f64>,
}

/// Paths, and the counts of whoever can go them.
pub(super) type CountTable = Vec<(&'static Counted, BTreeMap<Who, Counts>)>;

/// Everything that was measured.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) machine: String,
    pub(super) groups: Vec<(Group, Vec<Cells>)>,
    pub(super) counts: CountTable,
    pub(super) weights: BTreeMap<Who, Weight>,
    pub(super) clients: Vec<(&'static str, [Vec<Figures>; 3])>,
    /// Uses of the SDK, how many crates each costs, and how many it may.
    pub(super) crates: Vec<(&'static str, usize, usize)>,
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
    for way in &WAYS {
        clients.push((way.name, clients::measure(&load, way)?));
    }
    let mut weights = BTreeMap::new();
    for who in ALL {
        weights.insert(who, weigh(root, &load, who, wanted)?);
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

fn weigh(root: &Path, load: &Load<'_>, who: Who, wanted: Wanted) -> Result<Weight, String> {
    let (sessions, starts) = match wanted.quick {
        true => (&SESSIONS[..2], 3),
        false => (&SESSIONS[..], STARTS),
    };
    let failed = |error: String| format!("{}: {error}", who.name());
    let mut growth = Vec::new();
    for count in sessions {
        growth.push((*count, load.memory(who, *count).map_err(failed)?));
    }
    let memory = growth.last().ok_or("no sessions are to be opened")?.1;
    let weight = Weight {
        memory,
        growth,
        stdio: load.start(who, "stdio", starts).map_err(failed)?,
        http: load.start(who, "http", starts).map_err(failed)?,
        program: size::stripped(&who.program(load.built))?,
        crates: size::crates(root, who)?,
        build: match wanted.build_time {
            true => size::build_time(root, who)?,
            false => None,
        },
    };
    say(&format!(
        "\n{}: {} KiB idle, {} bytes of program, first answer after {:.1} ms",
        who.name(),
        weight.memory.idle,
        weight.program,
        weight.stdio.answer_ms
    ));
    Ok(weight)
}

/// Instructions and allocations per call of everybody, where valgrind is there; the lists take peers too long.
fn counts(built: &Built, quick: bool) -> Result<CountTable, String> {
    if let Err(why) = valgrind::is_here() {
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
        for who in ALL.into_iter().filter(|who| who.args(&path.needs).is_ok()) {
            let heap = valgrind.heap(who, &brief)?;
            let instructions = valgrind.instructions(who, &brief)?;
            say(&format!(
                "  {}, {}: {instructions} instructions, {:.1} allocations",
                path.name,
                who.name(),
                heap.allocations
            ));
            row.insert(who, Counts { instructions, heap });
        }
        counts.push((path, row));
    }
    // Only its totals are of use.
    let _ = fs::remove_dir_all(folder);
    Ok(counts)
}
