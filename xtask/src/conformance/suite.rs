//! The official suite: what is run, and how it is installed and started.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::checks::{Outcome, read, summary};
use crate::programs::{check_node, executable, lines_of, npm_ci, run_to_end};
use crate::workspace::{At as _, Result, say};

/// The dated revisions for which a line of the suite has scenarios. The suite knows none for 2024-11-05.
pub(super) const REVISIONS: [&str; 4] = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// The published lines of the suite, as `tests/conformance/package.json` names them: the stable one (`latest`), and the
/// newest one, which has requirement sets and checks the schema of every message.
const STABLE: &str = "0.1";
const NEXT: &str = "0.2";

/// The oldest Node that runs the suites.
const NODE: u32 = 22;
/// Time limit of one start of the suite.
const LIMIT: Duration = Duration::from_secs(240);
/// Time limit of one scenario, in milliseconds: the suite starts all clients at once.
const SCENARIO_LIMIT: &str = "60000";

/// The tested side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Role {
    Server,
    Client,
}

impl Role {
    pub(super) const ALL: [Self; 2] = [Self::Server, Self::Client];

    /// The word on the command line, ours and the suite's.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }

    /// Our fixture.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Server => "everything-server",
            Self::Client => "conformance-client",
        }
    }
}

/// One start of the suite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) role: Role,
    pub(super) line: &'static str,
    revision: &'static str,
    /// The role, the line and the selection of scenarios.
    pub(super) name: String,
    /// One scenario, or "all" that the arguments select.
    scenario: String,
    /// The arguments that select scenarios.
    args: String,
}

impl Run {
    /// A run of one scenario, with the same line and revision.
    pub(super) fn alone(&self, scenario: &str) -> Self {
        let (role, line, revision) = (self.role.name(), self.line, self.revision);
        let mut args = format!("--scenario {scenario}");
        if line == NEXT {
            // Extensions do not belong to a revision; without --force, they are skipped.
            args += &format!(" --spec-version {revision} --force");
        }
        Self {
            name: format!("{role} {line} alone {revision}"),
            scenario: scenario.to_owned(),
            args,
            ..self.clone()
        }
    }
}

/// The runs of a role, for one revision or for all of them, from the oldest to the newest.
pub(super) fn runs(role: Role, revision: Option<&str>) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut select = |line, revision, selection: &str, args| {
        runs.push(Run {
            role,
            line,
            revision,
            name: format!("{} {line} {selection}", role.name()),
            scenario: "all".to_owned(),
            args,
        });
    };
    // Without a revision, the stable line uses the newest one that it knows.
    select(STABLE, "2025-11-25", "all", "--suite all".to_owned());
    for revision in REVISIONS {
        let suite = match (role, revision) {
            (Role::Client, "2025-03-26") => "backcompat",
            _ => "all",
        };
        let args = format!("--suite {suite} --spec-version {revision}");
        select(NEXT, revision, &format!("{suite} {revision}"), args);
    }
    // The scenarios that the suite requires of a revision, frozen at its release.
    for revision in ["2025-11-25", "2026-07-28"] {
        let args = format!("--requirements {revision}");
        select(NEXT, revision, &format!("required {revision}"), args);
    }
    runs.retain(|run| revision.is_none_or(|revision| revision == run.revision));
    runs
}

/// The scenarios that the packages list and no run has selected, each alone at the newest revision of its line.
pub(super) fn unselected(suites: &Suites, role: Role, outcomes: &[Outcome]) -> Result<Vec<Run>> {
    let mut rest = Vec::new();
    for line in [STABLE, NEXT] {
        let of_line = format!("{} {line} ", role.name());
        let done = outcomes.iter();
        let done = done.filter(|outcome| outcome.run.starts_with(&of_line));
        let done: BTreeSet<_> = done.map(|outcome| &outcome.scenario).collect();
        let listed = suites.listed(line, role)?;
        let newest = runs(role, None).into_iter().rfind(|run| run.line == line);
        for scenario in listed.iter().filter(|scenario| !done.contains(scenario)) {
            rest.extend(newest.as_ref().map(|run| run.alone(scenario)));
        }
    }
    Ok(rest)
}

