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

/// Memory, start time and size of one server.
#[derive(Clone, Debug, Default)]
pub(super) struct Weight {
    /// With the largest number of sessions.
    pub(super) memory: Memory,
    /// With each number of sessions.
    pub(super) growth: Vec<(u32, Memory)>,
    pub(super) stdio: Start,
    pub(super) http: Start,
    pub(super) program: u64,
    pub(super) crates: Option<usize>,
    pub(super) build: Option<f64>,
}

/// The paths, with the counts of each subject that supports them.
pub(super) type CountTable = Vec<(&'static Counted, BTreeMap<Subject, Counts>)>;

/// All measured values.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) machine: String,
    pub(super) groups: Vec<(Group, Vec<Cells>)>,
    pub(super) counts: CountTable,
    pub(super) weights: BTreeMap<Subject, Weight>,
    pub(super) clients: Vec<(&'static str, [Vec<Figures>; 3])>,
    /// Uses of the SDK, with the number of crates and its limit.
    pub(super) crates: Vec<(&'static str, usize, usize)>,
}

/// The median of all rounds, if there are any.
pub(super) fn median(cells: &Cells, subject: Subject, figure: fn(&Figures) -> f64) -> Option<f64> {
    match cells.get(&subject)? {
        Cell::Rounds(rounds) => Some(Spread::of(rounds.iter().map(figure)).median),
        Cell::Absent(_) => None,
    }
}
