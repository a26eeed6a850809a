//! `cargo xtask conformance`: the official suite, both published lines, against our server and our client.
//!
//! The suites are pinned in `tests/conformance` and installed under `target/conformance`, with the Node they need. What
//! is judged is the list of checks that they write: a failure or a warning in any scenario fails the run, whether the
//! suite scores that scenario or not, and so does a scenario that passes fewer checks than `passed.txt` says. There is
//! no list of failures that are expected; [`later`] names what is not built yet.

mod checks;
mod later;
mod passed;
mod plan;
mod suite;
mod table;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::programs::{BUILD, Server, copy_program, run as run_program, target};
use crate::steps::{cargo, say};
use crate::workspace::root;
use checks::Outcome;
use plan::{Role, Run, Selection};
use suite::Suites;
use table::Column;

const SCRIPTS: &str = "tests/conformance";
const USAGE: &str =
    "usage: cargo xtask conformance [server|client] [--revision REVISION] [--bless]";

/// Runs the command.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let start = Instant::now();
    let wanted = Wanted::parse(args)?;
    let folder = target().join("conformance");
    build(root(), &wanted)?;
    let suites = Suites::install(&root().join(SCRIPTS), &folder)?;
    let mut columns = Vec::new();
    for role in wanted.roles() {
        let program = copy_program(role.program(), &folder.join("bin"))?;
        columns.extend(match role {
            Role::Server => test_server(&suites, &program, wanted.revision)?,
            Role::Client => test_client(&suites, &program, wanted.revision)?,
        });
    }
    say(&format!("\n{}", table::plain(&columns)));
    let mut failures: Vec<String> = columns.iter().flat_map(Column::failures).collect();
    if wanted.is_all() {
        failures.extend(later::unused(&columns));
    }
    let known = passed::Passed::load(root())?;
    if wanted.bless && failures.is_empty() {
        known.updated(&columns).store(root())?;
    } else {
        failures.extend(known.check(&columns));
    }
    say(&format!("{} s in all", start.elapsed().as_secs()));
    if failures.is_empty() {
        return Ok(());
    }
    Err(failures.join("\n"))
}

/// What the arguments ask for.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    role: Option<Role>,
    revision: Option<&'static str>,
    bless: bool,
}

impl Wanted {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut this = Self {
            role: None,
            revision: None,
            bless: false,
        };
        let mut words = args.iter();
        while let Some(word) = words.next() {
            match &**word {
                "--bless" => this.bless = true,
                "--revision" => {
                    let value = words.next().map_or("", |value| value);
                    let known = plan::REVISIONS.iter().find(|known| **known == value);
                    this.revision = Some(known.ok_or_else(|| {
                        let known = plan::REVISIONS.join(", ");
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
        Role::ALL
            .into_iter()
            .filter(|role| self.role.is_none_or(|wanted| wanted == *role))
    }

    fn is_all(&self) -> bool {
        self.role.is_none() && self.revision.is_none()
    }
}

fn build(root: &Path, wanted: &Wanted) -> Result<(), String> {
    let mut command = Command::new(cargo());
    command.args(["build", "-p", "mcp-tests"]).current_dir(root);
    for role in wanted.roles() {
        command.args(["--bin", role.program()]);
    }
    run_program(&mut command, BUILD, say)
}

/// All runs against one server, which has to outlive them.
fn test_server(
    suites: &Suites,
    program: &Path,
    revision: Option<&str>,
) -> Result<Vec<Column>, String> {
    let mut command = Command::new(program);
    let server = Server::start(command.args(["--http", "127.0.0.1:0"]), "/mcp")?;
    let mut columns = Vec::new();
    for run in plan::runs(Role::Server, revision) {
        columns.push(suites.run(run, server.url())?);
    }
    server.end()?;
    Ok(columns)
}

/// All runs with one client, then each scenario alone, where the client's own end counts.
fn test_client(
    suites: &Suites,
    program: &Path,
    revision: Option<&str>,
) -> Result<Vec<Column>, String> {
    let command = program
        .to_str()
        .filter(|path| !path.contains(' '))
        .ok_or_else(|| {
            let path = program.display();
            format!("{path} has a space in it, where the suite would cut it; set CARGO_TARGET_DIR to a folder without")
        })?;
    let mut columns = Vec::new();
    for run in plan::runs(Role::Client, revision) {
        columns.push(suites.run(run, command)?);
    }
    let alone = alone(suites, &columns, command)?;
    columns.extend(alone);
    Ok(columns)
}

/// Every scenario of every run again, alone, once for each line and revision.
fn alone(suites: &Suites, columns: &[Column], command: &str) -> Result<Vec<Column>, String> {
    let mut all: Vec<Column> = Vec::new();
    for column in columns {
        let run = Run {
            selection: Selection::Alone,
            ..column.run
        };
        let at = all.iter().position(|known| known.run == run);
        let at = at.unwrap_or_else(|| {
            all.push(Column::new(run, Vec::new()));
            all.len() - 1
        });
        for (scenario, outcome) in &column.outcomes {
            if *outcome != Outcome::Later && !all[at].has(scenario) {
                let one = suites.alone(run, scenario, command)?;
                all[at].extend(one);
            }
        }
    }
    all.retain(|column| !column.outcomes.is_empty());
    Ok(all)
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
        let all = parsed("").unwrap();
        assert!(all.is_all() && all.roles().count() == 2);
        let client = parsed("client --revision 2025-06-18").unwrap();
        assert_eq!(client.roles().collect::<Vec<_>>(), [Role::Client]);
        assert_eq!(client.revision, Some("2025-06-18"));
        assert!(!client.is_all());
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
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
        for line in plan::ReleaseLine::ALL {
            assert!(list.contains(&format!("\"{}\"", line.package())), "{list}");
        }
        assert!(!list.contains('^') && !list.contains('~'), "{list}");
    }
}
