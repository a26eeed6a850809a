//! The suite through `mcp bridge`: clients and servers of both kinds of revisions, programs and URLs.

use std::path::Path;
use std::process::Command;

use super::checks::Outcome;
use super::suite::{Role, Run, Suites, runs};
use crate::files;
use crate::programs::{Server, copy_program};
use crate::steps::say;
use crate::workspace::root;

const FILE: &str = "tests/conformance/bridge.txt";
const ERAS: [&str; 2] = ["legacy", "modern"];

/// A scenario that differs through the bridge, for a kind of revision on the side of our fixture.
struct Difference {
    role: String,
    era: String,
    scenario: String,
}

/// Runs all combinations; returns what is wrong.
pub(super) fn run(suites: &Suites, roles: &[Role], bin: &Path) -> Result<Vec<String>, String> {
    let differences = differences()?;
    let bridge = copy_program("mcp", bin)?;
    let mut outcomes: Vec<(Role, &str, Outcome)> = Vec::new();
    for era in ERAS {
        for role in roles {
            let program = copy_program(role.program(), bin)?;
            let ran = match role {
                Role::Server => servers(suites, &bridge, &program, era)?,
                Role::Client => clients(suites, &bridge, &program, era)?,
            };
            outcomes.extend(ran.into_iter().map(|outcome| (*role, era, outcome)));
        }
    }
    let mut failures = Vec::new();
    let mut used = vec![false; differences.len()];
    for (role, era, outcome) in &outcomes {
        let known = differences.iter().position(|known| {
            known.role == role.name()
                && (known.era == *era || known.era == "any")
                && known.scenario == outcome.scenario
        });
        let found = outcome.failures();
        match known {
            Some(known) => used[known] |= !found.is_empty(),
            None => failures.extend(
                found
                    .iter()
                    .map(|failure| format!("bridge, {era}: {failure}")),
            ),
        }
    }
    let all = roles.len() == Role::ALL.len();
    for (known, _) in differences
        .iter()
        .zip(used)
        .filter(|(_, used)| all && !used)
    {
        let Difference {
            role,
            era,
            scenario,
        } = known;
        failures.push(format!(
            "{FILE}: {role} | {era} | {scenario} does not differ: remove it"
        ));
    }
    Ok(failures)
}

/// The suite as the client of a bridge to our server, which runs as a program and with a URL.
fn servers(
    suites: &Suites,
    bridge: &Path,
    program: &Path,
    era: &str,
) -> Result<Vec<Outcome>, String> {
    let mut direct = Command::new(program);
    let direct = Server::start(direct.args(["--http", "127.0.0.1:0", "--strict"]), "/mcp")?;
    let mut outcomes = Vec::new();
    for is_program in [true, false] {
        let mut command = Command::new(bridge);
        command.args(["--era", era, "bridge", "--listen", "127.0.0.1:0"]);
        match is_program {
            true => command.arg("--").arg(program).args(["--stdio", "--strict"]),
            false => command.arg(direct.url()),
        };
        say(&format!(
            "server through a bridge; upstream {era}, {}",
            if is_program { "stdio" } else { "HTTP" }
        ));
        let server = Server::start(&mut command, "/mcp")?;
        if server.url() == direct.url() {
            return Err("the bridge printed the URL of its server instead of its own".to_owned());
        }
        for run in runs(Role::Server, None)
            .iter()
            .filter(|run| !run.name.contains("required"))
        {
            outcomes.extend(suites.run(run, server.url())?);
        }
        server.end()?;
    }
    direct.end()?;
    Ok(outcomes)
}

/// The suite as the server of a bridge, whose client is ours over stdio. Scenarios of authorization test the client that
/// sends HTTP requests, which is the bridge here: it signs in with `mcp login` alone.
fn clients(
    suites: &Suites,
    bridge: &Path,
    program: &Path,
    era: &str,
) -> Result<Vec<Outcome>, String> {
    let mut suites = suites.clone();
    suites.variables = vec![
        ("CONFORMANCE_BRIDGE", bridge.display().to_string()),
        ("CONFORMANCE_CLIENT_ERA", era.to_owned()),
    ];
    say(&format!("client behind a bridge; client {era}"));
    let mut outcomes = Vec::new();
    let is_of_suite = |run: &&Run| run.name.contains(" all 20");
    for run in runs(Role::Client, None).iter().filter(is_of_suite) {
        let ran = suites.run(run, &program.display().to_string())?;
        outcomes.extend(
            ran.into_iter()
                .filter(|outcome| !outcome.scenario.starts_with("auth/")),
        );
    }
    Ok(outcomes)
}

/// Reads the file, whose lines are `role | era | scenario | reason`.
fn differences() -> Result<Vec<Difference>, String> {
    let file = files::load(root(), FILE)?;
    let lines = file.lines().filter(|(_, line)| !line.starts_with('#'));
    let entry = |(number, line): (usize, &str)| {
        let parts: Vec<&str> = line.split(" | ").collect();
        match parts[..] {
            [role, era, scenario, reason] if !reason.is_empty() => Ok(Difference {
                role: role.to_owned(),
                era: era.to_owned(),
                scenario: scenario.to_owned(),
            }),
            _ => Err(format!(
                "{FILE}:{number}: not `role | era | scenario | reason`: {line}"
            )),
        }
    };
    lines.map(entry).collect()
}
