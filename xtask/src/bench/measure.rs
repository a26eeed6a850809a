//! Measures calls, clients and servers. In each round all servers take turns, so that other load on the machine affects
//! all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde::Deserialize;

use super::results::{Calls, Cells, Counts, Figures, Results, Spread, WEIGHTS};
use super::subject::{ALL, Programs, Subject, json};
use super::valgrind::{self, Span, Valgrind};
use super::workloads::{Workload, Workloads};
use crate::programs::{SHORT, Server, build, output_of, run, target};
use crate::steps::{cargo, say};
use crate::tidy;

/// Rounds of a row at full length, unless the row says otherwise.
const ROUNDS: usize = 5;
/// Numbers of sessions for the memory of one.
const SESSIONS: [u32; 3] = [10, 100, 1_000];

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
type Weights = [Result<f64, &'static str>; 10];

/// KiB of a session, by the number of sessions.
type Growth = Vec<(u32, f64)>;

/// What is measured, and for how long.
#[derive(Debug)]
pub(super) struct Measurement<'a> {
    pub(super) root: &'a Path,
    pub(super) programs: &'a Programs,
    /// One short round of everything, for figures that are too rough to be kept.
    pub(super) is_quick: bool,
    /// Whether servers are also built from scratch.
    pub(super) build_time: bool,
}

impl Measurement<'_> {
    /// Measures everything.
    pub(super) fn all(&self) -> Result<Results, String> {
        let workloads = Workloads::load();
        let mut groups = Vec::new();
        for group in workloads.groups {
            say(&format!("\n{}", group.title));
            let rows = self.rows(group.rows, |subject, row| self.call(subject, row))?;
            groups.push((group.title, rows));
        }
        say("\nClients");
        let clients = self.rows(workloads.clients, |subject, row| self.client(subject, row))?;
        let mut weights = WEIGHTS.map(|name| (name, Cells::new()));
        let mut growth = Cells::new();
        for subject in ALL {
            let weighed = self.weigh(subject);
            let (values, sizes) =
                weighed.map_err(|error| format!("{}: {error}", subject.name()))?;
            for ((_, cells), value) in weights.iter_mut().zip(values) {
                cells.insert(subject, value.map_err(str::to_owned));
            }
            growth.insert(subject, Ok(sizes));
        }
        Ok(Results {
            machine: machine(),
            groups,
            clients,
            counts: self.counts(workloads.gates)?,
            weights: weights.into(),
            growth,
            crates: tidy::crates(self.root)?,
        })
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
        once: impl Fn(Subject, &Workload) -> Result<Figures, String>,
    ) -> Result<Calls, String> {
        let mut calls = Vec::new();
        for row in rows {
            let mut cells = Cells::new();
            let rounds = if self.is_quick {
                1
            } else {
                row.rounds.unwrap_or(ROUNDS)
            };
            for _ in 0..rounds {
                for subject in ALL {
                    let cell = cells.entry(subject).or_insert_with(|| Ok(Vec::new()));
                    let Ok(rounds) = cell else { continue };
                    match once(subject, &row) {
                        Ok(figures) => rounds.push(figures),
                        Err(why) if subject.is_peer() => *cell = Err(reason(&why)),
                        Err(why) => return Err(format!("{}, {}: {why}", subject.name(), row.name)),
                    }
                }
            }
            let brief = |(subject, cell): (&Subject, &Result<Vec<Figures>, String>)| match cell {
                Ok(rounds) => {
                    let median = |figure: fn(&Figures) -> f64| Spread::of(rounds, figure).median;
                    let [server, client] = [median(|f| f.server_us), median(|f| f.client_us)];
                    format!("{} {server:.2} / {client:.2}", subject.name())
                }
                Err(why) => format!("{} n/a ({why})", subject.name()),
            };
            let briefs: Vec<String> = cells.iter().map(brief).collect();
            say(&format!(
                "  {}, µs of server / client: {}",
                row.name,
                briefs.join(", ")
            ));
            calls.push((row, cells));
        }
        Ok(calls)
    }

    /// One round of calls to a server.
    fn call(&self, subject: Subject, row: &Workload) -> Result<Figures, String> {
        let [warm, time] = self.seconds();
        let (calls, sessions) = (row.calls, row.sessions);
        let options =
            format!("calls --inflight {calls} --beside {sessions} --seconds {time} --warm {warm}");
        let figures: Figures = json(&mut self.programs.load(subject, row, &options, &[])?)?;
        if figures.calls == 0 {
            return Err("no call got a response in time".to_owned());
        }
        Ok(figures)
    }

    /// One round of calls of a client to the baseline. The client of the baseline is the load itself.
    fn client(&self, subject: Subject, row: &Workload) -> Result<Figures, String> {
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

    /// Memory, start time and size of a server, in the order of [`WEIGHTS`], and the growth of its memory.
    fn weigh(&self, subject: Subject) -> Result<(Weights, Growth), String> {
        let load = |wire: &str, options: &str| {
            self.programs
                .load(subject, &Workload::plain(wire), options, &[])
        };
        let mut memory = Memory::default();
        let mut growth = Growth::new();
        for sessions in &SESSIONS[..if self.is_quick { 2 } else { 3 }] {
            memory = json(&mut load("http", &format!("memory --inflight {sessions}"))?)?;
            // The baseline has only connections.
            growth.push((*sessions, memory.stream.unwrap_or(memory.connection)));
        }
        let start = format!("start --calls {}", if self.is_quick { 3 } else { 21 });
        let stdio: Start = json(&mut load("stdio", &start)?)?;
        let http: Start = json(&mut load("http", &start)?)?;
        let program = stripped_size(&self.programs.path(subject.program()))?;
        let no_sessions = "it has no sessions and no streams";
        let no_package = Err("it is built from the package of this SDK's server");
        let is_baseline = subject == Subject::Baseline;
        let weights = [
            Ok(memory.idle),
            Ok(memory.connection),
            memory.session.ok_or(no_sessions),
            memory.stream.ok_or(no_sessions),
            Ok(stdio.answer_ms),
            Ok(http.answer_ms),
            Ok(http.cpu_ms),
            Ok(program as f64 / 1e6),
            if is_baseline {
                no_package
            } else {
                Ok(crates(self.root, subject)? as f64)
            },
            match self.build_time {
                _ if is_baseline => no_package,
                true => Ok(build_time(self.root, subject)?),
                false => Err("measured with --build-time only"),
            },
        ];
        say(&format!("{}: {weights:?}", subject.name()));
        Ok((weights, growth))
    }

    /// Instructions and allocations of all subjects, if valgrind is installed. Lists take peers too long.
    fn counts(&self, gates: Vec<Workload>) -> Result<Vec<(Workload, Cells<Counts>)>, String> {
        if let Err(why) = valgrind::check_installed() {
            say(&why);
            return Ok(Vec::new());
        }
        let folder = target().join("bench/valgrind");
        let valgrind = Valgrind::new(self.programs, folder.clone())?;
        let mut counts = Vec::new();
        let echoes = gates
            .into_iter()
            .filter(|gate| gate.ask.starts_with("echo"));
        for gate in echoes.take(if self.is_quick { 1 } else { usize::MAX }) {
            let mut cells = Cells::new();
            for subject in ALL {
                let cell = match subject.args(&gate) {
                    Ok(_) => Ok(valgrind.counts(subject, &gate, Span::BRIEF)?),
                    Err(why) => Err(why.to_owned()),
                };
                say(&format!("{}, {}: {cell:?}", gate.name, subject.name()));
                cells.insert(subject, cell);
            }
            counts.push((gate, cells));
        }
        // Only the totals are of use.
        let _ = fs::remove_dir_all(folder);
        Ok(counts)
    }
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

/// The size of a program without its symbols, in bytes.
fn stripped_size(program: &Path) -> Result<u64, String> {
    let stripped = target().join("bench/stripped");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&stripped).arg(program);
    output_of(&mut strip, SHORT).map_err(|error| format!("strip, of the binutils: {error}"))?;
    let size = fs::metadata(&stripped).map(|metadata| metadata.len());
    size.map_err(|error| format!("{}: {error}", stripped.display()))
}

