//! Counts of instructions and allocations, which do not depend on a clock.
//!
//! A server runs twice, with few and with many calls. The difference is the cost of the calls: start and end of the
//! process cancel out.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::subject::{Subject, load};
use super::workloads::Workload;
use crate::programs::{SHORT, output_of, program, run, target};
use crate::workspace::{At as _, Result, root};

/// Time limit of one run; programs are some fifty times slower than without valgrind.
const LIMIT: Duration = Duration::from_secs(300);

/// Number of calls: of the first run, and how many more the second makes.
pub(super) type Span = [u32; 2];

/// The span of counts that are not gates: peers are ten times as slow.
pub(super) const BRIEF: Span = [64, 320];

pub(super) fn span(gate: &Workload) -> Span {
    match gate.ask.starts_with("list") {
        true => [20, 100],
        false => [208, 1_008],
    }
}

/// A tool of valgrind, with the option for its output and two totals in it.
#[derive(Debug)]
pub(super) struct Tool {
    words: &'static [&'static str],
    output: &'static str,
    extension: &'static str,
    totals: fn(&str) -> Option<[u64; 2]>,
}

/// Counts instructions; there is no second total.
pub(super) const CALLGRIND: Tool = Tool {
    words: &["valgrind", "--tool=callgrind"],
    output: "--callgrind-out-file",
    extension: "out",
    totals: instructions,
};

/// Counts allocations and their bytes.
pub(super) const MEMCHECK: Tool = Tool {
    words: &["valgrind", "--tool=memcheck", "--leak-check=no"],
    output: "--log-file",
    extension: "heap",
    totals: allocations,
};

#[derive(Debug)]
pub(super) struct Valgrind {
    /// The folder of its files. The next run overwrites them.
    folder: PathBuf,
}

pub(super) fn check_installed() -> Result {
    let version = output_of(&mut program("valgrind", "--version"), SHORT);
    version.map(drop).at(
        "valgrind counts the instructions, but it is not installed; install the package `valgrind`",
    )
}

impl Valgrind {
    pub(super) fn new(keep: Option<String>) -> Result<Self> {
        let folder = keep.map_or_else(|| target().join("bench/valgrind"), |keep| root().join(keep));
        fs::create_dir_all(&folder).at(folder.display())?;
        Ok(Self { folder })
    }

    /// The counts of a tool per call. The lowest totals of the gate's rounds of each run are used.
    pub(super) fn per_call(
        &self,
        tool: &Tool,
        subject: Subject,
        gate: &Workload,
        [few, more]: Span,
    ) -> Result<[f64; 2]> {
        let name = format!("{}.{}", gate.name, subject.program());
        let rounds = gate.rounds.unwrap_or(1);
        self.difference(tool, &name, rounds, [few, more], |calls, wrapper| {
            let options = format!("calls --batch --inflight {} --calls {calls}", gate.calls);
            Ok(load(subject, gate, &options, wrapper)?)
        })
    }

    /// The counts of a tool per call of any command, which `command` returns for a number of calls and for the words that
    /// start the tool.
    pub(super) fn difference(
        &self,
        tool: &Tool,
        name: &str,
        rounds: usize,
        [few, more]: Span,
        command: impl Fn(u32, &[&str]) -> Result<Command>,
    ) -> Result<[f64; 2]> {
        let place = name.to_owned();
        let mut totals = [[u64::MAX; 2]; 2];
        for (lowest, calls) in totals.iter_mut().zip([few, few + more]) {
            for _ in 0..rounds {
                let found = self
                    .run(tool, &format!("{name}.{calls}"), |wrapper| {
                        command(calls, wrapper)
                    })
                    .at(&place)?;
                *lowest = [lowest[0].min(found[0]), lowest[1].min(found[1])];
            }
        }
        let [before, after] = totals;
        if after[0] < before[0] {
            return Err(format!("{place}: more calls have the smaller count"));
        }
        let difference = |total: usize| after[total] as f64 - before[total] as f64;
        Ok([0, 1].map(|total| difference(total) / f64::from(more)))
    }

    fn run(
        &self,
        tool: &Tool,
        name: &str,
        command: impl Fn(&[&str]) -> Result<Command>,
    ) -> Result<[u64; 2]> {
        let file = self.folder.join(format!("{name}.{}", tool.extension));
        let place = file.display();
        let output = format!("{}={place}", tool.output);
        let wrapper = [tool.words, &[&output]].concat();
        let mut command = command(&wrapper)?;
        // One worker: with more, the number of wake-ups differs from run to run.
        command.env("TOKIO_WORKER_THREADS", "1");
        run(&mut command, LIMIT, |_| {})?;
        let text = fs::read_to_string(&file).at(&place)?;
        (tool.totals)(&text).ok_or_else(|| format!("{place}: valgrind wrote no total"))
    }
}

/// The total of a callgrind file: the sum over the parts of the run.
pub(super) fn instructions(text: &str) -> Option<[u64; 2]> {
    let totals = text.lines().filter_map(|line| line.strip_prefix("totals:"));
    let totals: Option<Vec<u64>> = totals.map(|total| total.trim().parse().ok()).collect();
    let totals = totals.filter(|all| !all.is_empty())?;
    Some([totals.iter().sum(), 0])
}

/// Allocations and their bytes, as memcheck logs them at the end.
pub(super) fn allocations(text: &str) -> Option<[u64; 2]> {
    let usage = text.split_once("total heap usage:")?.1;
    let number = |unit: &str| {
        let before = usage.split(unit).next()?;
        let digits = before.trim_end().rsplit(' ').next()?;
        digits.replace(',', "").parse().ok()
    };
    Some([number("allocs")?, number("bytes")?])
}
