//! Everything that a run measures.

use std::collections::BTreeMap;

use super::gate::Path as Counted;
use super::measure::{Cell, Cells, Figures, Memory, Spread, Start};
use super::plan::Group;
use super::subject::Subject;
use super::valgrind::Heap;

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
pub(super) type CountTable = Vec<(&'static Counted, BTreeMap<Subject, Counts>)>;

/// Everything that was measured.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) machine: String,
    pub(super) groups: Vec<(Group, Vec<Cells>)>,
    pub(super) counts: CountTable,
    pub(super) weights: BTreeMap<Subject, Weight>,
    pub(super) clients: Vec<(&'static str, [Vec<Figures>; 3])>,
    /// Uses of the SDK, how many crates each costs, and how many it may.
    pub(super) crates: Vec<(&'static str, usize, usize)>,
}

/// The middle of all rounds, where there are any.
pub(super) fn median(cells: &Cells, subject: Subject, figure: fn(&Figures) -> f64) -> Option<f64> {
    match cells.get(&subject)? {
        Cell::Rounds(rounds) => Some(Spread::of(rounds.iter().map(figure)).median),
        Cell::Absent(_) => None,
    }
}