/// The number of crates of a server over both transports, without those of the benchmark.
fn crates(root: &Path, subject: Subject) -> Result<usize, String> {
    let (workspace, mut words) = subject.build(root);
    if subject == Subject::Ours {
        "-p mcp-server -p mcp-transport-http -p mcp-transport-stdio --no-default-features \
         --features mcp-server/macros,mcp-server/seal,mcp-server/tasks,mcp-transport-http/server"
            .clone_into(&mut words);
    }
    let mut command = Command::new(cargo());
    command
        .args(["tree", "-e", "normal,build", "--prefix", "none"])
        .args(words.split_whitespace())
        .current_dir(workspace);
    let mut crates = BTreeSet::new();
    run(&mut command, SHORT, |line| {
        let name_and_version: Vec<&str> = line.split(' ').take(2).collect();
        if name_and_version.len() == 2 && !line.starts_with("bench-") {
            crates.insert(name_and_version.join(" "));
        }
    })?;
    Ok(crates.len())
}

/// How long a clean release build of a server takes, in seconds.
fn build_time(root: &Path, subject: Subject) -> Result<f64, String> {
    let (workspace, words) = subject.build(root);
    let folder = target().join("bench-clean");
    // The folder does not exist unless an earlier run was interrupted.
    let _ = fs::remove_dir_all(&folder);
    let start = Instant::now();
    build(&workspace, &folder, &format!("--release {words}"))?;
    let took = start.elapsed().as_secs_f64();
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(took)
}

/// The class of this machine in one line: cores, memory, system, compiler.
fn machine() -> String {
    let field = |path: &str, name: &str| {
        let text = fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map_or_else(String::new, |line| {
            line.trim_start_matches([' ', '\t', ':']).to_owned()
        })
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let vendor = field("/proc/cpuinfo", "vendor_id");
    let is_virtual = field("/proc/cpuinfo", "flags").contains("hypervisor");
    let cores_are = if is_virtual { "virtual cores" } else { "cores" };
    let kib = field("/proc/meminfo", "MemTotal");
    let kib: f64 = kib.trim_end_matches(" kB").parse().unwrap_or(0.0);
    let release = field("/proc/sys/kernel/osrelease", "");
    let kernel: Vec<&str> = release.split('.').take(2).collect();
    let rustc = output_of(Command::new("rustc").arg("--version"), SHORT).unwrap_or_default();
    let compiler: Vec<&str> = rustc.split(' ').take(2).collect();
    format!(
        "{cores} {cores_are} ({} {vendor}), {:.0} GiB of memory, Linux {}, {}",
        std::env::consts::ARCH,
        kib / 1_048_576.0,
        kernel.join("."),
        compiler.join(" ")
    )
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

    #[cfg(target_os = "linux")]
    #[test]
    fn the_machine_is_described_by_its_class() {
        let machine = machine();
        assert!(machine.contains(" GiB of memory, Linux "), "{machine}");
    }
}
