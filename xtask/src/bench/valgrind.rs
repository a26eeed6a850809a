//! Counts of instructions and allocations, which do not depend on a clock.
//!
//! A server runs twice, with few and with many calls. The difference is the cost of the calls: start and end of the
//! process cancel out.

use std::fs;
use std::path::{Path, PathBuf};
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

/// Exact counts per call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) instructions: u64,
    pub(super) allocations: f64,
    pub(super) bytes: f64,
}

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

    /// Instructions per call; the lowest count of the rounds of each run is used.
    pub(super) fn instructions(
        &self,
        subject: Subject,
        gate: &Workload,
        span: Span,
        rounds: usize,
    ) -> Result<u64, String> {
        let mut totals = [u64::MAX; 2];
        for (total, calls) in totals.iter_mut().zip([span.few, span.few + span.more]) {
            for _ in 0..rounds {
                let file = self.file(subject, gate, calls, "out");
                let out = format!("--callgrind-out-file={}", file.display());
                self.run(subject, gate, calls, &["--tool=callgrind", &out])?;
                *total = (*total).min(read(&file, callgrind_total)?);
            }
        }
        Ok(per_call(totals, span)?.round() as u64)
    }

    /// Instructions and allocations per call.
    pub(super) fn counts(
        &self,
        subject: Subject,
        gate: &Workload,
        span: Span,
    ) -> Result<Counts, String> {
        let total = |calls| {
            let file = self.file(subject, gate, calls, "heap");
            let log = format!("--log-file={}", file.display());
            self.run(
                subject,
                gate,
                calls,
                &["--tool=memcheck", "--leak-check=no", &log],
            )?;
            read(&file, heap_total)
        };
        let (few, many) = (total(span.few)?, total(span.few + span.more)?);
        Ok(Counts {
            instructions: self.instructions(subject, gate, span, 1)?,
            allocations: per_call([few.0, many.0], span)?,
            bytes: per_call([few.1, many.1], span)?,
        })
    }

    fn file(&self, subject: Subject, gate: &Workload, calls: u32, extension: &str) -> PathBuf {
        let (gate, program) = (&gate.name, subject.program());
        self.folder
            .join(format!("{gate}.{program}.{calls}.{extension}"))
    }

    fn run(
        &self,
        subject: Subject,
        gate: &Workload,
        calls: u32,
        tool: &[&str],
    ) -> Result<(), String> {
        let options = format!("calls --batch --inflight {} --calls {calls}", gate.calls);
        let wrapper = [&["valgrind"], tool].concat();
        let mut command = self.programs.load(subject, gate, &options, &wrapper)?;
        // One worker: with more, the number of wake-ups differs from run to run.
        command.env("TOKIO_WORKER_THREADS", "1");
        run(&mut command, LIMIT, |_| {})
            .map_err(|error| format!("{}, {}: {error}", subject.name(), gate.name))
    }
}

fn per_call([few, many]: [u64; 2], span: Span) -> Result<f64, String> {
    let difference = many.checked_sub(few);
    let difference = difference.ok_or("the run with more calls has the smaller count")?;
    Ok(difference as f64 / f64::from(span.more))
}

fn read<T>(file: &Path, total: fn(&str) -> Option<T>) -> Result<T, String> {
    let failed = |error: &str| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| failed(&error.to_string()))?;
    total(&text).ok_or_else(|| failed("valgrind wrote no total"))
}

/// The total of a callgrind file: the sum over the parts of the run.
fn callgrind_total(text: &str) -> Option<u64> {
    let totals = text.lines().filter_map(|line| line.strip_prefix("totals:"));
    let totals: Option<Vec<u64>> = totals.map(|total| total.trim().parse().ok()).collect();
    totals
        .filter(|all| !all.is_empty())
        .map(|all| all.iter().sum())
}

/// Allocations and their bytes, as memcheck logs them at the end.
fn heap_total(text: &str) -> Option<(u64, u64)> {
    let usage = text.split_once("total heap usage:")?.1;
    let number = |unit: &str| {
        let before = usage.split(unit).next()?;
        let digits = before.trim_end().rsplit(' ').next()?;
        digits.replace(',', "").parse().ok()
    };
    Some((number("allocs")?, number("bytes")?))
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
        assert_eq!(callgrind_total(&part("123456")), Some(123_456));
        assert_eq!(callgrind_total(&(part("5") + &part("6"))), Some(11));
        assert_eq!(callgrind_total("events: Ir\n"), None);
        assert_eq!(callgrind_total("totals: many\n"), None);
    }

    #[test]
    fn the_heap_usage_is_read_from_the_log() {
        let log = "==7== HEAP SUMMARY:\n==7==     in use at exit: 9 bytes in 1 blocks\n==7==   total heap usage: 3,456 allocs, 3,400 frees, 1,345,678 bytes allocated\n";
        assert_eq!(heap_total(log), Some((3_456, 1_345_678)));
        assert_eq!(heap_total("==7== HEAP SUMMARY:\n"), None);
    }
}
