//! What the server did, line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Effects by the name of the call, in order: the step, and the process that did it.
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

    /// Steps beyond the first time.
    pub(super) fn repeated(&self) -> usize {
        let of_one = |marks: &Vec<(u32, String)>| {
            let steps: BTreeSet<u32> = marks.iter().map(|(step, _)| *step).collect();
            marks.len() - steps.len()
        };
        self.0.values().map(of_one).sum()
    }

    /// What holds for every call, whatever came of it: no process does a step twice, nothing that cannot be run again
    /// is, and once a step has begun, those before it are never done again.
    pub(super) fn check(&self, name: &str) -> Result<(), &'static str> {
        let marks = self.of(name);
        let distinct: BTreeSet<_> = marks.iter().collect();
        if distinct.len() != marks.len() {
            return Err("a process did a step twice");
        }
        if marks.iter().filter(|(step, _)| *step == 0).count() > 1 {
            return Err("what cannot be run again was");
        }
        if !marks.is_sorted_by_key(|(step, _)| *step) {
            return Err("a step was done again after the next had begun");
        }
        Ok(())
    }

    /// Whether a result names, for each step, the process that did it last: what was kept is what was done.
    pub(super) fn fit(&self, name: &str, processes: &[&str]) -> Result<(), &'static str> {
        let mut last = BTreeMap::new();
        for (step, process) in self.of(name) {
            last.insert(*step, process.as_str());
        }
        if !(last.values().eq(processes) && matches!(processes.len(), 1 | 5)) {
            return Err("the result is not what was done");
        }
        Ok(())
    }
}