/// Both lines, and a Node that runs them.
#[derive(Clone, Debug)]
pub(super) struct Suites {
    node: PathBuf,
    packages: PathBuf,
    results: PathBuf,
    /// Variables of the environment of the suite and its clients.
    pub(super) variables: Vec<(&'static str, String)>,
}

impl Suites {
    /// Installs what is missing. `lists` is the folder with the pinned packages.
    pub(super) fn install(lists: &Path, folder: &Path) -> Result<Self> {
        let npm = folder.join("npm");
        npm_ci(lists, &npm)?;
        let packages = npm.join("node_modules");
        Ok(Self {
            node: node(&packages)?,
            packages,
            results: folder.join("results"),
            variables: Vec::new(),
        })
    }

    /// The names of the scenarios that the package of a line lists.
    fn listed(&self, line: &str, role: Role) -> Result<Vec<String>> {
        let mut command = self.command(line, "list");
        let (mut names, mut is_wanted) = (Vec::new(), false);
        for line in lines_of(&mut command, LIMIT)? {
            match line.trim_start().strip_prefix("- ") {
                Some(item) if is_wanted => names.extend(item.split(' ').next().map(str::to_owned)),
                None if line.contains("scenarios") => {
                    is_wanted = line.to_ascii_lowercase().starts_with(role.name());
                }
                _ => {}
            }
        }
        match names[..] {
            [] => Err(format!(
                "the package {line} lists no scenarios for a {}",
                role.name()
            )),
            _ => Ok(names),
        }
    }

    /// Creates a command of the package for one release line of the suite.
    fn command(&self, line: &str, name: &str) -> Command {
        let package = format!("conformance-{line}/dist/index.js");
        let mut command = Command::new(&self.node);
        command.arg(self.packages.join(package)).arg(name);
        command
    }

    /// Runs the suite and reads its results; `subject` is the URL of the server or the command of the client. If the suite
    /// fails though no check did, for example because of the exit status of a single client, a problem is added.
    pub(super) fn run(&self, run: &Run, subject: &str) -> Result<Vec<Outcome>> {
        let place = [&run.name, &run.scenario].map(|part| part.replace([' ', '/'], "-"));
        let results = self.results.join(place.join("/"));
        if results.exists() {
            fs::remove_dir_all(&results).at(results.display())?;
        }
        let mut command = self.command(run.line, run.role.name());
        match run.role {
            Role::Server => command.args(["--url", subject]),
            Role::Client => command.args(["--command", subject, "--timeout", SCENARIO_LIMIT]),
        };
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.arg("-o").arg(&results).args(run.args.split(' '));
        let ended = run_to_end(&mut command, LIMIT, |_| {})?;
        let mut outcomes = read(&results, run)?;
        let has_problem = outcomes.iter().any(|outcome| !outcome.problems.is_empty());
        if outcomes.is_empty() || (ended.is_err() && !has_problem) {
            let mut fault = Outcome::new(run, &run.scenario);
            let problem = "no scenario ran, or the suite failed though no check did";
            let text = ended.err().unwrap_or_default();
            fault.problems.push(format!("{problem}: {text}"));
            outcomes.push(fault);
        }
        say(&format!("{}; {}", summary(run, &outcomes), run.scenario));
        Ok(outcomes)
    }
}

/// The Node among the packages, which has one for each common machine; otherwise the one on the path.
fn node(packages: &Path) -> Result<PathBuf> {
    for entry in fs::read_dir(packages).at(packages.display())? {
        let folder = entry.at(packages.display())?.path();
        let program = executable(&folder.join("bin"), "node");
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("node-") && program.is_file() {
            return Ok(program);
        }
    }
    check_node(NODE).map(|_| "node".into())
}
