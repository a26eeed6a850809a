//! Measures calls, clients and servers. In each round all servers take turns, so that other load on the machine affects
//! all of them.

use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::results::{CPU, Each, Figures, Results, spread};
use super::subject::{ALL, PEERS, Subject, load, path};
use super::valgrind::{self, BRIEF, CALLGRIND, MEMCHECK, Valgrind};
use super::workloads::{Weight, Workload, Workloads};
use crate::programs::{SHORT, Server, output_of, program, target};
use crate::tidy::{self, tree};
use crate::workspace::{At as _, Result, root, say};

/// The arguments for cargo that select a server with both transports.
const OURS: &str = "-p mcp-server -p mcp-transport-http -p mcp-transport-stdio --no-default-features \
     --features mcp-server/macros,mcp-server/state-keys,mcp-server/tasks,mcp-transport-http/server";
/// Time limit of `bench-load` and of clients, which have shorter limits for their parts.
const LIMIT: Duration = Duration::from_secs(300);
/// Rounds of a row at full length, unless the row says otherwise.
const ROUNDS: usize = 5;
/// The number of sessions for the memory of one.
const SESSIONS: u32 = 1_000;
/// Seconds of warm-up and of measured time, at full length and quickly.
const FULL: [f64; 2] = [0.12, 0.6];
const QUICK: [f64; 2] = [0.05, 0.2];

/// Figures of calls, as `bench-load` and the clients print them.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Round {
    pub(super) calls: u64,
    pub(super) seconds: f64,
    pub(super) server_us: f64,
    client_us: f64,
    pub(super) p50_us: f64,
    p99_us: f64,
}

/// A row, with the rounds of each subject.
type Row<T> = (Workload, Each<Vec<T>>);

/// How long everything is measured.
#[derive(Debug)]
pub(super) struct Measurement {
    /// One short round of everything, for figures that are too rough to be kept.
    pub(super) is_quick: bool,
}

impl Measurement {
    pub(super) fn all(&self) -> Result<Results> {
        let workloads = Workloads::load();
        let mut tables = self.counts(workloads.gates)?;
        for group in workloads.groups {
            say(&format!("\n{}", group.title));
            let rows = self.rows(group.rows, |subject, row| self.call(subject, row))?;
            tables.push(cpu(&group.title, &rows, |round| round.server_us));
            tables.push(speed(&group.title, &rows));
        }
        let clients = "Clients: CPU of the client process, with the baseline as its server";
        say(&format!("\n{clients}"));
        let rows = self.rows(workloads.clients, |subject, row| self.client(subject, row))?;
        tables.push(cpu(clients, &rows, |round| round.client_us));
        tables.push(self.weights(workloads.weights)?);
        Ok(Results {
            machine: machine(),
            tables,
            crates: tidy::crates(root())?,
        })
    }

    fn seconds(&self) -> [f64; 2] {
        if self.is_quick { QUICK } else { FULL }
    }

