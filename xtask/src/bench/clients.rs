//! Clients against the baseline: what a call costs the process that makes it.

use std::path::Path;
use std::process::Command;

use super::measure::{Figures, Load, read};
use super::subject::Subject;
use crate::programs::Server;
use crate::steps::say;

/// A row: how the clients reach the baseline, and with how many calls in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallPath {
    pub(super) name: &'static str,
    wire: &'static str,
    inflight: u32,
}

const fn path(name: &'static str, wire: &'static str, inflight: u32) -> CallPath {
    CallPath {
        name,
        wire,
        inflight,
    }
}

/// All of them.
pub(super) const CALL_PATHS: [CallPath; 4] = [
    path("stdio, 1 call at a time", "stdio", 1),
    path("stdio, 64 calls at a time", "stdio", 64),
    path("HTTP, 1 call at a time", "http", 1),
    path("HTTP, 8 calls at a time", "http", 8),
];

/// Subject calls: the load, whose HTTP and lines are its own, and the clients of two SDKs.
pub(super) const CALLERS: [Subject; 3] = [Subject::Baseline, Subject::Ours, Subject::Rmcp];

const ROUNDS: usize = 5;

/// Every round of each caller.
pub(super) fn measure(load: &Load<'_>, path: &CallPath) -> Result<[Vec<Figures>; 3], String> {
    let mut rounds = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS.min(load.pace.rounds) {
        for (caller, rounds) in CALLERS.into_iter().zip(&mut rounds) {
            let figures = once(load, path, caller).map_err(|error| {
                format!("the client of {}, {}: {error}", caller.name(), path.name)
            })?;
            rounds.push(figures);
        }
    }
    say(&format!(
        "  client, {}: {}",
        path.name,
        CALLERS
            .iter()
            .zip(&rounds)
            .filter_map(|(caller, rounds)| {
                let first = rounds.first()?;
                let name = match caller {
                    Subject::Baseline => "load",
                    _ => caller.name(),
                };
                Some(format!("{name} {:.2} us", first.client_us))
            })
            .collect::<Vec<_>>()
            .join(", ")
    ));
    Ok(rounds)
}

fn once(load: &Load<'_>, path: &CallPath, caller: Subject) -> Result<Figures, String> {
    let built = load.built;
    let baseline = built.program("bench-baseline");
    let [inflight, warm, time] = [
        path.inflight.to_string(),
        load.pace.warm.to_string(),
        load.pace.time.to_string(),
    ];
    let program = match caller {
        Subject::Baseline => {
            // The load starts the server and takes the other core by itself.
            let mut command = Command::new(built.program("bench-load"));
            command
                .args(["calls", "--ask", "echo:64", "--wire", path.wire])
                .args(["--inflight", &inflight, "--warm", &warm, "--seconds", &time])
                .arg("--")
                .arg(&baseline);
            match path.wire {
                "stdio" => command.arg("--stdio"),
                _ => command.args(["--http", "127.0.0.1:0"]),
            };
            return read(&mut command);
        }
        Subject::Ours => built.program("bench-client"),
        _ => built.peer("bench-rmcp-client"),
    };
    let mut command = on(1, &program);
    command.args([&inflight, &warm, &time]);
    if path.wire == "stdio" {
        command.arg("--stdio");
        let server = on(0, &baseline);
        command.arg(server.get_program()).args(server.get_args());
        return read(command.arg("--stdio"));
    }
    let mut server = on(0, &baseline);
    let server = Server::start(server.args(["--http", "127.0.0.1:0"]), "/mcp")?;
    let figures = read(command.args(["--http", server.url()]));
    server.end()?;
    figures
}

/// A program on one of two cores, where that can be asked for.
fn on(core: usize, program: &Path) -> Command {
    let has_two = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    if has_two && Path::new("/usr/bin/taskset").exists() {
        let mut command = Command::new("taskset");
        command.args(["-c", &core.to_string()]).arg(program);
        command
    } else {
        Command::new(program)
    }
}
