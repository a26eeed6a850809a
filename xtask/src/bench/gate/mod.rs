//! `--gate`: instructions per call, counted by callgrind.
//!
//! Counts of the same program differ by less than 0.1 % from run to run, and those of different compilers by little. A
//! count may differ by 2 % from the recorded one.

mod allocations;
mod file;
mod paths;

use std::fs;
use std::path::{Path as FilePath, PathBuf};

use super::built::Built;
use super::subject::Subject;
use super::valgrind::{self, Valgrind};
use crate::programs::target;
use crate::steps::say;
use file::{Entry, Gates};

pub(super) use paths::{PATHS, Path};

/// The arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    bless: bool,
    only: Vec<String>,
    keep: Option<PathBuf>,
}

impl Options {
    /// `None` if an argument is unknown.
    pub(super) fn parse(args: &[String]) -> Option<Self> {
        let mut this = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--bless" => this.bless = true,
                "--only" => this.only.push(args.next()?.clone()),
                "--keep" => this.keep = Some(args.next()?.into()),
                _ => return None,
            }
        }
        Some(this)
    }

    fn paths(&self) -> Result<Vec<&'static Path>, String> {
        let known = || PATHS.iter().map(|path| path.name).collect::<Vec<_>>();
        if let Some(stranger) = self.only.iter().find(|name| !known().contains(&&***name)) {
            return Err(format!(
                "unknown gate {stranger}; use one of {}",
                known().join(", ")
            ));
        }
        let wanted =
            |path: &&Path| self.only.is_empty() || self.only.iter().any(|n| n == path.name);
        Ok(PATHS.iter().filter(wanted).collect())
    }
}

/// Counts, compares, and with `--bless` writes the counts.
pub(super) fn run(root: &FilePath, options: &Options) -> Result<(), String> {
    let paths = options.paths()?;
    valgrind::check_installed()?;
    let built = Built::own(root)?;
    let folder = match &options.keep {
        Some(folder) => root.join(folder),
        None => target().join("bench/callgrind"),
    };
    let counter = Valgrind::new(&built, folder.clone())?;
    let mut gates = Gates::load(root)?;
    if options.bless && options.only.is_empty() {
        for (name, count) in allocations::count(root)? {
            gates.entry(&name).allocations = Some(count);
        }
    }
    let mut problems = Vec::new();
    say(HEAD);
    for path in paths {
        let baseline = counter.instructions(Subject::Baseline, path)?;
        let ours = counter.instructions(Subject::Ours, path)?;
        let entry = gates.entry(path.name);
        let before = *entry;
        (entry.instructions, entry.baseline) = (ours, baseline);
        say(&line(path.name, entry, &before));
        problems.extend(judge(path.name, entry, &before, options.bless));
    }
    if options.keep.is_none() {
        // The next run would overwrite the files.
        let _ = fs::remove_dir_all(folder);
    }
    if options.bless {
        gates.save(root)?;
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(problems.join("\n"))
}

const HEAD: &str = "\
gate                 instructions     before      baseline  x baseline     budget
-------------------  ------------  ---------  ---------  -------  ---------";

fn line(name: &str, now: &Entry, before: &Entry) -> String {
    let ratio = now.instructions as f64 / now.baseline.max(1) as f64;
    let budget = now.most().map_or("-".to_owned(), |most| most.to_string());
    format!(
        "{name:<19}  {:>12}  {:>9}  {:>9}  {ratio:>7.2}  {budget:>9}",
        now.instructions, before.instructions, now.baseline
    )
}

/// The allowed difference, in percent.
const TOLERANCE: u64 = 2;

/// Allowed difference of allocations: a buffer may grow once during hundreds of calls.
const ONCE: f64 = 0.05;

/// The problems of a count.
fn judge(name: &str, now: &Entry, before: &Entry, blessed: bool) -> Vec<String> {
    let mut problems = Vec::new();
    let figures = [
        ("", now.instructions, before.instructions),
        (", the baseline", now.baseline, before.baseline),
    ];
    for (what, now, before) in figures {
        if !blessed && now.abs_diff(before) * 100 > before * TOLERANCE {
            let way = if now > before { "more" } else { "less" };
            problems.push(format!(
                "{name}{what}: {now} instructions per call, {way} than the {before} in {}; if this is intended, run `cargo xtask bench --gate --bless --only {name}`",
                file::PLACE
            ));
        }
    }
    if let Some(most) = now.most().filter(|most| now.instructions > *most) {
        problems.push(format!(
            "{name}: {} instructions per call exceed the budget of {most}",
            now.instructions
        ));
    }
    if let (Some(count), Some(most)) = (now.allocations, now.allocations_budget)
        && count > most + ONCE
    {
        problems.push(format!(
            "{name}: {count} allocations per call exceed the budget of {most}"
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(instructions: u64, budget: Option<u64>) -> Entry {
        Entry {
            instructions,
            baseline: 5_000,
            budget,
            ..Entry::default()
        }
    }

    #[test]
    fn a_count_that_differs_in_either_direction_is_a_problem() {
        let before = entry(10_000, None);
        for (now, closed) in [
            (10_200, false),
            (10_201, true),
            (9_800, false),
            (9_700, true),
        ] {
            let problems = judge("stdio", &entry(now, None), &before, false);
            assert_eq!(!problems.is_empty(), closed, "{now}: {problems:?}");
        }
        assert!(judge("stdio", &entry(1, None), &before, true).is_empty());
    }

    #[test]
    fn a_budget_is_checked_also_with_bless() {
        let before = entry(9_000, Some(8_500));
        let problems = judge("stdio", &entry(9_000, Some(8_500)), &before, true);
        assert_eq!(
            problems,
            ["stdio: 9000 instructions per call exceed the budget of 8500"]
        );
        assert!(judge("stdio", &entry(8_500, Some(8_500)), &before, true).is_empty());
    }

    #[test]
    fn arguments_are_read_and_unknown_gates_rejected() {
        let words = |line: &str| -> Vec<String> { line.split(' ').map(str::to_owned).collect() };
        let options = Options::parse(&words("--only http-modern --keep a --bless")).unwrap();
        assert!(options.bless && options.keep.is_some());
        assert_eq!(options.paths().unwrap().len(), 1);
        assert_eq!(Options::parse(&words("--onyl http")), None);
        let none = Options::parse(&words("--only telepathy")).unwrap();
        assert!(none.paths().unwrap_err().contains("stdio"));
    }
}