    /// Runs all rounds of each row. A peer may fail, the other subjects may not.
    fn rows<T: Debug>(
        &self,
        rows: Vec<Workload>,
        once: impl Fn(Subject, &Workload) -> Result<T>,
    ) -> Result<Vec<Row<T>>> {
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
    fn call(&self, subject: Subject, row: &Workload) -> Result<Round> {
        let [warm, time] = self.seconds();
        let (calls, sessions) = (row.calls, row.sessions);
        let options =
            format!("calls --inflight {calls} --beside {sessions} --seconds {time} --warm {warm}");
        let figures: Round = json(&mut load(subject, row, &options, &[])?)?;
        if figures.calls == 0 {
            return Err("no call got a response in time".to_owned());
        }
        Ok(figures)
    }

    /// One round of calls of a client to the baseline. The client of the baseline is the load itself.
    fn client(&self, subject: Subject, row: &Workload) -> Result<Round> {
        let client = match subject {
            Subject::Baseline => return self.call(subject, row),
            Subject::Ours => "bench-client",
            Subject::Rmcp => "bench-rmcp-client",
            Subject::Tower => return Err("its client is not measured".to_owned()),
        };
        let mut client = on_core(1, &path(client));
        let mut server = on_core(0, &path("bench-baseline"));
        let [warm, time] = self.seconds().map(|seconds| seconds.to_string());
        client.args([row.calls.to_string(), warm, time]);
        if row.is_stdio() {
            client.arg("--stdio").arg(server.get_program());
            return json(client.args(server.get_args()).arg("--stdio"));
        }
        let server = Server::start(server.args(["--http", "127.0.0.1:0"]), "/mcp")?;
        let figures = json(client.args(["--http", server.url()]));
        server.end()?;
        figures
    }

    /// Memory, start time and size of all subjects.
    fn weights(&self, weights: Vec<Weight>) -> Result<Figures> {
        let mut values = Vec::new();
        for subject in ALL {
            let found = self.weigh(subject).at(subject.name())?;
            say(&format!("{}: {found}", subject.name()));
            values.push(found);
        }
        let mut rows = Vec::new();
        for weight in weights {
            let cells = ALL.map(|subject| {
                let value = values[subject as usize].pointer(&weight.member);
                value.and_then(Value::as_f64).ok_or(weight.missing.clone())
            });
            if cells.contains(&Err(None)) {
                return Err(format!("a subject has no value of {}", weight.member));
            }
            let cells = cells.map(|cell| cell.map_err(Option::unwrap_or_default));
            rows.push((Workload::new(&weight.name, ""), cells));
        }
        let values = |value: &f64| [*value, 0.0, 0.0];
        Ok(Figures::costs("Memory, start, size", "", &rows, values))
    }

    /// The values of the rows, most of them as `bench-load` prints them.
    fn weigh(&self, subject: Subject) -> Result<Value> {
        let figures = |wire: &str, options: &str| -> Result<Value> {
            json(&mut load(subject, &Workload::new("", wire), options, &[])?)
        };
        let start = format!("start --calls {}", if self.is_quick { 3 } else { 21 });
        let crates = match subject {
            Subject::Baseline => None,
            _ => Some(crates(subject)?),
        };
        Ok(serde_json::json!({
            "memory": figures("http", &format!("memory --inflight {SESSIONS}"))?,
            "stdio": figures("stdio", &start)?,
            "http": figures("http", &start)?,
            "program": stripped_size(&path(subject.program()))? as f64 / 1e6,
            "crates": crates,
        }))
    }

    /// Instructions and allocations of all subjects, if valgrind is installed. Lists take peers too long.
    fn counts(&self, mut gates: Vec<Workload>) -> Result<Vec<Figures>> {
        if let Err(why) = valgrind::check_installed() {
            say(&why);
            return Ok(Vec::new());
        }
        let valgrind = Valgrind::new(None)?;
        gates.retain(|gate| gate.ask.starts_with("echo"));
        if self.is_quick {
            gates.truncate(1);
        }
        for gate in &mut gates {
            gate.rounds = Some(1);
        }
        let rows = self.rows(gates, |subject, gate| {
            subject.args(gate)?;
            let count = |tool| valgrind.per_call(tool, subject, gate, BRIEF);
            Ok([count(&CALLGRIND)?, count(&MEMCHECK)?])
        })?;
        let section = "Instructions and allocations";
        let table = |unit, values: fn(&[_; 2]) -> [f64; 3]| {
            Figures::costs(section, unit, &rows, |rounds| values(&rounds[0]))
        };
        Ok(vec![
            table("instructions per call", |[[count, _], _]| {
                [*count, 0.0, 0.0]
            }),
            table("allocations per call (bytes)", |[_, [count, bytes]]| {
                [*count, *bytes, 0.0]
            }),
        ])
    }
}

/// The CPU time of the rows in a section, with minimum and maximum.
fn cpu(section: &str, rows: &[Row<Round>], time: fn(&Round) -> f64) -> Figures {
    Figures::costs(section, CPU, rows, |rounds| spread(rounds.iter().map(time)))
}

/// Calls per second of the rows in a section, and how long calls take.
fn speed(section: &str, rows: &[Row<Round>]) -> Figures {
    let unit = "calls per second; p50 / p99 in µs";
    let mut figures = Figures::costs(section, unit, rows, |rounds| {
        let figures: [fn(&Round) -> f64; 3] = [
            |round| round.calls as f64 / round.seconds,
            |round| round.p50_us,
            |round| round.p99_us,
        ];
        figures.map(|figure| spread(rounds.iter().map(figure))[0])
    });
    figures.are_costs = false;
    figures
}

/// Runs a program that prints one line of JSON.
pub(super) fn json<T: DeserializeOwned>(command: &mut Command) -> Result<T> {
    let output = output_of(command, LIMIT)?;
    serde_json::from_str(&output).at(output)
}

/// The last line of the error of a peer, without file names.
pub(super) fn reason(why: &str) -> String {
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

/// The size of a program without its symbols, in bytes.
fn stripped_size(built: &Path) -> Result<u64> {
    let stripped = target().join("bench/stripped");
    let mut strip = program("strip", "-o");
    output_of(strip.arg(&stripped).arg(built), SHORT).at("strip, of the binutils")?;
    let metadata = fs::metadata(&stripped).at(stripped.display())?;
    Ok(metadata.len())
}

/// The number of crates of a server over both transports, without those of the benchmark.
fn crates(subject: Subject) -> Result<usize> {
    let package = format!("--locked -p {}", subject.program());
    let crates = match subject.is_peer() {
        true => tree(&root().join(PEERS), &package)?,
        false => tree(root(), OURS)?,
    };
    let names = crates.iter().map(|(name, _)| name);
    Ok(names.filter(|name| !name.starts_with("bench-")).count())
}

/// The class of this machine in one line, without its name.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // The first line is `MemTotal:  N kB`.
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = memory.split_whitespace().nth(1);
    let kib: f64 = kib.and_then(|kib| kib.parse().ok()).unwrap_or(0.0);
    let gib = kib / 1_048_576.0;
    let rustc = output_of(&mut program("rustc", "--version"), SHORT).unwrap_or_default();
    let compiler = Vec::from_iter(rustc.split(' ').take(2)).join(" ");
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{cores} cores ({processor}), {gib:.0} GiB of memory, {system}, {compiler}")
}
