//! The suite through `mcp bridge`: clients and servers of both kinds of revisions, programs and URLs.

use std::path::Path;

use serde::Deserialize;

use super::checks::Outcome;
use super::suite::{Role, Run, Suites, runs};
use crate::programs::{Server, copy_program, program};
use crate::workspace::{self, Result, root, say, tables};

const FILE: &str = "tests/conformance/bridge.toml";
const REVISIONS: [&str; 2] = ["sessions", "stateless"];

/// A scenario whose result differs through the bridge, with the revision between our fixture and the bridge.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    role: String,
    revision: String,
    scenario: String,
    reason: String,
    /// Whether the scenario failed in this run.
    #[serde(skip)]
    is_observed: bool,
}

/// Runs all combinations; returns what is wrong.
pub(super) fn run(suites: &Suites, roles: &[Role], bin: &Path) -> Result<Vec<String>> {
    let mut differences: Vec<Difference> = tables(FILE, &workspace::load(root(), FILE)?.text)?;
    let bridge = copy_program("mcp", bin)?;
    let mut failures = Vec::new();
    let pairs = REVISIONS.map(|revision| roles.iter().map(move |role| (revision, role)));
    for (revision, role) in pairs.into_iter().flatten() {
        let program = copy_program(role.program(), bin)?;
        let outcomes = match role {
            Role::Server => servers(suites, &bridge, &program, revision)?,
            Role::Client => clients(suites, &bridge, &program, revision)?,
        };
        for outcome in outcomes {
            let found = outcome.failures();
            let known = differences.iter_mut().find(|known| {
                known.role == role.name()
                    && [revision, "any"].contains(&&*known.revision)
                    && known.scenario == outcome.scenario
            });
            match known {
                Some(known) => known.is_observed |= !found.is_empty(),
                None => {
                    let found = found.iter();
                    failures.extend(found.map(|failure| format!("bridge, {revision}: {failure}")));
                }
            }
        }
    }
    for known in differences {
        let Difference {
            role,
            revision,
            scenario,
            ..
        } = &known;
        let entry = format!("{FILE}: {role}, {revision}, {scenario}");
        if known.reason.is_empty() {
            failures.push(format!("{entry}: the reason is empty; add one"));
        }
        if roles.len() == Role::ALL.len() && !known.is_observed {
            failures.push(format!("{entry}: passes through the bridge; remove it"));
        }
    }
    Ok(failures)
}

/// The suite as the client of a bridge to our server, which runs as a program and with a URL.
fn servers(suites: &Suites, bridge: &Path, path: &Path, revision: &str) -> Result<Vec<Outcome>> {
    let mut direct = program(path, "--http 127.0.0.1:0 --strict");
    let direct = Server::start(&mut direct, "/mcp")?;
    let mut outcomes = Vec::new();
    for is_program in [true, false] {
        let words = format!("--revision {revision} bridge --listen 127.0.0.1:0");
        let mut command = program(bridge, &words);
        match is_program {
            true => command.arg("--").arg(path).args(["--stdio", "--strict"]),
            false => command.arg(direct.url()),
        };
        let wire = if is_program { "stdio" } else { "HTTP" };
        say(&format!(
            "server through a bridge; upstream {revision}, {wire}"
        ));
        let server = Server::start(&mut command, "/mcp")?;
        if server.url() == direct.url() {
            return Err("the bridge printed the URL of its server instead of its own".to_owned());
        }
        let is_selected = |run: &&Run| !run.name.contains("required");
        for run in runs(Role::Server, None).iter().filter(is_selected) {
            outcomes.extend(suites.run(run, server.url())?);
        }
        server.end()?;
    }
    direct.end()?;
    Ok(outcomes)
}

/// The suite as the server of a bridge, whose client is ours over stdio. Scenarios of authorization test the client that
/// sends HTTP requests, which is the bridge here: it signs in with `mcp login` alone.
fn clients(suites: &Suites, bridge: &Path, program: &Path, revision: &str) -> Result<Vec<Outcome>> {
    let mut suites = suites.clone();
    suites.variables = vec![
        ("CONFORMANCE_BRIDGE", bridge.display().to_string()),
        ("CONFORMANCE_CLIENT_REVISION", revision.to_owned()),
    ];
    say(&format!("client behind a bridge; client {revision}"));
    let mut outcomes = Vec::new();
    let is_of_suite = |run: &&Run| run.name.contains(" all 20");
    for run in runs(Role::Client, None).iter().filter(is_of_suite) {
        outcomes.extend(suites.run(run, &program.display().to_string())?);
    }
    outcomes.retain(|outcome| !outcome.scenario.starts_with("auth/"));
    Ok(outcomes)
}
