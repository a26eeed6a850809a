//! Counts of instructions and allocations, which do not depend on a clock.
//!
//! A server runs twice, with few and with many calls. The difference is the cost of the calls: start and end of the
//! process cancel out.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::subject::{Programs, Subject};
use super::workloads::Workload;
use crate::programs::{SHORT, output_of, run};

/// Time limit of one run; programs are some fifty times slower than without valgrind.
const LIMIT: Duration = Duration::from_secs(300);

/// Number of calls: of the first run, and how many more the second makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) few: u32,
    pub(super) more: u32,
}

impl Span {
    /// The span of counts that are not gates: peers are ten times as slow.
    pub(super) const BRIEF: Self = Self { few: 64, more: 320 };

    /// The span of a gate.
    pub(super) fn of(gate: &Workload) -> Self {
        match gate.ask.starts_with("list") {
            true => Self { few: 20, more: 100 },
            false => Self {
                few: 208,
                more: 1_008,
            },
        }
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

/// Counts instructions and allocations of servers.
#[derive(Debug)]
pub(super) struct Valgrind<'a> {
    programs: &'a Programs,
    folder: PathBuf,
}

/// Returns an error if valgrind is not installed.
pub(super) fn check_installed() -> Result<(), String> {
    let version = output_of(Command::new("valgrind").arg("--version"), SHORT);
    version.map(|_| ()).map_err(|error| {
        format!(
            "valgrind counts the instructions, but it is not installed ({error}); install the package `valgrind`"
        )
    })
}

impl<'a> Valgrind<'a> {
    /// Leaves its files in this folder.
    pub(super) fn new(programs: &'a Programs, folder: PathBuf) -> Result<Self, String> {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { programs, folder })
    }

    /// The counts of a tool per call. The lowest totals of the rounds of each run are used.
    pub(super) fn per_call(
        &self,
        tool: &Tool,
        subject: Subject,
        gate: &Workload,
        span: Span,
        rounds: usize,
    ) -> Result<[f64; 2], String> {
        let mut totals = [[u64::MAX; 2]; 2];
        for (lowest, calls) in totals.iter_mut().zip([span.few, span.few + span.more]) {
            for _ in 0..rounds {
                let found = self.run(tool, subject, gate, calls);
                let found =
                    found.map_err(|error| format!("{}, {}: {error}", subject.name(), gate.name))?;
                *lowest = [lowest[0].min(found[0]), lowest[1].min(found[1])];
            }
        }
        let [few, many] = totals;
        if many[0] < few[0] {
            return Err(format!(
                "{}: the run with more calls has the smaller count",
                gate.name
            ));
        }
        let difference = |total: usize| many[total] as f64 - few[total] as f64;
        Ok([0, 1].map(|total| difference(total) / f64::from(span.more)))
    }

    /// The totals of one run.
    fn run(
        &self,
        tool: &Tool,
        subject: Subject,
        gate: &Workload,
        calls: u32,
    ) -> Result<[u64; 2], String> {
        let name = format!(
            "{}.{}.{calls}.{}",
            gate.name,
            subject.program(),
            tool.extension
        );
        let file = self.folder.join(name);
        let output = format!("{}={}", tool.output, file.display());
        let options = format!("calls --batch --inflight {} --calls {calls}", gate.calls);
        let wrapper = [tool.words, &[&output]].concat();
        let mut command = self.programs.load(subject, gate, &options, &wrapper)?;
        // One worker: with more, the number of wake-ups differs from run to run.
        command.env("TOKIO_WORKER_THREADS", "1");
        run(&mut command, LIMIT, |_| {})?;
        let failed = |error: &str| format!("{}: {error}", file.display());
        let text = fs::read_to_string(&file).map_err(|error| failed(&error.to_string()))?;
        (tool.totals)(&text).ok_or_else(|| failed("valgrind wrote no total"))
    }
}

/// The total of a callgrind file: the sum over the parts of the run.
fn instructions(text: &str) -> Option<[u64; 2]> {
    let totals = text.lines().filter_map(|line| line.strip_prefix("totals:"));
    let totals: Option<Vec<u64>> = totals.map(|total| total.trim().parse().ok()).collect();
    let totals = totals.filter(|all| !all.is_empty())?;
    Some([totals.iter().sum(), 0])
}

/// Allocations and their bytes, as memcheck logs them at the end.
fn allocations(text: &str) -> Option<[u64; 2]> {
    let usage = text.split_once("total heap usage:")?.1;
    let number = |unit: &str| {
        let before = usage.split(unit).next()?;
        let digits = before.trim_end().rsplit(' ').next()?;
        digits.replace(',', "").parse().ok()
    };
    Some([number("allocs")?, number("bytes")?])
}

#[cfg(test)]
mod tests {
    use super::super::workloads::Workloads;
    use super::*;

    #[test]
    fn every_run_ends_with_a_whole_batch() {
        for gate in Workloads::load().gates {
            for span in [Span::of(&gate), Span::BRIEF] {
                assert_eq!(span.few % gate.calls, 0, "{}", gate.name);
                assert_eq!(span.more % gate.calls, 0, "{}", gate.name);
            }
        }
    }

    #[test]
    fn totals_are_found_and_summed() {
        let part =
            |total: &str| format!("events: Ir\nsummary: 1\nfn=(1) main\n3 40\n\ntotals: {total}\n");
        assert_eq!(instructions(&part("123456")), Some([123_456, 0]));
        assert_eq!(instructions(&(part("5") + &part("6"))), Some([11, 0]));
        assert_eq!(instructions("events: Ir\n"), None);
        assert_eq!(instructions("totals: many\n"), None);
    }

    #[test]
    fn the_heap_usage_is_read_from_the_log() {
        let log = "==7== HEAP SUMMARY:\n==7==     in use at exit: 9 bytes in 1 blocks\n==7==   total heap usage: 3,456 allocs, 3,400 frees, 1,345,678 bytes allocated\n";
        assert_eq!(allocations(log), Some([3_456, 1_345_678]));
        assert_eq!(allocations("==7== HEAP SUMMARY:\n"), None);
    }
}
