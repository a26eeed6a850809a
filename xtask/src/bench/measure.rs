//! Measures calls, clients and servers. In each round all servers take turns, so that other load on the machine affects
//! all of them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::results::{CPU, Figure, Figures, Results, short, spread, thousands};
use super::size::{crates, machine, stripped_size};
use super::subject::{ALL, Programs, Subject};
use super::valgrind::{self, Counts, Span, Valgrind};
use super::workloads::{Workload, Workloads};
use crate::programs::{Server, output_of, target};
use crate::steps::say;
use crate::tidy;

/// Time limit of `bench-load` and of clients, which have shorter limits for their parts.
const LIMIT: Duration = Duration::from_secs(300);
/// Rounds of a row at full length, unless the row says otherwise.
const ROUNDS: usize = 5;
/// Numbers of sessions for the memory of one.
const SESSIONS: [u32; 3] = [10, 100, 1_000];

/// The rows about memory, start time and size.
pub(super) const WEIGHTS: [&str; 9] = [
    "resident memory at rest, KiB",
    "more for each open connection after a call, KiB",
    "more for each session, KiB",
    "more for each session with its stream and connection, KiB",
    "start to first answer over stdio, ms",
    "start to first answer over HTTP, ms",
    "CPU until then, ms",
    "program, stripped, MB",
    "crates in the tree, both transports",
];

/// Figures of calls, as `bench-load` and the clients print them.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Round {
    calls: u64,
    seconds: f64,
    server_us: f64,
    client_us: f64,
    p50_us: f64,
    p99_us: f64,
}

/// The rounds of each subject in one row, or the reason why it has none.
type Rounds = [Result<Vec<Round>, String>; ALL.len()];

/// Memory in KiB, as `bench-load` prints it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Memory {
    idle: f64,
    session: Option<f64>,
    connection: f64,
    stream: Option<f64>,
}

/// Start of a server, as `bench-load` prints it.
#[derive(Clone, Copy, Debug, Deserialize)]
struct Start {
    answer_ms: f64,
    cpu_ms: f64,
}

/// The values of [`WEIGHTS`], or the reasons why they are missing.
type Weights = [Result<f64, &'static str>; WEIGHTS.len()];

/// What is measured, and for how long.
#[derive(Debug)]
pub(super) struct Measurement<'a> {
    pub(super) root: &'a Path,
    pub(super) programs: &'a Programs,
    /// One short round of everything, for figures that are too rough to be kept.
    pub(super) is_quick: bool,
}

