//! The log of side effects that the server writes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The side effects of each call by its name, in order: the step, and the process that ran it.
pub(super) struct Marks(BTreeMap<String, Vec<(u32, String)>>);

impl Marks {
    pub(super) fn read(file: &Path) -> Self {
        let mut marks = BTreeMap::<_, Vec<_>>::new();
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let mut words = line.split(' ');
            let [name, step, process] = [(); 3].map(|()| words.next().unwrap().to_owned());
            let of_name = marks.entry(name).or_default();
            of_name.push((step.parse().unwrap(), process));
        }
        Self(marks)
    }

    pub(super) fn of(&self, name: &str) -> &[(u32, String)] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns how many steps ran again.
    pub(super) fn repeated(&self) -> usize {
        let of_one = |marks: &Vec<(u32, String)>| {
            let steps: BTreeSet<u32> = marks.iter().map(|(step, _)| *step).collect();
            marks.len() - steps.len()
        };
        self.0.values().map(of_one).sum()
    }

    /// Checks what holds for every call, whatever its outcome: no process runs a step twice, a tool that cannot be
    /// run again runs once, and no step runs again after a later step has begun.
    pub(super) fn check(&self, name: &str) -> Result<(), &'static str> {
        let marks = self.of(name);
        let distinct: BTreeSet<_> = marks.iter().collect();
        if distinct.len() != marks.len() {
            return Err("a process ran a step twice");
        }
        if marks.iter().filter(|(step, _)| *step == 0).count() > 1 {
            return Err("a tool that cannot be run again ran twice");
        }
        if !marks.is_sorted_by_key(|(step, _)| *step) {
            return Err("a step ran again after a later one had begun");
        }
        Ok(())
    }

    /// Checks that a result names, for each step, the process that ran it last.
    pub(super) fn check_result(&self, name: &str, processes: &[&str]) -> Result<(), &'static str> {
        let mut last = BTreeMap::new();
        for (step, process) in self.of(name) {
            last.insert(*step, process.as_str());
        }
        if !(last.values().eq(processes) && matches!(processes.len(), 1 | 5)) {
            return Err("the result differs from the logged side effects");
        }
        Ok(())
    }
}
