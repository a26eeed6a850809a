//! `cargo xtask conformance`: the official suite, both published lines, against our server and our client.
//!
//! The suites are pinned in `tests/conformance` and installed under `target/conformance`, with the Node they need. The
//! checks that they write are judged: a failure or a warning in any scenario fails the run, whether the suite scores that
//! scenario or not, and so does a scenario that passes fewer checks than `passed.txt` says. Scenarios that the packages list
//! and no selection includes, such as those of extensions, are run alone. There is no list of expected failures.
//!
//! `--bridge` runs the same scenarios through `mcp bridge` instead, between all kinds of revisions.

mod bridge;
mod checks;
mod passed;
mod suite;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use crate::programs::{Server, build, copy_program, target};
use crate::steps::say;
use crate::workspace::{Args, none_of, root};
use checks::Outcome;
use suite::{REVISIONS, Role, Suites, runs, unselected};

const SCRIPTS: &str = "tests/conformance";

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<(), String> {
    let start = Instant::now();
    let wanted = Wanted::parse(args)?;
    let folder = target().join("conformance");
    let bins = wanted.roles.iter();
    let bins = bins.map(|role| format!(" --bin {}", role.program()));
    let bins: String = bins.collect();
    build(root(), &target(), &format!("-p mcp-tests{bins}"))?;
    if wanted.bridge {
        build(root(), &target(), "-p mcp-cli")?;
        let suites = Suites::install(&root().join(SCRIPTS), &folder)?;
        return none_of(&bridge::run(&suites, &wanted.roles, &folder.join("bin"))?);
    }
    let suites = Suites::install(&root().join(SCRIPTS), &folder)?;
    let mut outcomes = Vec::new();
    for role in &wanted.roles {
        let program = copy_program(role.program(), &folder.join("bin"))?;
        outcomes.extend(match role {
            Role::Server => test_server(&suites, &program, wanted.revision.as_deref())?,
            Role::Client => test_client(&suites, &program, wanted.revision.as_deref())?,
        });
    }
    let mut failures: Vec<String> = outcomes.iter().flat_map(Outcome::failures).collect();
    if wanted.roles.len() == Role::ALL.len() && wanted.revision.is_none() {
        failures.extend(checks::unused(&outcomes));
    }
    let known = passed::load(root())?;
    if wanted.bless && failures.is_empty() {
        passed::store(root(), &passed::updated(known, &outcomes))?;
    } else {
        failures.extend(passed::check(&known, &outcomes));
    }
    say(&format!("{} s in all", start.elapsed().as_secs()));
    none_of(&failures)
}

/// The arguments.
#[derive(Debug)]
struct Wanted {
    roles: Vec<Role>,
    revision: Option<String>,
    bless: bool,
    bridge: bool,
}

impl Wanted {
    fn parse(mut args: Args) -> Result<Self, String> {
        let bless = args.flag("--bless");
        let bridge = args.flag("--bridge");
        let revision = args.values("--revision")?.pop();
        if let Some(unknown) = revision.iter().find(|name| !REVISIONS.contains(&&***name)) {
            let known = REVISIONS.join(", ");
            return Err(format!(
                "--revision takes one of [{known}], not {unknown:?}"
            ));
        }
        let mut roles = Role::ALL.to_vec();
        let named = roles.extract_if(.., |role| args.flag(role.name()));
        let named: Vec<Role> = named.collect();
        if !named.is_empty() {
            roles = named;
        }
        args.end()?;
        Ok(Self {
            roles,
            revision,
            bless,
            bridge,
        })
    }
}

/// Runs the scenarios against one server process; fails if that process ends early.
fn test_server(
    suites: &Suites,
    program: &Path,
    revision: Option<&str>,
) -> Result<Vec<Outcome>, String> {
    let mut command = std::process::Command::new(program);
    let server = Server::start(command.args(["--http", "127.0.0.1:0", "--strict"]), "/mcp")?;
    let mut outcomes = Vec::new();
    for run in runs(Role::Server, revision) {
        outcomes.extend(suites.run(&run, server.url())?);
    }
    if revision.is_none() {
        for run in unselected(suites, Role::Server, &outcomes)? {
            outcomes.extend(suites.run(&run, server.url())?);
        }
    }
    server.end()?;
    Ok(outcomes)
}

/// All runs with one client, then every scenario alone, once for each line and revision, where the exit status of the
/// client counts.
fn test_client(
    suites: &Suites,
    program: &Path,
    revision: Option<&str>,
) -> Result<Vec<Outcome>, String> {
    let path = program.display();
    let command = program.to_str().filter(|path| !path.contains(' '));
    let command = command.ok_or_else(|| {
        format!("the suite cannot start {path}, which contains a space; set CARGO_TARGET_DIR to a folder without one")
    })?;
    let runs = runs(Role::Client, revision);
    let mut outcomes = Vec::new();
    for run in &runs {
        outcomes.extend(suites.run(run, command)?);
    }
    let mut done = BTreeSet::new();
    let mut alone = Vec::new();
    for run in &runs {
        let own = outcomes.iter().filter(|outcome| outcome.run == run.name);
        for Outcome { scenario, .. } in own.filter(|outcome| outcome.is_judged) {
            let run = run.alone(scenario);
            if done.insert((run.name.clone(), scenario)) {
                alone.extend(suites.run(&run, command)?);
            }
        }
    }
    outcomes.extend(alone);
    if revision.is_none() {
        for run in unselected(suites, Role::Client, &outcomes)? {
            outcomes.extend(suites.run(&run, command)?);
        }
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::suite::Run;
    use super::*;

    #[test]
    fn a_role_and_a_revision_may_be_named() {
        let parsed = |words: &str| {
            let words = words.split_whitespace().map(str::to_owned);
            Wanted::parse(Args(words.collect()))
        };
        assert_eq!(parsed("").unwrap().roles, Role::ALL);
        let client = parsed("client --revision 2025-06-18 --bless").unwrap();
        assert_eq!(client.roles, [Role::Client]);
        assert_eq!(client.revision.as_deref(), Some("2025-06-18"));
        for (words, named) in [("host", "host"), ("--revision 1999-01-01", "2025-11-25")] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn the_packages_are_pinned_and_no_registry_is_named() {
        let folder = root().join(SCRIPTS);
        let lock = std::fs::read_to_string(folder.join("package-lock.json")).unwrap();
        assert!(!lock.contains("\"resolved\"") && lock.contains("\"integrity\""));
        let list = std::fs::read_to_string(folder.join("package.json")).unwrap();
        for Run { line, .. } in runs(Role::Server, None) {
            assert!(list.contains(&format!("\"conformance-{line}\"")), "{list}");
        }
        assert!(!list.contains('^') && !list.contains('~'), "{list}");
    }
}