impl Measurement<'_> {
    /// Measures everything.
    pub(super) fn all(&self) -> Result<Results, String> {
        let workloads = Workloads::load();
        let mut results = Results {
            machine: machine(),
            crates: tidy::crates(self.root)?,
            ..Results::default()
        };
        self.counts(workloads.gates, &mut results)?;
        for group in workloads.groups {
            say(&format!("\n{}", group.title));
            let rows = self.rows(group.rows, |subject, row| self.call(subject, row))?;
            results.tables.extend([
                cpu(&group.title, &rows, |r| r.server_us),
                speed(&group.title, &rows),
            ]);
        }
        let clients = "Clients: CPU of the client process, with the baseline as its server";
        say(&format!("\n{clients}"));
        let rows = self.rows(workloads.clients, |subject, row| self.client(subject, row))?;
        results.tables.push(cpu(clients, &rows, |r| r.client_us));
        self.weights(&mut results)?;
        Ok(results)
    }

    /// Seconds of warm-up and of measured time.
    fn seconds(&self) -> [f64; 2] {
        if self.is_quick {
            [0.05, 0.2]
        } else {
            [0.12, 0.6]
        }
    }

    /// Runs all rounds of each row. A peer may fail, the other subjects may not.
    fn rows(
        &self,
        rows: Vec<Workload>,
        once: impl Fn(Subject, &Workload) -> Result<Round, String>,
    ) -> Result<Vec<(Workload, Rounds)>, String> {
        let mut measured = Vec::new();
        for row in rows {
            let mut cells = ALL.map(|_| Ok(Vec::new()));
            let rounds = row.rounds.unwrap_or(ROUNDS);
            for _ in 0..if self.is_quick { 1 } else { rounds } {
                for (subject, cell) in ALL.into_iter().zip(&mut cells) {
                    let Ok(rounds) = cell else { continue };
                    match once(subject, &row) {
                        Ok(round) => rounds.push(round),
                        Err(why) if subject.is_peer() => *cell = Err(reason(&why)),
                        Err(why) => return Err(format!("{}, {}: {why}", subject.name(), row.name)),
                    }
                }
            }
            for (subject, cell) in ALL.into_iter().zip(&cells) {
                say(&format!("  {}, {}: {cell:.1?}", row.name, subject.name()));
            }
            measured.push((row, cells));
        }
        Ok(measured)
    }

    /// One round of calls to a server.
    fn call(&self, subject: Subject, row: &Workload) -> Result<Round, String> {
        let [warm, time] = self.seconds();
        let (calls, sessions) = (row.calls, row.sessions);
        let options =
            format!("calls --inflight {calls} --beside {sessions} --seconds {time} --warm {warm}");
        let figures: Round = json(&mut self.programs.load(subject, row, &options, &[])?)?;
        if figures.calls == 0 {
            return Err("no call got a response in time".to_owned());
        }
        Ok(figures)
    }

    /// One round of calls of a client to the baseline. The client of the baseline is the load itself.
    fn client(&self, subject: Subject, row: &Workload) -> Result<Round, String> {
        let client = match subject {
            Subject::Baseline => return self.call(subject, row),
            Subject::Ours => "bench-client",
            Subject::Rmcp => "bench-rmcp-client",
            Subject::Tower => return Err("its client is not measured".to_owned()),
        };
        let mut client = on_core(1, &self.programs.path(client));
        let mut server = on_core(0, &self.programs.path("bench-baseline"));
        let [warm, time] = self.seconds().map(|seconds| seconds.to_string());
        client.args([row.calls.to_string(), warm, time]);
        if row.is_stdio() {
            client
                .arg("--stdio")
                .arg(server.get_program())
                .args(server.get_args());
            return json(client.arg("--stdio"));
        }
        let server = Server::start(server.args(["--http", "127.0.0.1:0"]), "/mcp")?;
        let figures = json(client.args(["--http", server.url()]));
        server.end()?;
        figures
    }

    /// Memory, start time and size of all subjects.
    fn weights(&self, results: &mut Results) -> Result<(), String> {
        let none = || ALL.map(|_| Err(String::new()));
        let mut rows = WEIGHTS.map(|name| (Workload::named(name), none()));
        for subject in ALL {
            let (weights, growth) = self
                .weigh(subject)
                .map_err(|error| format!("{}: {error}", subject.name()))?;
            say(&format!("{}: {weights:.1?}", subject.name()));
            for ((_, cells), weight) in rows.iter_mut().zip(weights) {
                cells[subject as usize] = weight.map_err(str::to_owned).map(|value| {
                    let is_whole = value.fract() == 0.0;
                    let text = if is_whole {
                        thousands(value)
                    } else {
                        short(value)
                    };
                    Figure { value, text }
                });
            }
            results.growth.push((subject, growth));
        }
        results.tables.push(Figures {
            section: "Memory, start, size".to_owned(),
            unit: "",
            are_costs: true,
            rows: rows.into(),
        });
        Ok(())
    }

    /// The values of [`WEIGHTS`], or the reasons why they are missing, and the memory of a session by the number of
    /// sessions.
    fn weigh(&self, subject: Subject) -> Result<(Weights, Vec<(f64, f64)>), String> {
        let load = |wire: &str, options: &str| {
            self.programs
                .load(subject, &Workload::plain(wire), options, &[])
        };
        let mut memory = Memory::default();
        let mut growth = Vec::new();
        for sessions in &SESSIONS[..if self.is_quick { 2 } else { 3 }] {
            memory = json(&mut load("http", &format!("memory --inflight {sessions}"))?)?;
            // The baseline has only connections.
            growth.push((
                f64::from(*sessions),
                memory.stream.unwrap_or(memory.connection),
            ));
        }
        let start = format!("start --calls {}", if self.is_quick { 3 } else { 21 });
        let stdio: Start = json(&mut load("stdio", &start)?)?;
        let http: Start = json(&mut load("http", &start)?)?;
        let program = stripped_size(&self.programs.path(subject.program()))?;
        let no_sessions = "it has no sessions and no streams";
        let weights = [
            Ok(memory.idle),
            Ok(memory.connection),
            memory.session.ok_or(no_sessions),
            memory.stream.ok_or(no_sessions),
            Ok(stdio.answer_ms),
            Ok(http.answer_ms),
            Ok(http.cpu_ms),
            Ok(program as f64 / 1e6),
            match subject {
                Subject::Baseline => Err("it is built from the package of this SDK's server"),
                _ => Ok(crates(self.root, subject)? as f64),
            },
        ];
        Ok((weights, growth))
    }

    /// Instructions and allocations of all subjects, if valgrind is installed. Lists take peers too long.
    fn counts(&self, gates: Vec<Workload>, results: &mut Results) -> Result<(), String> {
        if let Err(why) = valgrind::check_installed() {
            say(&why);
            return Ok(());
        }
        let folder = target().join("bench/valgrind");
        let valgrind = Valgrind::new(self.programs, folder.clone())?;
        let table = |unit| Figures {
            section: "Instructions and allocations".to_owned(),
            unit,
            are_costs: true,
            rows: Vec::new(),
        };
        let mut instructions = table("instructions per call");
        let mut allocations = table("allocations per call (bytes)");
        let echoes = gates
            .into_iter()
            .filter(|gate| gate.ask.starts_with("echo"));
        for gate in echoes.take(if self.is_quick { 1 } else { usize::MAX }) {
            let mut counted =
                ALL.map(|subject| Err(subject.args(&gate).err().unwrap_or_default().to_owned()));
            for (subject, cell) in ALL.into_iter().zip(&mut counted) {
                if subject.args(&gate).is_ok() {
                    *cell = Ok(valgrind.counts(subject, &gate, Span::BRIEF)?);
                }
            }
            say(&format!("{}: {counted:?}", gate.name));
            let cells = |figure: fn(&Counts) -> Figure| {
                counted
                    .each_ref()
                    .map(|cell| cell.as_ref().map(figure).map_err(Clone::clone))
            };
            let row = cells(|counts| {
                let value = counts.instructions as f64;
                Figure {
                    value,
                    text: thousands(value),
                }
            });
            instructions.rows.push((gate.clone(), row));
            let row = cells(|counts| {
                let value = counts.allocations;
                let text = format!("{value:.1} ({})", thousands(counts.bytes));
                Figure { value, text }
            });
            allocations.rows.push((gate, row));
        }
        // Only the totals are of use.
        let _ = fs::remove_dir_all(folder);
        results.tables.extend([instructions, allocations]);
        Ok(())
    }
}

