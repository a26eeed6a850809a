//! `cargo xtask conformance`: the official suite, both published lines, against our server and our client.
//!
//! The suites are pinned in `tests/conformance` and installed under `target/conformance`, with the Node they need. The
//! checks that they write are judged: a failure or a warning in any scenario fails the run, whether the suite scores that
//! scenario or not, and so does a scenario that passes fewer checks than `passed.toml` says. Scenarios that the packages list
//! and no selection includes, such as those of extensions, are run alone. There is no list of expected failures.
//!
//! `--cluster` runs the server as two processes behind a load balancer, with one Redis. `--bridge` runs the same scenarios through `mcp bridge` instead, between all kinds of revisions.

mod bridge;
mod checks;
mod suite;

use std::path::Path;
use std::time::Instant;

use crate::programs::{Server, build, copy_program, program, target};
use crate::workspace::{self, Result, none_of, root, say};
use checks::{Outcome, PASSED};
use suite::{REVISIONS, Role, Suites, runs, unselected};

const SCRIPTS: &str = "tests/conformance";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The tested sides instead of both.
    roles: Vec<Role>,
    /// One revision instead of all.
    #[arg(long, value_parser = REVISIONS)]
    revision: Option<String>,
    /// Writes the number of checks that each scenario passes to tests/conformance/passed.toml.
    #[arg(long)]
    bless: bool,
    /// Runs the scenarios through `mcp bridge`.
    #[arg(long)]
    bridge: bool,
    /// Tests the server as two processes behind a load balancer.
    #[arg(long, conflicts_with = "bridge")]
    cluster: bool,
}

pub(crate) fn run(mut wanted: Options) -> Result {
    let start = Instant::now();
    if wanted.cluster {
        wanted.roles = vec![Role::Server];
    }
    if wanted.roles.is_empty() {
        wanted.roles = Role::ALL.to_vec();
    }
    let folder = target().join("conformance");
    let bins = Role::ALL.map(|role| format!("--bin {}", role.program()));
    let words = format!("-p mcp-tests {}", bins.join(" "));
    build(root(), &target(), &words)?;
    let suites = Suites::install(&root().join(SCRIPTS), &folder)?;
    let bin = folder.join("bin");
    if wanted.bridge {
        build(root(), &target(), "-p mcp-cli")?;
        return none_of(&bridge::run(&suites, &wanted.roles, &bin)?);
    }
    let mut outcomes = Vec::new();
    for role in &wanted.roles {
        let program = copy_program(role.program(), &bin)?;
        outcomes.extend(test(&suites, *role, &program, &wanted)?);
    }
    let known = checks::load()?;
    let judged = outcomes
        .iter()
        .filter(|outcome| !outcome.is_skipped(&known));
    let mut failures: Vec<String> = judged.flat_map(Outcome::failures).collect();
    if wanted.bless && failures.is_empty() {
        workspace::write(&root().join(PASSED), &checks::updated(known, &outcomes)?)?;
    } else {
        failures.extend(checks::check(&known, &outcomes));
    }
    say(&format!("{} s in all", start.elapsed().as_secs()));
    none_of(&failures)
}

/// All runs with one process of our server, which must not end early, or with the command of our client. Every scenario of
/// a client also runs alone, once for each line and revision, where the exit status of the client counts.
fn test(suites: &Suites, role: Role, path: &Path, wanted: &Options) -> Result<Vec<Outcome>> {
    let words = match wanted.cluster {
        true => "--cluster --strict",
        false => "--http 127.0.0.1:0 --strict",
    };
    let server = match role {
        Role::Server => Some(Server::start(&mut program(path, words), "/mcp")?),
        Role::Client => None,
    };
    let path = path.display().to_string();
    let subject = server.as_ref().map_or(&*path, Server::url);
    if subject.contains(' ') {
        return Err(format!(
            "the suite cannot start {subject}, which contains a space; set CARGO_TARGET_DIR to a folder without one"
        ));
    }
    let runs = runs(role, wanted.revision.as_deref());
    let mut outcomes = Vec::new();
    for run in &runs {
        outcomes.extend(suites.run(run, subject)?);
    }
    let mut alone = Vec::new();
    for run in runs.iter().filter(|_| role == Role::Client) {
        for outcome in outcomes.iter().filter(|outcome| outcome.run == run.name) {
            let run = run.alone(&outcome.scenario);
            if !alone.contains(&run) {
                alone.push(run);
            }
        }
    }
    if wanted.revision.is_none() {
        alone.extend(unselected(suites, role, &outcomes)?);
    }
    for run in alone {
        outcomes.extend(suites.run(&run, subject)?);
    }
    server.map_or(Ok(()), Server::end)?;
    Ok(outcomes)
}
