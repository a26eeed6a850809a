//! Counts of instructions and allocations, which do not depend on a clock.
//!
//! A server runs twice, with few and with many calls. The difference is the cost of the calls: start and end of the
//! process cancel out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::built::Built;
use super::gate::Path as Counted;
use super::subject::Subject;
use crate::programs::{SHORT, output_of, run};

/// How long one run may take; a program is some fifty times slower than alone.
const LIMIT: Duration = Duration::from_secs(300);

/// Counts instructions and allocations of servers.
#[derive(Debug)]
pub(super) struct Valgrind<'a> {
    built: &'a Built,
    folder: PathBuf,
}

/// Heap allocations of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Heap {
    pub(super) allocations: f64,
    pub(super) bytes: f64,
}

/// Returns an error if valgrind is not installed.
pub(super) fn check_installed() -> Result<(), String> {
    output_of(Command::new("valgrind").arg("--version"), SHORT)
        .map(|_| ())
        .map_err(|error| {
            format!(
                "valgrind counts the instructions, but it is not installed ({error}); install the package `valgrind`"
            )
        })
}

impl<'a> Valgrind<'a> {
    /// Leaves its files in this folder.
    pub(super) fn new(built: &'a Built, folder: PathBuf) -> Result<Self, String> {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { built, folder })
    }

    /// Instructions per call.
    pub(super) fn instructions(&self, subject: Subject, path: &Counted) -> Result<u64, String> {
        let once = |calls| {
            let file = self.file(subject, path, calls);
            let out = format!("--callgrind-out-file={}", file.display());
            self.run(subject, path, calls, &["--tool=callgrind", &out])?;
            read(&file, totals)
        };
        let total = |calls| {
            (1..path.rounds).try_fold(once(calls)?, |least, _| {
                Ok::<_, String>(least.min(once(calls)?))
            })
        };
        let more = difference(total(path.few)?, total(path.few + path.more)?)?;
        Ok((more as f64 / f64::from(path.more)).round() as u64)
    }

    /// Allocations per call.
    pub(super) fn heap(&self, subject: Subject, path: &Counted) -> Result<Heap, String> {
        let total = |calls| {
            let file = self.file(subject, path, calls).with_extension("heap");
            let log = format!("--log-file={}", file.display());
            let words = ["--tool=memcheck", "--leak-check=no", &log];
            self.run(subject, path, calls, &words)?;
            read(&file, heap)
        };
        let (few, many) = (total(path.few)?, total(path.few + path.more)?);
        let per_call =
            |few, many| Ok::<_, String>(difference(few, many)? as f64 / f64::from(path.more));
        Ok(Heap {
            allocations: per_call(few.0, many.0)?,
            bytes: per_call(few.1, many.1)?,
        })
    }

    fn file(&self, subject: Subject, path: &Counted, calls: u32) -> PathBuf {
        self.folder
            .join(format!("{}.{}.{calls}.out", path.name, subject.short()))
    }

    fn run(
        &self,
        subject: Subject,
        path: &Counted,
        calls: u32,
        tool: &[&str],
    ) -> Result<(), String> {
        let mut command = Command::new(self.built.program("bench-load"));
        command
            .arg("calls")
            .args(["--wire", path.needs.wire, "--ask", path.ask, "--batch"])
            .args(["--inflight", &path.batch.to_string()])
            .args(["--calls", &calls.to_string()])
            .args(["--", "valgrind"])
            .args(tool)
            .arg(subject.program(self.built))
            .args(subject.args(&path.needs)?)
            // One worker: with more, the number of wake-ups differs from run to run.
            .env("TOKIO_WORKER_THREADS", "1");
        run(&mut command, LIMIT, |_| {})
            .map_err(|error| format!("{}, {}: {error}", subject.name(), path.name))
    }
}

fn difference(few: u64, many: u64) -> Result<u64, String> {
    many.checked_sub(few)
        .ok_or_else(|| "the run with more calls has the smaller count".to_owned())
}

fn read<T>(file: &Path, total: fn(&str) -> Option<T>) -> Result<T, String> {
    let failed = |error: &str| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| failed(&error.to_string()))?;
    total(&text).ok_or_else(|| failed("valgrind wrote no total"))
}

/// The total of a file that callgrind wrote; several, if a run has several parts.
fn totals(text: &str) -> Option<u64> {
    let mut totals = text
        .lines()
        .filter_map(|line| line.strip_prefix("totals:"))
        .map(|number| number.trim().parse::<u64>().ok())
        .peekable();
    totals.peek()?;
    totals.sum()
}

/// Allocations and their bytes, as memcheck logs them at the end.
fn heap(text: &str) -> Option<(u64, u64)> {
    let line = text
        .lines()
        .find_map(|line| line.split_once("total heap usage:"))?
        .1;
    let number = |unit: &str| {
        let before = line.split(unit).next()?;
        let digits = before.trim_end().rsplit(' ').next()?;
        digits.replace(',', "").parse().ok()
    };
    Some((number("allocs")?, number("bytes")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_found_and_summed() {
        let part =
            |total: &str| format!("events: Ir\nsummary: 1\nfn=(1) main\n3 40\n\ntotals: {total}\n");
        assert_eq!(totals(&part("123456")), Some(123_456));
        assert_eq!(totals(&(part("5") + &part("6"))), Some(11));
        assert_eq!(totals("events: Ir\n"), None);
        assert_eq!(totals("totals: many\n"), None);
    }

    #[test]
    fn the_heap_usage_is_read_from_the_log() {
        let log = "==7== HEAP SUMMARY:\n==7==     in use at exit: 9 bytes in 1 blocks\n==7==   total heap usage: 3,456 allocs, 3,400 frees, 1,345,678 bytes allocated\n";
        assert_eq!(heap(log), Some((3_456, 1_345_678)));
        assert_eq!(heap("==7== HEAP SUMMARY:\n"), None);
    }
}
