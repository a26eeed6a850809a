//! `cargo xtask conformance`: the official suite, both published lines, against our server and our client.
//!
//! The suites are pinned in `tests/conformance` and installed under `target/conformance`, with the Node they need. The
//! checks that they write are judged: a failure or a warning in any scenario fails the run, whether the suite scores that
//! scenario or not, and so does a scenario that passes fewer checks than `passed.txt` says. There is no list of expected
//! failures.

mod checks;
mod passed;
mod suite;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use crate::programs::{Server, build, copy_program, target};
use crate::steps::say;
use crate::workspace::root;
use checks::Outcome;
use suite::{REVISIONS, Role, Suites, runs};

const SCRIPTS: &str = "tests/conformance";
const USAGE: &str =
    "usage: cargo xtask conformance [server|client] [--revision REVISION] [--bless]";

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let start = Instant::now();
    let wanted = Wanted::parse(args)?;
    let folder = target().join("conformance");
    let bins = wanted
        .roles()
        .map(|role| format!(" --bin {}", role.program()));
    build(
        root(),
        &target(),
        &format!("-p mcp-tests{}", bins.collect::<String>()),
    )?;
    let suites = Suites::install(&root().join(SCRIPTS), &folder)?;
    let mut outcomes = Vec::new();
    for role in wanted.roles() {
        let program = copy_program(role.program(), &folder.join("bin"))?;
        outcomes.extend(match role {
            Role::Server => test_server(&suites, &program, wanted.revision)?,
            Role::Client => test_client(&suites, &program, wanted.revision)?,
        });
    }
    let mut failures: Vec<String> = outcomes.iter().flat_map(Outcome::failures).collect();
    if wanted.is_all() {
        failures.extend(checks::unused(&outcomes));
    }
    let known = passed::load(root())?;
    if wanted.bless && failures.is_empty() {
        passed::store(root(), &passed::updated(known, &outcomes))?;
    } else {
        failures.extend(passed::check(&known, &outcomes));
    }
    say(&format!("{} s in all", start.elapsed().as_secs()));
    if failures.is_empty() {
        return Ok(());
    }
    Err(failures.join("\n"))
}

/// The arguments.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wanted {
    role: Option<Role>,
    revision: Option<&'static str>,
    bless: bool,
}

impl Wanted {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut this = Self::default();
        let mut words = args.iter();
        while let Some(word) = words.next() {
            match &**word {
                "--bless" => this.bless = true,
                "--revision" => {
                    let value = words.next().map_or("", |value| value);
                    let known = REVISIONS.into_iter().find(|known| *known == value);
                    this.revision = Some(known.ok_or_else(|| {
                        let known = REVISIONS.join(", ");
                        format!("--revision takes one of [{known}], not {value:?}\n{USAGE}")
                    })?);
                }
                word => {
                    let role = Role::ALL.into_iter().find(|role| role.name() == word);
                    if role.is_none() || this.role.is_some() {
                        return Err(format!("conformance does not know {word:?} here\n{USAGE}"));
                    }
                    this.role = role;
                }
            }
        }
        Ok(this)
    }

    fn roles(&self) -> impl Iterator<Item = Role> {
        let wanted = self.role;
        let roles = Role::ALL.into_iter();
        roles.filter(move |role| wanted.is_none_or(|wanted| wanted == *role))
    }

    fn is_all(&self) -> bool {
        self.role.is_none() && self.revision.is_none()
    }
}

/// Runs the scenarios against one server process; fails if that process ends early.
fn test_server(
    suites: &Suites,
    program: &Path,
    revision: Option<&str>,
) -> Result<Vec<Outcome>, String> {
    let mut command = std::process::Command::new(program);
    let server = Server::start(command.args(["--http", "127.0.0.1:0"]), "/mcp")?;
    let mut outcomes = Vec::new();
    for run in runs(Role::Server, revision) {
        outcomes.extend(suites.run(&run, server.url())?);
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
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &str) -> Result<Wanted, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Wanted::parse(&words)
    }

    #[test]
    fn a_role_and_a_revision_may_be_named() {
        assert!(parsed("").unwrap().is_all());
        assert_eq!(parsed("").unwrap().roles().count(), 2);
        let client = parsed("client --revision 2025-06-18 --bless").unwrap();
        assert_eq!(client.roles().collect::<Vec<_>>(), [Role::Client]);
        assert_eq!(
            (client.revision, client.is_all()),
            (Some("2025-06-18"), false)
        );
        for (words, named) in [
            ("host", "\"host\""),
            ("server client", "\"client\""),
            ("--revision 1999-01-01", "2025-11-25"),
            ("--revision", "\"\""),
        ] {
            let error = parsed(words).unwrap_err();
            assert!(error.contains(named) && error.contains("usage"), "{error}");
        }
    }

    #[test]
    fn the_packages_are_pinned_and_no_registry_is_named() {
        let folder = root().join(SCRIPTS);
        let lock = std::fs::read_to_string(folder.join("package-lock.json")).unwrap();
        assert!(!lock.contains("\"resolved\"") && lock.contains("\"integrity\""));
        let list = std::fs::read_to_string(folder.join("package.json")).unwrap();
        for run in runs(Role::Server, None) {
            assert!(
                list.contains(&format!("\"conformance-{}\"", run.line)),
                "{list}"
            );
        }
        assert!(!list.contains('^') && !list.contains('~'), "{list}");
    }
}
