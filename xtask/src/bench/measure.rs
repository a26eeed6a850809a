//! Runs the rows. In each round all servers take turns, so that other load on the machine affects all of them.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::built::Built;
use super::plan::{Group, Row};
use super::subject::{ALL, Subject};
use crate::programs::output_of;
use crate::steps::say;

/// Figures of calls, as `bench-load` prints them.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Figures {
    pub(super) calls: u64,
    pub(super) seconds: f64,
    pub(super) server_us: f64,
    pub(super) client_us: f64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

/// Figures of memory in KiB, as `bench-load` prints them.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Memory {
    pub(super) idle: u64,
    pub(super) session: Option<f64>,
    pub(super) connection: f64,
    pub(super) stream: Option<f64>,
}

/// Figures of starts, as `bench-load` prints them.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Start {
    pub(super) answer_ms: f64,
    pub(super) cpu_ms: f64,
}

/// The length of runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Measured time, in seconds.
    pub(super) time: f64,
    /// Warm-up time, in seconds.
    pub(super) warm: f64,
    /// The maximum number of rounds of a row.
    pub(super) rounds: usize,
}

impl Pace {
    pub(super) const FULL: Self = Self {
        time: 0.6,
        warm: 0.12,
        rounds: usize::MAX,
    };
    pub(super) const QUICK: Self = Self {
        time: 0.2,
        warm: 0.05,
        rounds: 1,
    };
}

/// One server in one row.
#[derive(Clone, Debug)]
pub(super) enum Cell {
    /// Every round.
    Rounds(Vec<Figures>),
    /// Not supported, with the reason.
    Absent(String),
}

/// A row, measured.
pub(super) type Cells = BTreeMap<Subject, Cell>;

/// The time limit of `bench-load`, which has shorter limits for its parts.
const LIMIT: Duration = Duration::from_secs(300);

/// The load.
#[derive(Debug)]
pub(super) struct Load<'a> {
    pub(super) built: &'a Built,
    pub(super) pace: Pace,
}

impl Load<'_> {
    /// All rows of a group.
    pub(super) fn group(&self, group: &Group) -> Result<Vec<Cells>, String> {
        say(&format!("\n{}", group.title));
        group.rows.iter().map(|row| self.row(row)).collect()
    }

    fn row(&self, row: &Row) -> Result<Cells, String> {
        let mut cells = Cells::new();
        for _ in 0..row.rounds.min(self.pace.rounds) {
            for subject in ALL {
                if matches!(cells.get(&subject), Some(Cell::Absent(_))) {
                    continue;
                }
                match (self.calls(subject, row), cells.get_mut(&subject)) {
                    (Ok(figures), Some(Cell::Rounds(rounds))) => rounds.push(figures),
                    (Ok(figures), _) => {
                        cells.insert(subject, Cell::Rounds(vec![figures]));
                    }
                    (Err(why), _) if subject > Subject::Ours => {
                        cells.insert(subject, Cell::Absent(reason(&why)));
                    }
                    (Err(why), _) => {
                        return Err(format!("{}, {}: {why}", subject.name(), row.name));
                    }
                }
            }
        }
        let brief = |(subject, cell): (&Subject, &Cell)| match cell {
            Cell::Rounds(rounds) => {
                let cpu = Spread::of(rounds.iter().map(|figures| figures.server_us));
                format!("{} {:.2} us", subject.name(), cpu.median)
            }
            Cell::Absent(why) => format!("{} n/a ({why})", subject.name()),
        };
        let cells_in_words: Vec<String> = cells.iter().map(brief).collect();
        say(&format!("  {}: {}", row.name, cells_in_words.join(", ")));
        Ok(cells)
    }

    fn calls(&self, subject: Subject, row: &Row) -> Result<Figures, String> {
        let args = subject.args(&row.needs)?;
        let mut command = self.load("calls", row.needs.wire);
        command
            .args(["--ask", &row.ask])
            .args(["--inflight", &row.inflight.to_string()])
            .args(["--beside", &row.beside.to_string()])
            .args(["--seconds", &self.pace.time.to_string()])
            .args(["--warm", &self.pace.warm.to_string()])
            .arg("--")
            .arg(subject.program(self.built))
            .args(args);
        let figures: Figures = read(&mut command)?;
        if figures.calls == 0 {
            return Err("no call got a response in time".to_owned());
        }
        Ok(figures)
    }

    /// The memory of a server over HTTP.
    pub(super) fn memory(&self, subject: Subject, sessions: u32) -> Result<Memory, String> {
        let mut command = self.load("memory", "http");
        command
            .args(["--inflight", &sessions.to_string()])
            .arg("--")
            .arg(subject.program(self.built))
            .args(["--http", "127.0.0.1:0"]);
        read(&mut command)
    }

    /// How long a server takes to start.
    pub(super) fn start(
        &self,
        subject: Subject,
        wire: &'static str,
        times: u32,
    ) -> Result<Start, String> {
        let mut command = self.load("start", wire);
        let how = match wire {
            "stdio" => &["--stdio"][..],
            _ => &["--http", "127.0.0.1:0"],
        };
        command
            .args(["--calls", &times.to_string()])
            .arg("--")
            .arg(subject.program(self.built))
            .args(how);
        read(&mut command)
    }

    fn load(&self, what: &str, wire: &str) -> Command {
        let mut command = Command::new(self.built.program("bench-load"));
        command.args([what, "--wire", wire]);
        command
    }
}

/// The last line of the error of a peer, without file names.
fn reason(why: &str) -> String {
    let last = why.lines().rfind(|line| !line.trim().is_empty());
    let text = last.unwrap_or_default().trim_start_matches("Error: ");
    let text = text.trim_matches('"').replace(['|', '\n'], " ");
    text.chars().take(160).collect()
}

/// Runs a program that prints one line of JSON.
pub(super) fn read<T: for<'de> Deserialize<'de>>(command: &mut Command) -> Result<T, String> {
    let said = output_of(command, LIMIT)?;
    serde_json::from_str(&said).map_err(|error| format!("{error}: {said}"))
}

/// Median, minimum and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub(super) least: f64,
    pub(super) median: f64,
    pub(super) most: f64,
}

impl Spread {
    /// The spread of these values; all zero if there are none.
    pub(super) fn of(figures: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = figures.collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            1 => sorted[middle],
            _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
        };
        Self {
            least: *least,
            median,
            most: *most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_the_last_line() {
        let why = "/a/b/bench-load ended with 1\nError: \"406: not | acceptable\"\n\n";
        assert_eq!(reason(why), "406: not   acceptable");
        assert_eq!(reason("it has none"), "it has none");
    }

    #[test]
    fn the_median_of_values_is_computed() {
        let spread = Spread::of([3.0, 1.0, 2.0].into_iter());
        assert_eq!((spread.least, spread.median, spread.most), (1.0, 2.0, 3.0));
        assert_eq!(Spread::of([1.0, 2.0].into_iter()).median, 1.5);
        assert_eq!(Spread::of(std::iter::empty()), Spread::default());
    }
}