/// The CPU time of the rows in a section, with minimum and maximum.
fn cpu(section: &str, rows: &[(Workload, Rounds)], time: fn(&Round) -> f64) -> Figures {
    table(section, CPU, true, rows, |rounds| {
        let [value, min, max] = spread(rounds.iter().map(time));
        let text = format!("{} ({}–{})", short(value), short(min), short(max));
        Figure { value, text }
    })
}

/// Calls per second of the rows in a section, and how long calls take.
fn speed(section: &str, rows: &[(Workload, Rounds)]) -> Figures {
    table(
        section,
        "calls per second; p50 / p99 in µs",
        false,
        rows,
        |rounds| {
            let median = |figure: fn(&Round) -> f64| spread(rounds.iter().map(figure))[0];
            let value = median(|r| r.calls as f64 / r.seconds);
            let [p50, p99] = [median(|r| r.p50_us), median(|r| r.p99_us)].map(short);
            let text = format!("{}; {p50} / {p99}", short(value));
            Figure { value, text }
        },
    )
}

fn table(
    section: &str,
    unit: &'static str,
    are_costs: bool,
    rows: &[(Workload, Rounds)],
    figure: impl Fn(&[Round]) -> Figure,
) -> Figures {
    let row = |(row, cells): &(Workload, Rounds)| {
        let cells = cells.each_ref().map(|cell| match cell {
            Ok(rounds) => Ok(figure(rounds)),
            Err(why) => Err(why.clone()),
        });
        (row.clone(), cells)
    };
    Figures {
        section: section.to_owned(),
        unit,
        are_costs,
        rows: rows.iter().map(row).collect(),
    }
}

/// Runs a program that prints one line of JSON.
fn json<T: DeserializeOwned>(command: &mut Command) -> Result<T, String> {
    let output = output_of(command, LIMIT)?;
    serde_json::from_str(&output).map_err(|error| format!("{error}: {output}"))
}

/// The last line of the error of a peer, without file names.
fn reason(why: &str) -> String {
    let last = why.lines().rfind(|line| !line.trim().is_empty());
    let text = last.unwrap_or_default().trim_start_matches("Error: ");
    let text = text.trim_matches('"').replace(['|', '\n'], " ");
    text.chars().take(160).collect()
}

/// A program on one of two cores, if the machine has two cores and `taskset`.
fn on_core(core: usize, program: &Path) -> Command {
    let has_two = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    if !has_two || !Path::new("/usr/bin/taskset").exists() {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.args(["-c", &core.to_string()]).arg(program);
    command
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
}
