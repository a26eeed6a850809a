//! The installed suites, and how they are started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::checks::{self, Outcome};
use super::plan::{ReleaseLine, Role, Run, Selection};
use super::table::Column;
use crate::programs::{SHORT, major, npm_ci, output_of, run_to_end};
use crate::steps::say;

/// How long one start of the suite may take.
const LIMIT: Duration = Duration::from_secs(240);
/// How long the suite waits for one scenario, in milliseconds: it starts all clients of a suite at once.
const PATIENCE: &str = "60000";

/// Both lines, and a Node that they run on.
#[derive(Debug)]
pub(super) struct Suites {
    node: PathBuf,
    packages: PathBuf,
    results: PathBuf,
}

impl Suites {
    /// Gets what is missing. `lists` is the folder with the pinned packages.
    pub(super) fn install(lists: &Path, folder: &Path) -> Result<Self, String> {
        let npm = folder.join("npm");
        npm_ci(lists, &npm)?;
        let packages = npm.join("node_modules");
        let node = node(&packages)?;
        for line in ReleaseLine::ALL {
            let version = version(&packages, line)?;
            say(&format!("suite {}: {version}", line.name()));
        }
        Ok(Self {
            node,
            packages,
            results: folder.join("results"),
        })
    }

    /// One run; `subject` is the URL of the server or the command of the client.
    pub(super) fn run(&self, run: Run, subject: &str) -> Result<Column, String> {
        let results = self.fresh(&run, "all")?;
        let mut command = self.command(&run, subject, &results);
        match run.selection {
            Selection::Required => command.args(["--requirements", run.revision]),
            Selection::Suite(suite) => command.args(["--suite", suite]),
            Selection::SuiteAt(suite) => {
                command.args(["--suite", suite, "--spec-version", run.revision])
            }
            Selection::Alone => return Err("one scenario has to be named".to_owned()),
        };
        let ended = run_to_end(&mut command, LIMIT, |_| {})?;
        let outcomes = checks::read(&results, run.role)?;
        let mut column = Column::new(run, outcomes.scenarios);
        if column.outcomes.is_empty() {
            column.fault(format!("no scenario was run\n{}", ended.errors));
        } else if !ended.status.success() && !outcomes.any_failed {
            column.fault(format!(
                "the suite ended with {} though no check failed\n{}",
                ended.status, ended.errors
            ));
        }
        say(&column.told());
        Ok(column)
    }

    /// One scenario of a client, whose own end counts.
    pub(super) fn alone(&self, run: Run, scenario: &str, subject: &str) -> Result<Column, String> {
        let results = self.fresh(&run, scenario)?;
        let mut command = self.command(&run, subject, &results);
        command.args(["--scenario", scenario]);
        if run.line == ReleaseLine::Next {
            // Extensions stand beside the revisions; alone they are skipped without this.
            command.args(["--spec-version", run.revision, "--force"]);
        }
        let mut said = String::new();
        let ended = run_to_end(&mut command, LIMIT, |line| {
            said += line;
            said.push('\n');
        })?;
        let mut outcomes = checks::read(&results, run.role)?.scenarios;
        if outcomes.is_empty() {
            let fault = Outcome::fault("the suite wrote nothing".to_owned());
            outcomes.push((scenario.to_owned(), fault));
        }
        if !ended.status.success() {
            for (_, outcome) in &mut outcomes {
                let status = ended.status;
                outcome.fail(format!(
                    "alone it ended with {status}\n{said}{}",
                    ended.errors
                ));
            }
        }
        let column = Column::new(run, outcomes);
        say(&format!("{} {scenario}", column.told()));
        Ok(column)
    }

    /// The words that all starts have in common.
    fn command(&self, run: &Run, subject: &str, results: &Path) -> Command {
        let script = self.packages.join(run.line.package()).join("dist/index.js");
        let mut command = Command::new(&self.node);
        command.arg(script).arg(run.role.name());
        match run.role {
            Role::Server => command.args(["--url", subject]),
            Role::Client => command.args(["--command", subject, "--timeout", PATIENCE]),
        };
        command.arg("-o").arg(results);
        command
    }

    /// An empty folder for what one start writes.
    fn fresh(&self, run: &Run, name: &str) -> Result<PathBuf, String> {
        let folder =
            [run.role.name(), &run.title(), name].map(|part| part.replace([' ', '/'], "-"));
        let folder = self.results.join(folder.join("/"));
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("{}: {error}", folder.display()))
            }
            _ => Ok(folder),
        }
    }
}

/// The Node among the packages: there is one for this machine, if any was published for it.
fn node(packages: &Path) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", packages.display());
    for entry in fs::read_dir(packages).map_err(failed)? {
        let folder = entry.map_err(failed)?.path();
        let program = folder
            .join("bin")
            .join(format!("node{}", std::env::consts::EXE_SUFFIX));
        let is_node = folder
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("node-"));
        if is_node && program.is_file() {
            return Ok(program);
        }
    }
    let own = PathBuf::from("node");
    let version = output_of(Command::new(&own).arg("--version"), SHORT)?;
    if major(&version) < 22 {
        return Err(format!(
            "the suites need Node 22 or newer: none is published for this machine on npm, and the one on the path is {version}"
        ));
    }
    Ok(own)
}

fn version(packages: &Path, line: ReleaseLine) -> Result<String, String> {
    let path = packages.join(line.package()).join("package.json");
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = fs::read(&path).map_err(|error| failed(&error))?;
    let manifest: serde_json::Value =
        serde_json::from_slice(&text).map_err(|error| failed(&error))?;
    let version = manifest["version"].as_str();
    version
        .map(str::to_owned)
        .ok_or_else(|| failed(&"no version"))
}
